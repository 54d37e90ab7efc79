"""The verbs of pattern memory, each a few lines over the core, the histories and what was mined from them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final, Unpack

from scrubjay.core import Core
from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.memories.learning.regexes import compiled, matches
from scrubjay.memories.learning.traits import telling_words
from scrubjay.memories.patterns.advising import advice_of
from scrubjay.memories.patterns.keeping import KEY, judged, learned_anew, pattern_of
from scrubjay.memories.patterns.reading import Which, places_of
from scrubjay.model import Filter, Memory, Remembered, Scope, Where
from scrubjay.model.checks import check_content, check_flag, check_fraction, check_whole, shown
from scrubjay.model.patterns import (
    PATTERN_KIND,
    Family,
    PatternMatch,
    PatternType,
    Prediction,
    Recommendation,
    TaskPattern,
    check_pattern_type,
)
from scrubjay.read.readable import readable
from scrubjay.write.announce import offered
from scrubjay.write.prepare import Telling

MOST_PATTERNS: Final = 10_000
"""Patterns of one place that are looked through."""

LIKE: Final = 0.5
"""The least calibrated similarity at which a pattern concerns a task that its regular expression does not find."""

MOST_OF: Final = 3 / 5
"""The share of a family's telling words that a description has to have to be of the family."""

RUNS_PER_ADJUSTMENT: Final = 10.0
"""A confidence adjustment of 1 weighs as much as ten executions, so the usual 0.1 as much as one."""


