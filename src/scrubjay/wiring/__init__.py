"""Settings become a service, and an installation is looked after. The only room that names a concrete backend."""

from scrubjay.wiring.installation import (
    BackedUp,
    Migrated,
    Moved,
    Restored,
    back_up,
    migrate_records,
    move_stores,
    restore_from,
    schema_of,
    versions_of,
)
from scrubjay.wiring.memory import configured, engine_name, look_at, open, open_async, utc_now, wire

__all__ = [
    "BackedUp",
    "Migrated",
    "Moved",
    "Restored",
    "back_up",
    "configured",
    "engine_name",
    "look_at",
    "migrate_records",
    "move_stores",
    "open",
    "open_async",
    "restore_from",
    "schema_of",
    "utc_now",
    "versions_of",
    "wire",
]
