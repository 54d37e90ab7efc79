"""Distill: what some episodes come to. Pure, deterministic, and without a language model."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Final

from scrubjay.errors import InvalidInput
from scrubjay.memories.distill.dates import dates_of
from scrubjay.memories.distill.entities import entities_of
from scrubjay.memories.distill.ranking import ranked
from scrubjay.memories.distill.sentences import sentences_of
from scrubjay.memories.distill.stated import settled, stated
from scrubjay.memories.distill.summary import Embed, summarize
from scrubjay.model import Memory
from scrubjay.model.checks import check_moment, check_whole
from scrubjay.model.distill import Dated, Distilled
from scrubjay.ports import Tokens

MOST_BUDGET: Final = 1_000_000

READ: Final = 20_000
"""Characters of one memory that are read. Anything longer is a document, and its opening says what it is about."""


def distill(
    memories: Sequence[Memory],
    *,
    now: datetime,
    tokens: Tokens,
    budget: int,
    embed: Embed | None = None,
    zone: tzinfo = UTC,
) -> Distilled:
    """Distill episodes, in the order they happened, into a summary of at most `budget` tokens, facts, names and dates.

    Candidate facts come only from what people said in their own words: never from an assistant, a tool, a quotation, a
    block of code, or a text that was handed over. Of a very long memory only the opening is read. Dates count from when
    each memory was said, with days of `zone`; what was said after `now` is left out. The same memories always give the
    same result. It computes for a while: call it on a thread.
    """
    check_whole("budget", budget, least=1, most=MOST_BUDGET)
    check_moment("now", now)
    if len({memory.id for memory in memories}) != len(memories):
        raise InvalidInput("memories holds one id twice: give every memory once")
    known = readable(memories, now)
    dates = _dates(known, zone)
    return Distilled(
        summary=summarize(ranked(known, dates), tokens=tokens, budget=budget, embed=embed),
        facts=tuple(settled(stated(known, zone=zone))),
        entities=tuple(entities_of(known)),
        dates=tuple(dates),
        sources=tuple(memory.id for memory in known),
    )


def readable(memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """What was said until now, each no longer than is read. One whose opening is blank is left out."""
    known = [memory for memory in memories if memory.valid_from <= now]
    return [
        memory if len(memory.content) <= READ else replace(memory, content=memory.content[:READ])
        for memory in known
        if not memory.content[:READ].isspace()
    ]


def _dates(memories: Sequence[Memory], zone: tzinfo) -> list[Dated]:
    return [
        dated
        for memory in memories
        for span in sentences_of(memory.content)
        if not span.is_code
        for dated in dates_of(
            memory.content[span.start : span.stop], said=memory.valid_from, source=memory.id, zone=zone
        )
    ]
