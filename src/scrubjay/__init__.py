"""Scrubjay: memory for AI agents. What, where and when.

    import scrubjay

    with scrubjay.open() as jay:
        jay.remember("Prefers tabs over spaces", user="u-42", kind="preference", key="pref:indent")
        for hit in jay.recall("how should I indent?", user="u-42"):
            print(hit.score, hit.memory.content, hit.why)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrubjay.errors import (
        Closed,
        Conflict,
        EmbedderUnavailable,
        IdTaken,
        InvalidInput,
        Misconfigured,
        NotFound,
        SchemaOutdated,
        SchemaTooNew,
        ScrubjayError,
        StoreDamaged,
        StoreUnavailable,
        Unavailable,
        Unsupported,
    )
    from scrubjay.model import (
        AsOf,
        Context,
        ContextItem,
        ForgetReceipt,
        Generation,
        Hit,
        Hits,
        Identity,
        Memory,
        Remembered,
        Scope,
        Stats,
        Trust,
    )
    from scrubjay.service import Scrubjay
    from scrubjay.settings import Settings
    from scrubjay.sync import SyncScrubjay
    from scrubjay.wiring import open, open_async

__version__ = "0.1.0"

_ROOMS: Final = {
    "errors": (
        "Closed",
        "Conflict",
        "EmbedderUnavailable",
        "IdTaken",
        "InvalidInput",
        "Misconfigured",
        "NotFound",
        "SchemaOutdated",
        "SchemaTooNew",
        "ScrubjayError",
        "StoreDamaged",
        "StoreUnavailable",
        "Unavailable",
        "Unsupported",
    ),
    "model": (
        "AsOf",
        "Context",
        "ContextItem",
        "ForgetReceipt",
        "Generation",
        "Hit",
        "Hits",
        "Identity",
        "Memory",
        "Remembered",
        "Scope",
        "Stats",
        "Trust",
    ),
    "service": ("Scrubjay",),
    "settings": ("Settings",),
    "sync": ("SyncScrubjay",),
    "wiring": ("open", "open_async"),
}
_ROOM_OF: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AsOf",
    "Closed",
    "Conflict",
    "Context",
    "ContextItem",
    "EmbedderUnavailable",
    "ForgetReceipt",
    "Generation",
    "Hit",
    "Hits",
    "IdTaken",
    "Identity",
    "InvalidInput",
    "Memory",
    "Misconfigured",
    "NotFound",
    "Remembered",
    "SchemaOutdated",
    "SchemaTooNew",
    "Scope",
    "Scrubjay",
    "ScrubjayError",
    "Settings",
    "Stats",
    "StoreDamaged",
    "StoreUnavailable",
    "SyncScrubjay",
    "Trust",
    "Unavailable",
    "Unsupported",
    "__version__",
    "open",
    "open_async",
]


def __getattr__(name: str) -> object:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
