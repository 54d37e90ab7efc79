"""Scrubjay itself: the core verbs, the memories that are made of them, and what looks after it all."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from scrubjay.core import Core, Parts
from scrubjay.errors import EmbedderUnavailable, Unavailable
from scrubjay.jobs.runner import Runner
from scrubjay.model import Generation, Scope
from scrubjay.write.index import Progress


class Scrubjay(Core):
    """Memory for agents. Every verb takes the scope as keywords: user=, project=, agent=, session=, workflow=.

    Open one with `scrubjay.open_async()`, or with `scrubjay.open()` for the same verbs without `await`.
    """

    def __init__(
        self, *, parts: Parts, tenant: str, prepare: Callable[[], Awaitable[object]], background: bool
    ) -> None:
        super().__init__(parts=parts, tenant=tenant)
        self._prepare = prepare
        self._runner = Runner(index=parts.index, uses=parts.uses) if background else None

    # Opening and closing

    async def start(self) -> Self:
        """Bring the store up to date and begin. `async with` does it for you."""
        await self._prepare()
        self.parts.is_open.set()
        if self._runner is not None:
            self._runner.start()
        return self

    async def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        if self._runner is not None:
            await self._runner.stop()
        if self.parts.is_open.is_set():
            # A store that is gone takes the last uses with it; the rest is still let go of.
            with suppress(Unavailable):
                await self.parts.uses.flush()
        self.parts.is_open.clear()
        await self.parts.index.shut()
        await self.parts.stores.vectors.shut()
        await self.parts.stores.records.shut()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Looking after it

    async def reindex(
        self, progress: Progress | None = None, *, rebuild: bool = False, adopt: bool = False, words: bool = False
    ) -> int:
        """Index what waits; `rebuild`: everything anew; `adopt`: also when the configured model was replaced before."""
        if words:
            return await self.parts.stores.texts.rebuild()
        if rebuild:
            await self.parts.index.rebuild()
        return await self.parts.index.drain(progress, adopt=adopt)

    async def rollback(self) -> Generation:
        """Go back to the embedding generation that answered before the last switch."""
        return await self.parts.index.rollback()

    async def sweep(self) -> list[Generation]:
        """Delete the vectors of generations that no longer answer, and say which those were."""
        return await self.parts.index.sweep()

    async def check(self) -> "list[str]":
        """Look the stores over and return one sentence per fault. None is what you want."""
        faults = await self.parts.stores.records.check()
        if waiting := await self.parts.index.backlog():
            faults.append(f"{waiting} memories wait to be indexed by meaning: run `scrubjay reindex`")
        embedder = self.parts.index.embedder
        try:
            serving = await self.parts.index.serving()
        except EmbedderUnavailable as error:
            return [*faults, str(error)]
        if embedder is not None and (serving is None or serving.generation.identity != embedder.identity):
            faults.append(
                f"the configured model {embedder.identity} is not the one that answers: run `scrubjay reindex --adopt`"
            )
        return faults

    def for_tenant(self, tenant: str) -> "Scrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        other = Scrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._tenant = Scope(tenant=tenant).tenant  # noqa: SLF001 -- our own class
        return other