class Patterns:
    """What went with success and failure in past executions. Made of the core; the scope is given as keywords."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Learning

    async def extract_pattern(
        self,
        task_type_pattern: str,
        pattern_type: PatternType = "success",
        min_samples: int = 3,
        *,
        across_projects: bool = False,
        **where: Unpack[Where],
    ) -> TaskPattern | None:
        """Learn one pattern from the executions whose task type or description the regular expression finds.

        None when fewer than `min_samples` of them ended as the pattern is about. Without an indicator that stands out
        it says only how such tasks ended. Executions of other projects count only with `across_projects`.
        """
        from scrubjay.memories.patterns.drafting import extracted  # noqa: PLC0415 -- brings NumPy

        compiled(task_type_pattern)
        check_pattern_type("pattern_type", pattern_type)
        check_whole("min_samples", min_samples, least=1, most=1_000_000)
        which = self._which(where, across_projects=across_projects)
        place = await places_of(self._core).place(self._core, which)
        async with place.lock:
            telling = await asyncio.to_thread(
                extracted, place.history, task_type_pattern, pattern_type, which.scope, at_least=min_samples
            )
        if telling is None:
            return None
        [done] = await self._keep([telling], which.scope)
        return pattern_of(done.memory, self._core.parts.clock())

    async def learn(
        self,
        *,
        across_projects: bool = False,
        across_users: bool = False,
        quick: bool = False,
        **where: Unpack[Where],
    ) -> list[TaskPattern]:
        """Learn from every execution in the scope that was not learned from yet; return the patterns that changed.

        Families of tasks are found, and patterns in them. One that no longer holds is closed. Executions of projects,
        users and agents that the scope does not name count only when allowed: `across_users` is for users and agents.
        With `quick`, one that was forgotten or corrected in the last minute may still count. Safe to repeat and to run
        twice at once.
        """
        which = self._which(where, across_projects=across_projects, own=not across_users)
        try:
            done = await self._learned(which, where, quick=quick)
        except InvalidInput:
            # A pattern may be made from what was forgotten since it was looked for, and such a one is refused.
            done = await self._learned(which, where, quick=False)
        now = self._core.parts.clock()
        return [pattern_of(one.memory, now) for one in done if one.outcome != "unchanged"]

    async def _learned(self, which: Which, where: Where, *, quick: bool) -> list[Remembered]:
        """What became of every pattern that is found there now, and was not told since."""
        from scrubjay.memories.patterns.drafting import lessons  # noqa: PLC0415 -- brings NumPy

        place = await places_of(self._core).place(self._core, which, quick=quick)
        async with place.lock:
            found = await asyncio.to_thread(lessons, place.history, which, place.told)
            done = await self._keep([one.telling for one in found if one.telling is not None], which.scope)
            if place.told.keys() != {one.key for one in found}:
                await self._retire(which, {one.key for one in found}, where)
            place.told = {one.key: one.signature for one in found}
        return done

    async def feedback(
        self,
        pattern_id: str,
        helpful: bool,  # noqa: FBT001 -- the verdict itself
        confidence_adjustment: float = 0.1,
        **where: Unpack[Where],
    ) -> TaskPattern:
        """Say whether following a pattern helped. It moves the posterior as an execution does, if 0.1 is given."""
        if not isinstance(helpful, bool):
            raise InvalidInput(f"helpful is {shown(helpful)}: use true or false")
        check_fraction("confidence_adjustment", confidence_adjustment)
        memory = await self._held(pattern_id, self._core.scoped(where))
        pattern_of(memory, self._core.parts.clock())  # Raises for what is none.
        decide = partial(judged, helpful=helpful, weight=RUNS_PER_ADJUSTMENT * confidence_adjustment)
        [draft] = await self._core.parts.writer.drafts([_redraft(memory)], memory.scope)
        [done] = await self._core.parts.writer.write([draft], decide)
        return pattern_of(done.memory, self._core.parts.clock())

    # Reading

    async def get(self, pattern_id: str, **where: Unpack[Where]) -> TaskPattern:
        """Return one pattern. Raises NotFound when the scope does not see it."""
        return pattern_of(await self._held(pattern_id, self._core.scoped(where)), self._core.parts.clock())

    async def history(self, pattern_id: str, **where: Unpack[Where]) -> list[TaskPattern]:
        """Return every version of a pattern, oldest first, each with the confidence it had when it was written."""
        versions: dict[int, TaskPattern] = {}
        told = await self._core.history(key=_key(pattern_id), **where)
        for _, pattern in readable(told, lambda memory: pattern_of(memory, memory.created_at)):
            known = versions.get(pattern.version)
            if known is None or pattern.updated_at < known.updated_at:
                versions[pattern.version] = pattern
        return [versions[version] for version in sorted(versions)]

    async def search_patterns(
        self,
        task_type: str | None = None,
        pattern_type: PatternType | None = None,
        limit: int = 10,
        **where: Unpack[Where],
    ) -> list[TaskPattern]:
        """Return the patterns about a type of task, surest first; all patterns when no type is given."""
        check_whole("limit", limit, least=1, most=MOST_PATTERNS)
        if pattern_type is not None:
            check_pattern_type("pattern_type", pattern_type)
        patterns = [
            pattern
            for pattern in await self._seen(self._core.scoped(where))
            if pattern_type in (None, pattern.pattern_type)
            and (not task_type or matches(pattern.task_type_pattern, task_type) or _is_called(pattern, task_type))
        ]
        return _surest(patterns)[:limit]

    async def find_matching_patterns(
        self, description: str, min_confidence: float = 0.3, *, limit: int = 10, **where: Unpack[Where]
    ) -> list[PatternMatch]:
        """Return the patterns that concern a task: by their regular expression, by words, by meaning; surest first."""
        check_content(description, "description")
        check_fraction("min_confidence", min_confidence)
        check_whole("limit", limit, least=1, most=1_000)
        scope = self._core.scoped(where)
        sure = _surest([one for one in await self._seen(scope) if one.confidence >= min_confidence])
        words = set(telling_words(description))
        found = [
            PatternMatch(pattern=one, why=why) for one in sure if (why := _why(one, description, words)) is not None
        ]
        named = {match.pattern.id for match in found}
        alike = await self._alike(description, [one for one in sure if one.id not in named], limit, where)
        found = [*found, *alike][:limit]
        await self._announce("memory.pattern.matched", scope, [match.pattern for match in found])
        return found

    async def recommend(
        self, description: str, min_confidence: float = 0.3, *, limit: int = 5, **where: Unpack[Where]
    ) -> list[Recommendation]:
        """Return what to do and what to avoid in a task, with the evidence; empty when there is too little of it."""
        check_whole("limit", limit, least=1, most=1_000)
        matched = await self.find_matching_patterns(description, min_confidence, **where)
        return advice_of(matched, min_confidence=min_confidence, limit=limit)

    async def predict(
        self,
        description: str,
        *,
        tools: Sequence[str] = (),
        errors: Sequence[str] = (),
        model: str | None = None,
        across_projects: bool = False,
        **where: Unpack[Where],
    ) -> Prediction:
        """Say how likely a task is to succeed: from its description, and from the tools and errors of the run so far.

        Only where predicting has shown skill on the scope's own past; otherwise the answer is that there is no basis.
        """
        check_content(description, "description")
        from scrubjay.memories.patterns.forecasting import predicted  # noqa: PLC0415 -- brings NumPy

        self._check_across(across_projects=across_projects)
        which = Which(scope=self._core.scoped(where), reach="sees", across_projects=across_projects)
        forecaster = await places_of(self._core).forecasters.get(self._core, which)
        return await asyncio.to_thread(
            partial(predicted, forecaster, description, tools=tools, errors=errors, model=model)
        )

    async def families(
        self, *, min_size: int = 2, across_projects: bool = False, **where: Unpack[Where]
    ) -> list[Family]:
        """Return the families of tasks inside the scope, largest first, narrow ones after the wide one."""
        check_whole("min_size", min_size, least=1, most=1_000_000_000)
        which = self._which(where, across_projects=across_projects)
        place = await places_of(self._core).place(self._core, which)
        async with place.lock:
            members = place.history.families.members
            wanted = [number for number, one in enumerate(members) if one.size >= min_size]
            found = await asyncio.to_thread(lambda: [place.history.family(number) for number in wanted])
        sizes = {family.id: family.size for family in found}
        return sorted(
            found,
            key=lambda one: (
                -sizes.get(one.parent or one.id, 0),
                one.parent or one.id,
                one.parent is not None,
                -one.size,
            ),
        )

    # What the verbs share

    def _which(self, where: Where, *, across_projects: bool, own: bool = False) -> Which:
        scope = self._core.scoped(where)
        self._check_across(across_projects=across_projects)
        if across_projects and scope.project is not None:
            raise InvalidInput(f"across_projects is true and project is {scope.project!r}: leave one of them out")
        return Which(scope=scope, reach="holds", across_projects=across_projects, own=own)

    def _check_across(self, *, across_projects: bool) -> None:
        check_flag("across_projects", across_projects)
        if across_projects:
            self._core.caller.bounds.check_none("across_projects")

    async def _keep(self, tellings: Sequence[Telling], scope: Scope) -> list[Remembered]:
        """Store what was learned, as new versions where it says something new, and announce these."""
        if not tellings:
            return []
        drafts = await self._core.parts.writer.drafts(tellings, scope)
        done = await self._core.parts.writer.write(drafts, learned_anew)
        now = self._core.parts.clock()
        changed = [pattern_of(one.memory, now) for one in done if one.outcome != "unchanged"]
        await self._announce("memory.pattern.learned", scope, changed)
        return done

    async def _retire(self, which: Which, keys: set[str], where: Where) -> None:
        """Close the patterns of just this place that were learned in just this way and are found no more."""
        held = Filter(scope=which.scope, reach="holds", kinds=(PATTERN_KIND,), data={"learned": which.way})
        gone = [
            memory.id
            async for batch in self._core.parts.stores.records.scan(held, now=self._core.parts.clock())
            for memory in batch
            if memory.scope == which.scope and memory.key not in keys
        ]
        if gone:
            # Another process may have closed them a moment ago, or learned them anew: then the next time tells.
            with suppress(NotFound, Conflict):
                await self._core.forget(gone, reason="no longer found in the executions", **where)

    async def _seen(self, scope: Scope) -> list[TaskPattern]:
        """All patterns that the scope sees."""
        wanted = Filter(scope=scope, kinds=(PATTERN_KIND,), key_prefix=KEY)
        now = self._core.parts.clock()
        memories = await self._core.parts.stores.records.find(wanted, now=now, limit=MOST_PATTERNS)
        # A fact may be of this kind, too: what somebody learned.
        told = [memory for memory in memories if "pattern_type" in memory.data]
        return [pattern for _, pattern in readable(told, lambda memory: _searchable(memory, now))]

    async def _alike(
        self, description: str, patterns: Sequence[TaskPattern], limit: int, where: Where
    ) -> list[PatternMatch]:
        """Those of the patterns that are about tasks like this one, by meaning; surest first."""
        if not patterns:
            return []
        hits = await self._core.recall(
            description, kinds=(PATTERN_KIND,), mode="meaning", limit=10 * limit, touch=False, **where
        )
        near = {hit.memory.data.get("id"): hit.similarity for hit in hits if (hit.similarity or 0.0) >= LIKE}
        return [
            PatternMatch(pattern=one, why=f"close in meaning ({near[one.id]:.2f})", similarity=near[one.id])
            for one in patterns
            if one.id in near
        ]

    async def _held(self, pattern_id: str, scope: Scope) -> Memory:
        wanted = Filter(scope=scope, kinds=(PATTERN_KIND,), key=_key(pattern_id))
        found = await self._core.parts.stores.records.find(wanted, now=self._core.parts.clock(), limit=1)
        if not found:
            raise NotFound(f"there is no pattern {pattern_id} in {scope}")
        return found[0]

    async def _announce(self, name: str, scope: Scope, patterns: Sequence[TaskPattern]) -> None:
        if patterns:
            ids = [(pattern.id, pattern.scope) for pattern in patterns]
            await self._core.parts.events.publish(
                offered(name, scope, ids, self._core.parts.clock(), called="patterns")
            )


def _key(pattern_id: str) -> str:
    if not isinstance(pattern_id, str) or not pattern_id:
        raise InvalidInput(f"pattern_id is {shown(pattern_id)}: use the id of a pattern")
    return f"{KEY}{pattern_id}"


def _searchable(memory: Memory, now: datetime) -> TaskPattern:
    pattern = pattern_of(memory, now)
    compiled(pattern.task_type_pattern)  # Raises for what is none: it was told by hand, and nobody has looked at it.
    return pattern


def _redraft(memory: Memory) -> Telling:
    """The same pattern told again, to be changed by what is decided on it."""
    return {
        "content": memory.content,
        "kind": memory.kind,
        "key": memory.key,
        "data": memory.data,
        "trust": memory.trust,
    }


def _surest(patterns: Sequence[TaskPattern]) -> list[TaskPattern]:
    return sorted(patterns, key=lambda one: (-one.confidence, -one.samples, one.id))


def _why(pattern: TaskPattern, description: str, words: set[str]) -> str | None:
    """Why a pattern concerns a task, as far as its words tell; None when they do not."""
    if matches(pattern.task_type_pattern, description):
        return f"matches {pattern.task_type_pattern!r}"
    common = [word for word in pattern.words if word in words]
    if len(common) >= 2 and len(common) >= MOST_OF * len(pattern.words):
        return f"words: {', '.join(common)}"
    return None


def _is_called(pattern: TaskPattern, task_type: str) -> bool:
    """Whether a type of task is named in the pattern, as in `deploy` for `deploy|release`."""
    return task_type.lower() in pattern.task_type_pattern.lower() or task_type.lower() in pattern.name.lower()
