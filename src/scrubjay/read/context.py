"""Context: what an agent should know before it acts, from what always holds, what fits, and what just happened."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from scrubjay.model import (
    DEFAULT_KIND,
    EVENT_KINDS,
    PLACE_NAMES,
    STANDING_KINDS,
    Context,
    Filter,
    Json,
    Memory,
    Query,
    Scope,
)
from scrubjay.model.citations import warning_of
from scrubjay.model.context import (
    ABOUT_MEMORIES,
    DEFAULT_BUDGET,
    SECTIONS,
    SHAPE_KEY,
    SHAPE_KIND,
    SHAPE_PLACE,
    ContextShape,
    Section,
    kinds_of,
    section_of,
)
from scrubjay.model.query import MOST_HITS
from scrubjay.model.working import Recent, memory_of
from scrubjay.ports import Stores, Tokens, Trees, Working, stage
from scrubjay.read.assemble import assemble
from scrubjay.read.compare import compared
from scrubjay.read.readable import readable
from scrubjay.read.recall import rank
from scrubjay.read.rerank import Ranked
from scrubjay.read.reread import Rereading
from scrubjay.read.retrieve import AskServing
from scrubjay.read.spoken import turns_by_role

MOST_STANDING: Final = 200
"""Instructions, rules, preferences and conventions that are offered, newest first."""

MOST_RECENT: Final = 10
"""Turns of the session that are offered from the record store."""

MOST_READ: Final = 50
"""Turns of sessions of that name that are read for them: another user may have one of the same name."""

MOST_LIVE: Final = 50
"""Messages that are offered from what the session still holds."""

LETTERS: Final = 100_000
"""Letters of all that is offered from which on it is counted beside the event loop: a million take a second."""

MOST_SHAPES: Final = 32
"""Shapes that can concern one reader: one for each choice of the names of its scope."""


async def shape_of(scope: Scope, *, stores: Stores, now: datetime) -> ContextShape:
    """The shape that is preferred in this scope, each part by the narrowest scope that decides it."""
    # A reader sees what belongs to names that it leaves open; the shape of an agent is for those who name the agent.
    open_names = [name for name in PLACE_NAMES if getattr(scope, name) is None]
    elsewhere: dict[str, Json] = {f"{SHAPE_PLACE}.{name}": {"exists": False} for name in open_names}
    kept = Filter(scope=scope, kinds=(SHAPE_KIND,), key=SHAPE_KEY, data=elsewhere)
    found = await stores.records.find(kept, now=now, limit=MOST_SHAPES)
    # The data says where a shape belongs so that the store can pass by those of others; its scope decides.
    applying = [memory for memory in found if memory.scope.holds(scope)]
    return ContextShape.among(readable(applying, ContextShape.of))


async def context(
    query: Query,
    shape: ContextShape,
    *,
    stores: Stores,
    serving: AskServing | None,
    working: Working | None,
    tokens: Tokens,
    now: datetime,
    rereading: Rereading | None = None,
    trees: Trees | None = None,
) -> Context:
    """Assemble what fits into the budget. Similarity does not find what always holds, so that is asked for by kind.

    What the shape leaves open is as it is kept for the scope. `working` is where the session's messages are; None when
    they are not to be read. What cites code is compared with the `trees`, and says so when it is stale.
    """
    with stage("context", tenant=query.filter.scope.tenant) as assembling:
        made = await _made(
            query,
            shape,
            stores=stores,
            serving=serving,
            working=working,
            tokens=tokens,
            now=now,
            rereading=rereading,
            trees=trees,
        )
        if assembling.is_watched:
            assembling.note(
                ids=[str(item.memory.id) for item in made.items],
                kinds=[item.memory.kind for item in made.items],
                tokens=made.tokens,
                degraded=made.degraded,
            )
        return made


async def _made(
    query: Query,
    shape: ContextShape,
    *,
    stores: Stores,
    serving: AskServing | None,
    working: Working | None,
    tokens: Tokens,
    now: datetime,
    rereading: Rereading | None,
    trees: Trees | None,
) -> Context:
    admitted = query.filter
    if not shape.is_complete:
        shape = shape.over(await shape_of(admitted.scope, stores=stores, now=now))
    sections = shape.sections or SECTIONS
    ranked, missing = await _answers(query, sections, stores=stores, serving=serving, now=now, rereading=rereading)
    always = STANDING_KINDS if "facts" in sections else ()
    in_session = admitted.scope.session is not None
    recent = await _recent(admitted, stores=stores, now=now) if in_session and "episodes" in sections else []
    live: list[Memory] = []
    if working is not None and in_session and "working" in sections:
        said = await _said(working, admitted.scope, now=now)
        live = [memory for one in said if admitted.matches(memory := memory_of(one, admitted.scope), now)]
        missing = (*missing, *(part for part in said.degraded if part not in missing))
    standing = await _newest(always, admitted, stores=stores, now=now, limit=MOST_STANDING)
    cited = await compared([*standing, *(one.memory for one in ranked), *recent], admitted.scope, trees)
    written = partial(
        assemble,
        standing=standing,
        ranked=ranked,
        recent=recent,
        live=live,
        budget=shape.budget or DEFAULT_BUDGET,
        tokens=tokens,
        degraded=missing,
        as_=shape.as_ or "markdown",
        warnings={known: warning for known, checked in cited.items() if (warning := warning_of(checked))},
    )
    letters = sum(len(one.content) for one in (*standing, *(one.memory for one in ranked), *recent, *live))
    return written() if letters < LETTERS else await asyncio.to_thread(written)


async def _answers(
    query: Query,
    sections: Sequence[Section],
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    rereading: Rereading | None,
) -> tuple[list[Ranked], tuple[str, ...]]:
    """What answers the question in these sections, best first, and the parts that could not take part."""
    kinds = query.filter.kinds
    if (possible := kinds_of(sections)) is not None:
        kinds = tuple(kind for kind in possible if not kinds or kind in kinds)
        if not kinds:
            return [], ()
    # Kinds that belong to no section cannot be asked for by name, so others are dropped after they were found.
    more = query.limit if possible is not None or sections == SECTIONS else min(MOST_HITS, 4 * query.limit)
    asked = replace(query, filter=replace(query.filter, kinds=kinds), limit=more)
    ranked, missing = await rank(asked, stores=stores, serving=serving, now=now, rereading=rereading)
    fitting = [
        one for one in ranked if section_of(one.memory.kind) in sections and one.memory.kind not in ABOUT_MEMORIES
    ]
    return fitting[: query.limit], missing


async def _recent(admitted: Filter, *, stores: Stores, now: datetime) -> list[Memory]:
    """The newest episodes of the session that are admitted. What happened outside of it is found, if it fits.

    Notes that are the turns of a chat are episodes, too.
    """
    inside = Scope(tenant=admitted.scope.tenant, session=admitted.scope.session)
    holding = replace(admitted, scope=inside, reach="holds")
    kinds = sorted(EVENT_KINDS)
    found = await _newest([*kinds, DEFAULT_KIND], holding, stores=stores, now=now, limit=MOST_READ)
    turns = turns_by_role(found)
    recent = [memory for memory in found if memory.is_event or memory.id in turns]
    if len(recent) < len(found) == MOST_READ:
        # Other notes may have crowded out what happened before them.
        recent = await _newest(kinds, holding, stores=stores, now=now, limit=MOST_READ)
    return [memory for memory in recent if admitted.admits(memory.scope)][:MOST_RECENT]


async def _said(working: Working, scope: Scope, *, now: datetime) -> Recent:
    """The newest messages of the session in exactly this scope, or else of the conversation that an agent is in."""
    # Several agents and workflows may work in one conversation, which then names none of them.
    around = [replace(scope, agent=None), replace(scope, workflow=None), replace(scope, agent=None, workflow=None)]
    said = Recent()
    for place in filter(scope.sees, dict.fromkeys([scope, *around])):
        said = await working.recent(place, limit=MOST_LIVE, now=now, over=True)
        if said or said.degraded:
            break
    return said


async def _newest(kinds: Sequence[str], admitted: Filter, *, stores: Stores, now: datetime, limit: int) -> list[Memory]:
    """The newest of these kinds that are admitted."""
    wanted = tuple(kind for kind in kinds if not admitted.kinds or kind in admitted.kinds)
    return await stores.records.find(replace(admitted, kinds=wanted), now=now, limit=limit) if wanted else []
