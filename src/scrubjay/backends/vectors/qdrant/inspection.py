"""Look a Qdrant over: its version, and how the collections of the generations are doing."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from scrubjay.model import Finding

if TYPE_CHECKING:
    from scrubjay.backends.vectors.qdrant.server import Server

LEAST: Final = (1, 11)
"""The first that keeps the points of a tenant together."""

_COLOURS: Final = {
    "yellow": "it is being optimized, and answers meanwhile",
    "grey": "it waits to be optimized until something is written, and answers meanwhile",
}


async def inspected(server: "Server", names: Iterable[str], *, fix: bool) -> list[Finding]:
    """What there is to say of the server and of these collections."""
    version = await server.version()
    number = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    remedy = f"use Qdrant {'.'.join(map(str, LEAST))} or newer" if number < LEAST else ""
    found = [Finding(about="Qdrant", said=version, remedy=remedy)]
    for name in names:
        colour, missing = await server.condition(name)
        if colour == "red":
            remedy = "see the log of the server, then run `scrubjay reindex --rebuild`"
            found.append(Finding(about="Qdrant", said=f"{name} is broken", remedy=remedy))
        elif colour in _COLOURS:
            found.append(Finding(about="Qdrant", said=f"{name}: {_COLOURS[colour]}"))
        if missing:
            if fix:
                await server.index(name)
            found.append(_unindexed(name, missing, fixed=fix))
    return found


def _unindexed(name: str, missing: set[str], *, fixed: bool) -> Finding:
    said = f"{name} has no index of {', '.join(sorted(missing))}: filtered searches read everything"
    if fixed:
        return Finding(about="Qdrant", said=said, fixed="it was made")
    return Finding(about="Qdrant", said=said, remedy="run `scrubjay doctor --fix`")
