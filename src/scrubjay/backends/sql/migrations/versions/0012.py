"""What was purged, until nothing is left of it where vectors lie."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_TABLE = """\
CREATE TABLE leftovers (
    id {id} NOT NULL,
    at {instant} NOT NULL,
    due {instant} NOT NULL,
    CONSTRAINT pk_leftovers PRIMARY KEY (id)
)"""
SQLITE = _TABLE.format(id="BLOB", instant="BIGINT")
POSTGRESQL = _TABLE.format(id="UUID", instant="TIMESTAMP WITH TIME ZONE")


def upgrade() -> None:
    op.execute(SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL)
    op.execute("CREATE INDEX ix_leftovers_due ON leftovers (due)")
