"""What each kind of memory adds, in the service's own verbs. Each is loaded when it is first used."""

from typing import TYPE_CHECKING, Final

from scrubjay.lazily import loading

if TYPE_CHECKING:
    from scrubjay.memories.agents import Agents
    from scrubjay.memories.episodes import Episodes
    from scrubjay.memories.facts import Facts
    from scrubjay.memories.patterns import Patterns
    from scrubjay.memories.tasks import Tasks
    from scrubjay.memories.working import WorkingMemory
    from scrubjay.memories.workspace.verbs import Workspace

__all__ = ["Agents", "Episodes", "Facts", "Patterns", "Tasks", "WorkingMemory", "Workspace"]

_ROOMS: Final = {
    "Agents": "agents",
    "Episodes": "episodes",
    "Facts": "facts",
    "Patterns": "patterns",
    "Tasks": "tasks",
    "WorkingMemory": "working",
    "Workspace": "workspace.verbs",
}

__getattr__ = loading(__name__, {name: f"{__name__}.{room}" for name, room in _ROOMS.items()})
