"""Each of the memories without `await`, loaded when it is first used."""

from typing import TYPE_CHECKING, Final

from scrubjay.lazily import loading

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

__getattr__ = loading(__name__, {name: f"scrubjay.sync.{room}" for name, room in _ROOMS.items()})
