"""What each kind of memory adds, in the service's own verbs. Each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

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


def __getattr__(name: str) -> object:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value
