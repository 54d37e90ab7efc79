"""Each of the memories without `await`, loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrubjay.sync.access import SyncAccess
    from scrubjay.sync.agents import SyncAgents
    from scrubjay.sync.encryption import SyncEncryption
    from scrubjay.sync.episodes import SyncEpisodes
    from scrubjay.sync.facts import SyncFacts
    from scrubjay.sync.patterns import SyncPatterns
    from scrubjay.sync.tasks import SyncTasks
    from scrubjay.sync.vectors import SyncVectorUpkeep
    from scrubjay.sync.work import SyncWork
    from scrubjay.sync.working import SyncWorking
    from scrubjay.sync.workspace import SyncWorkspace

__all__ = [
    "SyncAccess",
    "SyncAgents",
    "SyncEncryption",
    "SyncEpisodes",
    "SyncFacts",
    "SyncPatterns",
    "SyncTasks",
    "SyncVectorUpkeep",
    "SyncWork",
    "SyncWorking",
    "SyncWorkspace",
]

_ROOMS: Final = {
    "SyncAccess": "access",
    "SyncAgents": "agents",
    "SyncEncryption": "encryption",
    "SyncEpisodes": "episodes",
    "SyncFacts": "facts",
    "SyncPatterns": "patterns",
    "SyncTasks": "tasks",
    "SyncVectorUpkeep": "vectors",
    "SyncWork": "work",
    "SyncWorking": "working",
    "SyncWorkspace": "workspace",
}


def __getattr__(name: str) -> object:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"scrubjay.sync.{room}"), name)
    globals()[name] = value
    return value
