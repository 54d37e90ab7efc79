"""What runs by itself, and the verbs of whoever looks after it. Each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrubjay.jobs.checkup import Checkup
    from scrubjay.jobs.encryption import Encryption
    from scrubjay.jobs.vectors import VectorUpkeep
    from scrubjay.jobs.work import Work

__all__ = ["Checkup", "Encryption", "VectorUpkeep", "Work"]

_ROOMS: Final = {
    "Checkup": "checkup",
    "Encryption": "encryption",
    "VectorUpkeep": "vectors",
    "Work": "work",
}


def __getattr__(name: str) -> object:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value
