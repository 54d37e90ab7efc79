"""Context: what an agent should know before it acts, from what always holds, what fits, and what just happened."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.model import EVENT_KINDS, STANDING_KINDS, Context, Query
from scrubjay.ports import Stores, Tokens
from scrubjay.read.assemble import assemble
from scrubjay.read.recall import rank
from scrubjay.read.retrieve import AskServing

MOST_STANDING: Final = 200
"""Instructions, rules, preferences and conventions that are offered, newest first."""

MOST_RECENT: Final = 10
"""Turns of the session that are offered."""


async def context(
    query: Query, budget: int, *, stores: Stores, serving: AskServing | None, tokens: Tokens, now: datetime
) -> Context:
    """Assemble what fits into the budget. Similarity does not find what always holds, so that is asked for by kind."""
    ranked, degraded = await rank(query, stores=stores, serving=serving, now=now)
    wanted = query.filter.kinds
    standing_kinds = tuple(kind for kind in STANDING_KINDS if not wanted or kind in wanted)
    event_kinds = tuple(kind for kind in sorted(EVENT_KINDS) if not wanted or kind in wanted)
    standing = (
        await stores.records.find(replace(query.filter, kinds=standing_kinds), now=now, limit=MOST_STANDING)
        if standing_kinds
        else []
    )
    recent = (
        await stores.records.find(replace(query.filter, kinds=event_kinds), now=now, limit=MOST_RECENT)
        if event_kinds and query.filter.scope.session is not None
        else []
    )
    return assemble(standing=standing, ranked=ranked, recent=recent, budget=budget, tokens=tokens, degraded=degraded)
