"""Settings become a service, and an installation is looked after. The only room that names a concrete backend."""

from typing import TYPE_CHECKING, Final

from scrubjay.lazily import loading

if TYPE_CHECKING:
    from scrubjay.memories.workspace.repository import repository_of
    from scrubjay.wiring.counting import counter
    from scrubjay.wiring.installation import (
        BackedUp,
        Migrated,
        Moved,
        Restored,
        accept_records,
        back_up,
        migrate_records,
        move_stores,
        restore_from,
        schema_of,
        versions_of,
    )
    from scrubjay.wiring.memory import engine_name, look_at, open, open_async, utc_now, wire
    from scrubjay.wiring.models import configured

__all__ = [
    "BackedUp",
    "Migrated",
    "Moved",
    "Restored",
    "accept_records",
    "back_up",
    "configured",
    "counter",
    "engine_name",
    "look_at",
    "migrate_records",
    "move_stores",
    "open",
    "open_async",
    "repository_of",
    "restore_from",
    "schema_of",
    "utc_now",
    "versions_of",
    "wire",
]

# Few look after an installation, and who wants the name of a repository opens no memory. Both take a while to load.
_HOMES: Final = {
    **dict.fromkeys(__all__, "scrubjay.wiring.installation"),
    **dict.fromkeys(("engine_name", "look_at", "open", "open_async", "utc_now", "wire"), "scrubjay.wiring.memory"),
    "configured": "scrubjay.wiring.models",
    "counter": "scrubjay.wiring.counting",
    "repository_of": "scrubjay.memories.workspace.repository",
}

__getattr__ = loading(__name__, _HOMES)
