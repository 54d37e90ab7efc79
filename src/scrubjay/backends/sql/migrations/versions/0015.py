"""Sessions are written through: no change of theirs waits in the record store for a Redis that is away."""

from alembic import op

from scrubjay.errors import Conflict

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    waiting = "SELECT count(*) FROM working_detours WHERE body IS NOT NULL"
    if count := op.get_bind().exec_driver_sql(waiting).scalar():
        raise Conflict(
            f"{count} changes of sessions wait here for a Redis that was away: open the store once with the version "
            "that wrote it while that Redis runs, run `scrubjay working sessions`, then upgrade. Nothing was changed"
        )
    op.execute("DROP TABLE working_detours")
