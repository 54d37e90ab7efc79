"""What just happened in a session: what working memory holds of it, then what was stored, within a token budget."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from scrubjay.core import Parts
from scrubjay.model import EVENT_KINDS, Filter, Scope
from scrubjay.model.episodes import Episode, Happened, RecentContext
from scrubjay.model.working import Recent, Source, id_in
from scrubjay.read.ordering import merged
from scrubjay.read.tail import cost, tail

_PAGE: Final = 200
_MOST: Final = 10_000


async def recent_context(parts: Parts, scope: Scope, *, budget: int, source: Source) -> RecentContext:
    """As many of the newest messages as fit, then as many of the newest episodes as fit beside them."""
    tokens, held = parts.tokens(), Recent()
    # A line costs a token at least, so no more of them can fit.
    most = min(_MOST, budget)
    if source != "records":
        held = await parts.working.recent(scope, limit=most, now=parts.clock(), over=source == "both")
    start = tail([str(one) for one in held], budget, tokens)
    messages: tuple[Happened, ...] = held[start:]
    written: Sequence[Happened] = messages
    # Episodes are older than what did not fit, on the whole, and would leave a gap.
    if source != "working" and start == 0:
        known = {one.id for one in held} | {id_in(scope, one) for one in held}
        stored = await _stored(parts, scope, most, known=known, budget=budget)
        spent = cost([str(one) for one in messages], tokens)

        def beside(first: int) -> int:
            return cost([str(one) for one in _together(messages, stored[first:])], tokens)

        first = tail([str(one) for one in stored], budget, tokens, whole=beside, spent=spent)
        written = _together(messages, stored[first:])
    return RecentContext(
        happened=tuple(written),
        tokens=cost([str(one) for one in written], tokens),
        budget=budget,
        degraded=held.degraded,
    )


def _together(messages: Sequence[Happened], stored: Sequence[Happened]) -> list[Happened]:
    """Both in the order they happened: each in its own exact order, and clocks decide between them."""
    return merged([stored, messages], _at)


def _at(one: Happened) -> datetime:
    return one.at


async def _stored(parts: Parts, scope: Scope, most: int, *, known: set[UUID], budget: int) -> list[Happened]:
    """The newest episodes of exactly this session, in order: as many as could fit, but for those that are known."""
    tokens, spent, last = parts.tokens(), 0, None
    found: list[Episode] = []
    asked = Filter(scope=scope, reach="holds", kinds=tuple(sorted(EVENT_KINDS)))
    while len(found) < most and spent <= budget:
        page = await parts.stores.records.find(asked, now=parts.clock(), limit=_PAGE, after=last)
        # A narrower place is another session.
        fresh = [Episode(memory=memory) for memory in page if memory.scope == scope and memory.id not in known]
        spent += sum(tokens.count(str(one)) for one in fresh)
        found += fresh
        if len(page) < _PAGE:
            break
        last = page[-1].id
    return sorted(found, key=lambda one: one.position or 0)
