"""What runs by itself, and the verbs of whoever looks after it. Each is loaded when it is first used."""

from typing import TYPE_CHECKING, Final

from scrubjay.lazily import loading

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

__getattr__ = loading(__name__, {name: f"{__name__}.{room}" for name, room in _ROOMS.items()})
