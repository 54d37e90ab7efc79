"""The verbs of episodic memory, each a few lines over the write path, the read path and the stores."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple, TypedDict, Unpack, cast
from uuid import UUID

from scrubjay.core import Core, Id
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.memories.episodes.recent import recent_context
from scrubjay.memories.episodes.telling import EpisodeTold, Tellings, Told, telling_of
from scrubjay.memories.working import not_later
from scrubjay.model import EVENT_KINDS, Memory, Mode, Order, Remembered, Scope, Where, id_of
from scrubjay.model.checks import check_several, check_whole, shown
from scrubjay.model.context import DEFAULT_BUDGET, MOST_BUDGET
from scrubjay.model.episodes import EPISODE_KINDS, Episode, EpisodeHit, EpisodeHits, RecentContext
from scrubjay.model.working import SOURCES, Source
from scrubjay.read.narrow import Narrow
from scrubjay.read.ordering import merged, strands_of
from scrubjay.write.prepare import Telling

MOST_LISTED: Final = 10_000
MOST_AROUND: Final = 100


class OfSession(TypedDict, total=False):
    """A scope, but for the session."""

    user: str | None
    project: str | None
    agent: str | None
    workflow: str | None


class _Place(NamedTuple):
    """Where one episode stands in the order of things: little enough to hold for every episode there is."""

    id: UUID
    at: datetime
    scope: Scope
    position: int | None


class Episodes:
    """Episodic memory: what happened, in order. Every verb takes the scope as keywords."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Writing

    async def store_episode(self, content: Told = "", **details: Unpack[EpisodeTold]) -> Remembered:
        """Remember something that happened: a message, unless `kind` says otherwise, or a negotiation with parties.

        Told twice, it happened twice; with an id of yours, telling it again is one episode. Inside a session it gets
        the next position there.
        """
        told: Told = {**details, **({"content": content} if content else {})}
        if not isinstance(content, str):
            if details.keys() - Where.__annotations__.keys():
                raise InvalidInput(f"an episode is {shown(content)}: its details are in it, so give only the scope")
            return (await self.store_many([content], **cast("Where", details)))[0]
        return (await self.store_many([told]))[0]

    async def store_many(
        self, episodes: Tellings, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> "list[Remembered]":
        """Remember many, in the order they are told: texts, `Message`s, `Negotiation`s, or dicts with `content`.

        All are checked before any is written, and written in transactions of 1,000; `progress` hears how many are done.
        """
        check_several("episodes", episodes)
        told = list(episodes)
        tellings: list[str | Telling] = []
        for place, one in enumerate(told):
            try:
                tellings.append(self._telling(one))
            except ScrubjayError as error:
                if len(told) == 1:
                    raise
                raise type(error)(f"item {place}: {error}") from error
        return await self._core.remember_many(tellings, progress=progress, **where)

    def _telling(self, one: Told) -> Telling:
        telling = telling_of(one)
        at = telling.get("valid_from")
        return telling if at is None else {**telling, "valid_from": not_later(self._core.parts.clock(), at)}

    # Reading

    async def fetch_recent_context(
        self,
        session: str,
        *,
        budget: int = DEFAULT_BUDGET,
        source: Source | None = None,
        **elsewhere: Unpack[OfSession],
    ) -> RecentContext:
        """Return what just happened in a session, in order, in at most `budget` tokens when it is written by `str()`.

        Messages that the session still holds come first; what room is left goes to the newest of its stored episodes.
        `source` says to read `working` or `records` only. `degraded` is as in `working.recent`.
        """
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        chosen = source or self._core.parts.working_source
        if chosen not in SOURCES:
            raise InvalidInput(f"source is {shown(source)}: use one of {', '.join(SOURCES)}")
        scope = self._core.scoped(cast("Where", {**elsewhere, "session": session}))
        if scope.session is None:
            raise InvalidInput("session is None: name the session whose context is wanted")
        return await recent_context(self._core.parts, scope, budget=budget, source=chosen)

    async def timeline(
        self, *, limit: int = 100, order: Order = "oldest", after: Id | None = None, **narrow: Unpack[Narrow]
    ) -> "list[Episode]":
        """Return what happened inside the scope, in the order it happened; `after` is the last id of the page before.

        Inside a session the order is exact, also when clocks were not; between sessions, clocks decide. A page works
        out the order of all that matches: `since`, `until` or a session make that quick where there is much.
        """
        check_whole("limit", limit, least=1, most=MOST_LISTED)
        if order not in ("newest", "oldest"):
            raise InvalidInput(f"order is {shown(order)}: use newest or oldest")
        inside, parts = self._core.filtered(_of_episodes(narrow), "holds"), self._core.parts
        places = [
            _Place(memory.id, memory.valid_from, memory.scope, memory.position)
            async for batch in parts.stores.records.scan(inside, now=parts.clock())
            for memory in batch
        ]
        ids = [place.id for place in merged(strands_of(places), lambda place: place.at)]
        if order == "newest":
            ids.reverse()
        start = _behind(ids, id_of(after, self._core.tenant)) if after is not None else 0
        found = await parts.stores.records.get(inside.scope, ids[start : start + limit])
        return [Episode(memory=memory) for memory in found]

    async def recall(
        self,
        query: str,
        *,
        around: int = 0,
        limit: int = 10,
        mode: Mode = "hybrid",
        least_similarity: float | None = None,
        explain: bool = False,
        touch: bool = True,
        **narrow: Unpack[Narrow],
    ) -> EpisodeHits:
        """Find the episodes that fit, best first, each with so many before and after it in its session."""
        check_whole("around", around, least=0, most=MOST_AROUND)
        hits = await self._core.recall(
            query,
            limit=limit,
            mode=mode,
            least_similarity=least_similarity,
            explain=explain,
            touch=touch,
            **_of_episodes(narrow),
        )
        scope = self._core.filtered(narrow, "sees").scope
        found: list[EpisodeHit] = []
        for hit in hits:
            before, after = await self._beside(scope, hit.memory, around)
            found.append(EpisodeHit(hit=hit, before=before, after=after))
        return EpisodeHits(hits=tuple(found), degraded=hits.degraded, milliseconds=hits.milliseconds)

    async def _beside(
        self, scope: Scope, memory: Memory, around: int
    ) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
        """The episodes just before and after it. Other things that a session holds between them are passed over."""
        if not around or memory.position is None:
            return (), ()
        asked, parts = around, self._core.parts
        while True:
            beside = await parts.stores.records.neighbours(scope, memory, before=asked, after=asked)
            earlier = [one for one in beside if (one.position or 0) < memory.position]
            later = [one for one in beside if (one.position or 0) > memory.position]
            before, after = self._shown(earlier)[-around:], self._shown(later)[:around]
            enough = len(before) == around or len(earlier) < asked, len(after) == around or len(later) < asked
            if all(enough):
                return before, after
            asked *= 4

    def _shown(self, memories: "list[Memory]") -> tuple[Episode, ...]:
        now = self._core.parts.clock()
        return tuple(Episode(memory=memory) for memory in memories if memory.is_event and memory.held_at(now))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core!r}>"


def _of_episodes(narrow: Narrow) -> Narrow:
    """The same narrowing, among episodes."""
    given = narrow.get("kinds") or ()
    if not isinstance(given, str):
        check_several("kinds", given)
    kinds = (given,) if isinstance(given, str) else tuple(given)
    for kind in kinds:
        if not isinstance(kind, str) or kind not in EVENT_KINDS:
            raise InvalidInput(f"kinds holds {shown(kind)}: use {', '.join(EPISODE_KINDS)}")
    return {**narrow, "kinds": kinds or tuple(sorted(EVENT_KINDS))}


def _behind(ids: "list[UUID]", last: UUID) -> int:
    try:
        return ids.index(last) + 1
    except ValueError as error:
        raise NotFound(f"there is no episode {last} in this timeline: begin it anew, without `after`") from error
