"""Memory for an orchestrator: what a workflow should know before it runs, and what it learned. Never in its way.

    memory = scrubjay.WorkflowMemory(jay)
    known = memory.get_context_for_workflow("u-42", "atlas")
    memory.store_learned_fact("u-42", "db", "PostgreSQL 18", "atlas", execution_id="run-7")

When memory is unavailable, a warning is logged, the context is empty and nothing is stored: the workflow goes on.
"""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import scrubjay
from scrubjay.errors import Closed, InvalidInput, Misconfigured, Unavailable
from scrubjay.logs import logger
from scrubjay.memories.facts.telling import FACT, keyed
from scrubjay.model import Fact, FactContext, Json, StoredFact, Trust
from scrubjay.model.facts import CATEGORIES
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay
from scrubjay.sync.forward import Blocking, Loop, forward

P = ParamSpec("P")
T = TypeVar("T")

Opener: TypeAlias = Callable[[], Scrubjay]
"""Makes a memory, not yet open, when it is first needed."""

log = logger("workflow")


def _nothing() -> dict[str, Any]:
    """The context of a workflow that has no memory."""
    return {**{category: [] for category in CATEGORIES.values()}, "text": "", "tokens": 0, "available": False}


def _none() -> None:
    """What became of a fact that could not be stored."""


def _described(written: FactContext) -> dict[str, Any]:
    known = {category: [_entry(fact) for fact in facts] for category, facts in written.categories.items()}
    return {**known, "text": written.text, "tokens": written.tokens, "available": True}


def _entry(fact: Fact) -> dict[str, Json]:
    return {
        "id": str(fact.id),
        "key": fact.key,
        "content": fact.content,
        "data": fact.data,
        "importance": fact.importance,
        "level": fact.level.value,
    }


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _warn(doing: str, error: Exception) -> None:
    log.warning("the workflow goes on without memory", verb=doing, error=str(error))


def _kept_running(
    verb: Callable[Concatenate["AsyncWorkflowMemory", P], Awaitable[T]], otherwise: Callable[[], T]
) -> Callable[Concatenate[Blocking["AsyncWorkflowMemory"], P], T]:
    """The same verb, blocking; also when the memory was closed under it."""
    blocking = forward(verb)

    @functools.wraps(blocking)
    def kept(self: Blocking[AsyncWorkflowMemory], /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return blocking(self, *args, **kwargs)
        except Closed as error:
            _warn(verb.__name__, error)
            return otherwise()

    return kept


class AsyncWorkflowMemory:
    """Memory for a workflow, awaited. What is not open yet, or not even made, is opened when it is needed."""

    def __init__(self, jay: Scrubjay | Opener | None = None) -> None:
        if isinstance(jay, SyncScrubjay):
            raise InvalidInput("jay is a SyncScrubjay: use WorkflowMemory for it, whose verbs block as its do")
        self._jay = jay if isinstance(jay, Scrubjay) else None
        self._opener: Opener = jay if jay is not None and not isinstance(jay, Scrubjay) else scrubjay.open_async
        self._is_mine = False
        self._opening = asyncio.Lock()

    async def get_context_for_workflow(
        self,
        user_id: str | None = None,
        project_id: str | None = None,
        *,
        query: str = "",
        budget: int = 1_000,
        workflow_id: str | None = None,
    ) -> dict[str, Any]:
        """Return what holds for this user and project: a list for each category, and all of it as `text`.

        The categories are preferences, instructions, facts, conventions, tech_stack, skills, rules, patterns and
        feedback, each there even when it is empty. `available` is false when memory could not be asked.
        """

        async def ask(jay: Scrubjay) -> dict[str, Any]:
            written = await jay.facts.get_context_for_prompt(
                user_id, project_id, query=query, budget=budget, workflow=workflow_id
            )
            return _described(written)

        return await self._kept_running("get_context_for_workflow", ask, _nothing())

    async def store_learned_fact(
        self,
        user_id: str | None,
        key: str,
        value: Json,
        project_id: str | None = None,
        execution_id: str | None = None,
    ) -> StoredFact | None:
        """Store what a run worked out; None when memory is unavailable. A value that is no text is in `data`, too."""

        async def tell(jay: Scrubjay) -> StoredFact:
            return await jay.facts.store(
                _text(value),
                key=keyed(FACT, key),
                data=None if isinstance(value, str) else {"value": value},
                trust=Trust.CONCLUDED,
                user=user_id,
                project=project_id,
                execution=execution_id,
            )

        return await self._kept_running("store_learned_fact", tell, None)

    async def store_user_preference(
        self,
        user_id: str,
        key: str,
        value: Json,
        project_id: str | None = None,
        execution_id: str | None = None,
    ) -> StoredFact | None:
        """Store what a user told a run to prefer, everywhere or in one project; None when memory is unavailable."""

        async def tell(jay: Scrubjay) -> StoredFact:
            return await jay.facts.store_user_preference(
                user_id,
                key,
                _text(value),
                data=None if isinstance(value, str) else {"value": value},
                project=project_id,
                execution=execution_id,
            )

        return await self._kept_running("store_user_preference", tell, None)

    async def close(self) -> None:
        """Close the memory if it was opened here. Safe to call twice."""
        if self._jay is not None and self._is_mine:
            await self._jay.close()
            self._jay, self._is_mine = None, False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _kept_running(self, doing: str, work: Callable[[Scrubjay], Awaitable[T]], otherwise: T) -> T:
        """Do it, or say why not and go on. What the caller did wrong is still told: that is not memory's fault."""
        try:
            return await work(await self._opened())
        except (Unavailable, Misconfigured) as error:
            _warn(doing, error)
            return otherwise

    async def _opened(self) -> Scrubjay:
        # Steps of a workflow run side by side, and whoever comes second must not open a second one.
        async with self._opening:
            if self._jay is None:
                made = self._opener()
                await made.start()
                self._jay, self._is_mine = made, True
            elif not self._jay.parts.is_open.is_set() and not self._is_mine:
                await self._jay.start()
                self._is_mine = True
            return self._jay


class WorkflowMemory(Blocking[AsyncWorkflowMemory]):
    """Memory for a workflow, without `await`. With no memory given, the default one is opened when it is needed."""

    def __init__(self, jay: SyncScrubjay | Opener | None = None) -> None:
        if isinstance(jay, Scrubjay):
            raise InvalidInput("jay is a Scrubjay, whose verbs are awaited: use AsyncWorkflowMemory for it")
        self._is_mine = not isinstance(jay, SyncScrubjay)
        if isinstance(jay, SyncScrubjay):
            super().__init__(AsyncWorkflowMemory(jay._verbs), jay._loop)  # noqa: SLF001 -- our own class
        else:
            super().__init__(AsyncWorkflowMemory(jay), Loop())

    get_context_for_workflow = _kept_running(AsyncWorkflowMemory.get_context_for_workflow, _nothing)
    store_learned_fact = _kept_running(AsyncWorkflowMemory.store_learned_fact, _none)
    store_user_preference = _kept_running(AsyncWorkflowMemory.store_user_preference, _none)

    def close(self) -> None:
        """Close the memory if it was opened here. Safe to call twice."""
        if self._is_mine:
            with suppress(Closed):
                self._loop.run(self._verbs.close)
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
