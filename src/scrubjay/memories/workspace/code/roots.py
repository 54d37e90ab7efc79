"""Which working tree a memory speaks of: that of the repository which its scope holds."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from scrubjay.core import Core
from scrubjay.memories.workspace.code.checking import Checker
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.code import REPOSITORY_KIND, CheckedCitation, citations_of

MOST_REPOSITORIES = 1_000


async def checked(core: Core, scope: Scope, memories: Sequence[Memory]) -> list[tuple[CheckedCitation, ...]]:
    """For each memory its citations, compared with the working tree; none where that is not on this machine."""
    cited = [citations_of(memory) for memory in memories]
    if not any(cited):
        return [() for _ in memories]
    repositories = await _repositories(core, scope)
    redactor = core.parts.redactor

    def work() -> list[tuple[CheckedCitation, ...]]:
        checkers: dict[Path, Checker] = {}
        found: list[tuple[CheckedCitation, ...]] = []
        for memory, citations in zip(memories, cited, strict=True):
            root = _root_of(memory, repositories) if citations else None
            if root is None or not root.is_dir():
                found.append(())
                continue
            checker = checkers.setdefault(root, Checker(root, redactor))
            found.append(tuple(checker.check(citation) for citation in citations))
        return found

    return await asyncio.to_thread(work)


async def root_of(core: Core, scope: Scope) -> Path | None:
    """The working tree of the repository that a reader in the scope works with; None when there is none, or several."""
    roots = {str(one.data.get("root")) for one in await _repositories(core, scope)}
    return Path(roots.pop()) if len(roots) == 1 else None


async def _repositories(core: Core, scope: Scope) -> list[Memory]:
    wanted = Filter(scope=scope, kinds=(REPOSITORY_KIND,))
    return await core.parts.stores.records.find(wanted, now=core.parts.clock(), limit=MOST_REPOSITORIES)


def _root_of(memory: Memory, repositories: Sequence[Memory]) -> Path | None:
    """The root of the narrowest repository whose scope holds the memory's."""
    holding = [one for one in repositories if one.scope.holds(memory.scope) and isinstance(one.data.get("root"), str)]
    if not holding:
        return None
    return Path(str(min(holding, key=lambda one: one.scope.breadth).data["root"]))
