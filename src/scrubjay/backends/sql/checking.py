"""Look the records over: the file itself, and whether every memory has its words."""

from sqlalchemy import Connection, func, select, text

from scrubjay.backends.sql.schema import memories


def faults_of(connection: Connection) -> list[str]:
    """One sentence for each fault."""
    faults: list[str] = []
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        faults += [f"the file fails its integrity check: {fault}" for fault in found if fault != "ok"]
        orphans = connection.execute(text("PRAGMA foreign_key_check")).fetchall()
        faults += [f"{len(orphans)} rows point at rows that are gone"] if orphans else []
    stored = connection.execute(select(func.count()).select_from(memories)).scalar_one()
    indexed = connection.execute(text("SELECT count(*) FROM texts")).scalar_one()
    if stored != indexed:
        faults.append(f"{stored} memories but {indexed} in the text index: run `scrubjay reindex --words`")
    return faults
