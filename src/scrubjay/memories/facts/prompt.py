"""The facts that an agent should know before it acts, by category, the most useful first, within a token budget."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.memories.facts.applying import applying, overriding
from scrubjay.model import STANDING_KINDS, Filter, Memory, Query
from scrubjay.model.checks import check_whole
from scrubjay.model.context import MOST_BUDGET
from scrubjay.model.facts import CATEGORIES, FactContext, FactType
from scrubjay.read.assemble import STANDING_SHARE
from scrubjay.read.headings import OUTSIDE
from scrubjay.read.page import Offer, Page, offer
from scrubjay.read.recall import rank
from scrubjay.read.rerank import IMPORTANCE, RECENCY, familiarity, freshness

RELEVANCE: Final = 2.0
"""What a perfect answer to the question counts: twice the distance between an importance of 0 and of 1."""

CONSIDERED: Final = 200
"""Facts that are ranked by the question. The others count as answering it not at all."""

HEADINGS: Final = {kind: CATEGORIES[kind].replace("_", " ").capitalize() for kind in CATEGORIES}
SECTIONS: Final = (*HEADINGS.values(), OUTSIDE)
"""The headings, in the order they are written."""


async def prompt(core: Core, filter: Filter, *, query: str, budget: int) -> FactContext:
    """Write as much as fits of what applies in the filter's scope. The whole text never exceeds the budget.

    What must be followed (instructions, rules, preferences, conventions) may fill half of the budget first; then all
    take turns by how useful they are.
    """
    check_whole("budget", budget, least=1, most=MOST_BUDGET)
    asked = Query(text=query, filter=filter, limit=CONSIDERED)
    relevance, degraded = await _relevance(core, asked)
    kept, overridden = overriding(await applying(core, filter))
    now, tokens = core.parts.clock(), core.parts.tokens()
    useful = sorted(kept, key=lambda memory: (-usefulness(memory, relevance, now), memory.id))
    places = {memory.id: place for place, memory in enumerate(useful)}

    def most_useful_first(section: str, written: Iterable[Offer]) -> list[Offer]:
        return sorted((one for one in written if one.section == section), key=lambda one: places[one.memory.id])

    offers = [_offered(core, memory, relevance, now) for memory in useful]
    page = Page(budget, tokens, sections=SECTIONS, arranged=most_useful_first)
    page.write([one for one in offers if one.memory.kind in STANDING_KINDS], upto=int(budget * STANDING_SHARE))
    page.write(offers, upto=budget)
    page.fit()
    text = page.text()
    unwritten = [one for one in offers if one.memory.id not in page.offers]
    return FactContext(
        text=text,
        tokens=tokens.count(text) if text else 0,
        budget=budget,
        items=tuple(one.item() for one in page.in_order()),
        left_out=(
            *(one.item(f"no room: it needs {one.tokens} tokens") for one in unwritten),
            *(
                _offered(core, memory, relevance, now).item(f"overridden by {winner.scope}")
                for memory, winner in overridden
            ),
        ),
        degraded=degraded,
    )


def usefulness(memory: Memory, relevance: Mapping[UUID, float], now: datetime) -> float:
    """How much it helps: how well it answers, how important, how fresh, how often recalled, in a recall's weights.

    Without a question, nothing answers it, and the other three decide.
    """
    return (
        RELEVANCE * relevance.get(memory.id, 0.0)
        + IMPORTANCE * memory.importance
        + RECENCY * freshness(memory, now)
        + familiarity(memory)
    )


async def _relevance(core: Core, asked: Query) -> tuple[dict[UUID, float], tuple[str, ...]]:
    if not asked.text.strip():
        return {}, ()
    parts = core.parts
    ranked, degraded = await rank(
        asked, stores=parts.stores, serving=parts.serving, now=parts.clock(), rereading=parts.rereading
    )
    return {one.memory.id: one.score for one in ranked}, degraded


def _offered(core: Core, memory: Memory, relevance: Mapping[UUID, float], now: datetime) -> Offer:
    score = f"usefulness {usefulness(memory, relevance, now):.2f}"
    why = f"{score}, relevance {relevance[memory.id]:.2f}" if memory.id in relevance else score
    return offer(memory, core.parts.tokens(), why=why, section=HEADINGS[FactType(memory.kind)])
