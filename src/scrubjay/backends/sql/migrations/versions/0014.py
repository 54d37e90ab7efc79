"""Where sessions are kept, what is left of purged memories where models share vectors, and when it was purged."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_TABLES = """\
CREATE TABLE kept_elsewhere (
    what VARCHAR(32) NOT NULL,
    place TEXT NOT NULL,
    at {instant} NOT NULL,
    CONSTRAINT pk_kept_elsewhere PRIMARY KEY (what, place)
);
CREATE TABLE shared_leftovers (
    name TEXT NOT NULL,
    at {instant} NOT NULL,
    due {instant} NOT NULL,
    CONSTRAINT pk_shared_leftovers PRIMARY KEY (name)
)"""
SQLITE = _TABLES.format(instant="BIGINT")
POSTGRESQL = _TABLES.format(instant="TIMESTAMP WITH TIME ZONE")


def upgrade() -> None:
    tables = SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL
    for statement in tables.split(";"):
        op.execute(statement)
    op.execute("CREATE INDEX ix_shared_leftovers_due ON shared_leftovers (due)")
    op.execute("CREATE INDEX ix_leftovers_at ON leftovers (at)")
