"""Which working tree a memory speaks of: one that it names, or that of the repository which its scope holds."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from scrubjay.core import Core
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.citations import CITED_FROM, CheckedCitation, citations_of
from scrubjay.model.code import REPOSITORY_KIND
from scrubjay.ports import Clock, Records, Redactor

MOST_REPOSITORIES = 1_000


class WorkingTrees:
    """The repositories of this machine, as the records name them: the port `Trees`."""

    def __init__(self, records: Records, redactor: Redactor | None, clock: Clock) -> None:
        self._records = records
        self._redactor = redactor
        self._clock = clock

    async def compare(self, scope: Scope, memories: Sequence[Memory]) -> list[tuple[CheckedCitation, ...]]:
        """For each memory its citations, compared with the working tree; none where that is not on this machine."""
        cited = [citations_of(memory) for memory in memories]
        if not any(cited):
            return [() for _ in memories]
        from scrubjay.memories.workspace.code.checking import Checker  # noqa: PLC0415 -- few memories cite a file

        repositories = await self._repositories(scope)

        def work() -> list[tuple[CheckedCitation, ...]]:
            checkers: dict[Path, Checker] = {}
            found: list[tuple[CheckedCitation, ...]] = []
            for memory, citations in zip(memories, cited, strict=True):
                root = _root_of(memory, repositories) if citations else None
                if root is None or not root.is_dir():
                    found.append(())
                    continue
                checker = checkers.setdefault(root, Checker(root, self._redactor))
                found.append(tuple(checker.check(citation) for citation in citations))
            return found

        return await asyncio.to_thread(work)

    async def root(self, scope: Scope) -> Path | None:
        """The working tree of the repository that a reader in the scope works with; None for none, or several."""
        roots = {str(one.data.get("root")) for one in await self._repositories(scope)}
        return Path(roots.pop()) if len(roots) == 1 else None

    async def _repositories(self, scope: Scope) -> list[Memory]:
        wanted = Filter(scope=scope, kinds=(REPOSITORY_KIND,))
        return await self._records.find(wanted, now=self._clock(), limit=MOST_REPOSITORIES)


def trees_of(core: Core) -> WorkingTrees:
    """The repositories that a memory knows."""
    return WorkingTrees(core.parts.stores.records, core.parts.redactor, core.parts.clock)


def _root_of(memory: Memory, repositories: Sequence[Memory]) -> Path | None:
    """The working tree that it names, if that is here, or else the narrowest repository whose scope holds its own."""
    named = memory.data.get(CITED_FROM)
    if isinstance(named, str) and (tree := Path(named)).is_dir():
        return tree
    holding = [one for one in repositories if one.scope.holds(memory.scope) and isinstance(one.data.get("root"), str)]
    if not holding:
        return None
    return Path(str(min(holding, key=lambda one: one.scope.breadth).data["root"]))
