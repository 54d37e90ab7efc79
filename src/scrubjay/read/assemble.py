"""Assemble: what an agent should know before it acts, written so that it fits its token budget.

What always holds comes first and in a fixed order, so that the beginning of a prompt stays the same from question to
question and prompt caches hit. What the question found follows, then what came from outside, and the newest turns last.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from uuid import UUID

from scrubjay.model import STANDING_KINDS, Context, Memory, Trust
from scrubjay.model.context import Form
from scrubjay.ports import Tokens
from scrubjay.read.diversify import Gist
from scrubjay.read.headings import ALSO, OUTSIDE, RECENT, STANDING
from scrubjay.read.likes import Alike, counted, done_in, gathered
from scrubjay.read.ordering import merged, strands_of
from scrubjay.read.page import Arranged, Offer, Page, best_first, offer
from scrubjay.read.passages import beginnings_of, passage_of
from scrubjay.read.render import FORMS
from scrubjay.read.rerank import Ranked

STANDING_SHARE: Final = 0.5
"""What always holds may fill this share of the budget at the beginning. What is left of it comes behind the answers."""

RECENT_SHARE: Final = 0.25
"""The newest turns may fill this share before the answers."""

SECTION_SHARE: Final = 0.5
"""One section may fill this share of the room for answers before the others have had their turn."""


class LeftOut(NamedTuple):
    """A memory that is not written, and why."""

    offer: Offer
    why: str


def assemble(
    *,
    standing: Sequence[Memory] = (),
    ranked: Sequence[Ranked] = (),
    recent: Sequence[Memory] = (),
    live: Sequence[Memory] = (),
    budget: int,
    tokens: Tokens,
    degraded: tuple[str, ...] = (),
    as_: Form = "markdown",
    warnings: Mapping[UUID, str] | None = None,
) -> Context:
    """Write as much as fits: `standing` always holds, `ranked` was found (best first), `recent` just happened.

    `live` is what the session still holds of it, in its order. The whole text never counts more tokens than the budget.
    A memory is written once, and what says the same as another one is not written. Of memories with one key, that of a
    narrower scope overrides that of a scope around it. What is not written is in `left_out`, with the reason.
    A memory that has a warning is written with it.
    """
    form = FORMS[as_]
    woven = merged([*strands_of(recent), live], lambda memory: memory.valid_from)
    happened = list({memory.id: memory for memory in woven}.values())

    def noted(memory: Memory, passage: str | None = None) -> str:
        said = memory.content if passage is None else passage
        warning = warnings.get(memory.id) if warnings else None
        return f"{said.rstrip()}\n(stale: {warning})" if warning else said

    def answered(one: Ranked, more: Alike | None = None) -> Offer:
        said = noted(one.memory, passage_of(one.memory, one.start, one.stop))
        passage = said if more is None else f"{said.rstrip()}\n({more})"
        return offer(one.memory, tokens, why=one.why, passage=passage, score=one.score, form=form)

    def shortened(one: Ranked) -> Iterator[Offer]:
        for passage in beginnings_of(one.memory, passage_of(one.memory, one.start, one.stop)):
            said = noted(one.memory, passage)
            yield offer(one.memory, tokens, why=one.why, passage=said, score=one.score, form=form)

    always = [
        offer(one, tokens, why="always holds", passage=noted(one), form=form) for one in _weightiest_first(standing)
    ]
    found = [answered(one) for one in ranked]
    latest = [
        offer(one, tokens, why="recent", section=RECENT, passage=noted(one), form=form) for one in reversed(happened)
    ]
    overridden = _overridden([*always, *found, *latest])
    always, latest, found = _once(overridden, always, latest, found)
    found, likes = _one_for_its_likes(found, {one.memory.id: one for one in ranked}, answered)
    always, found, repeated = _without_repetitions(always, latest, found)

    page = Page(budget, tokens, arranged=_arranged(happened), form=form)
    page.write(always, upto=int(budget * STANDING_SHARE))
    # The beginning must not depend on the question, so what did not fit goes elsewhere if there is room after all.
    always = [one if one.memory.id in page.offers else _moved_back(one) for one in always]
    page.write(latest, upto=page.used + int(budget * RECENT_SHARE))
    page.write(_in_turn(found, budget - page.used), upto=budget)
    if found and page.offers.keys().isdisjoint(one.memory.id for one in found):
        # Better the beginning of the best answer than none at all.
        page.write_longest(shortened(next(one for one in ranked if one.memory.id == found[0].memory.id)))
    page.write([*always, *latest], upto=budget)
    page.fit()
    text = page.text()
    unwritten = [one for one in (*always, *found, *latest) if one.memory.id not in page.offers]
    left_out = [
        *(LeftOut(one, f"no room: it needs {one.tokens} tokens") for one in unwritten),
        *(LeftOut(one, f"overridden by {winner.scope}") for one, winner in overridden.values()),
        *repeated,
        *likes,
    ]
    return Context(
        text=text,
        tokens=tokens.count(text) if text else 0,
        budget=budget,
        items=tuple(one.item() for one in page.in_order()),
        left_out=tuple(one.offer.item(one.why) for one in left_out),
        degraded=degraded,
        as_=as_,
    )


def _arranged(happened: Sequence[Memory]) -> Arranged:
    """How a section is read: what always holds by key and age, turns in the order they came, answers best first."""
    places = {memory.id: place for place, memory in enumerate(happened)}

    def arranged(section: str, offers: Iterable[Offer]) -> list[Offer]:
        inside = best_first(section, offers)
        if section in (*STANDING, ALSO):
            inside.sort(key=lambda one: (one.memory.key or "\uffff", one.memory.created_at, one.memory.id))
        elif section == RECENT:
            inside.sort(key=lambda one: places[one.memory.id])
        return inside

    return arranged


def _moved_back(offer: Offer) -> Offer:
    return offer if offer.section == OUTSIDE else replace(offer, section=ALSO)


def _in_turn(found: Sequence[Offer], room: int) -> list[Offer]:
    """The answers, best first, but what would let one section fill more than its share comes behind all others."""
    most, spent = int(room * SECTION_SHARE), Counter[str]()
    first: list[Offer] = []
    behind: list[Offer] = []
    for one in found:
        if spent[one.section] + one.tokens <= most:
            spent[one.section] += one.tokens
            first.append(one)
        else:
            behind.append(one)
    return first + behind


def _one_for_its_likes(
    found: Sequence[Offer], ranked: Mapping[UUID, Ranked], answered: Callable[[Ranked, Alike], Offer]
) -> tuple[list[Offer], list[LeftOut]]:
    """The answers with one task for all that were nearly the same, saying how many; and those it stands for."""
    kept: list[Offer] = []
    left: list[LeftOut] = []
    for one, likes in gathered(found, lambda offer: done_in(offer.memory)):
        more = counted([done_in(like.memory) for like in likes])
        kept.append(answered(ranked[one.memory.id], more) if likes else one)
        left += [LeftOut(like, f"like {one.memory.id}, which stands for it") for like in likes]
    return kept, left


def _weightiest_first(standing: Iterable[Memory]) -> list[Memory]:
    """Who goes first when not all of it fits: the important, then rules before tastes, then narrow before wide."""
    return sorted(
        standing,
        key=lambda memory: (
            -memory.importance,
            _kind_order(memory),
            memory.scope.breadth,
            memory.created_at,
            memory.id,
        ),
    )


def _kind_order(memory: Memory) -> int:
    return STANDING_KINDS.index(memory.kind) if memory.kind in STANDING_KINDS else len(STANDING_KINDS)


def _overridden(offers: Sequence[Offer]) -> dict[UUID, tuple[Offer, Memory]]:
    """Each offer whose key is also held by a narrower scope, with the memory that overrides it."""
    keyed: dict[str, list[Memory]] = {}
    for one in offers:
        if one.memory.key is not None:
            keyed.setdefault(one.memory.key, []).append(one.memory)
    losers: dict[UUID, tuple[Offer, Memory]] = {}
    for one in offers:
        memory = one.memory
        rivals = [rival for rival in keyed.get(memory.key or "", ()) if _overrides(rival, memory)]
        if rivals:
            losers.setdefault(memory.id, (one, min(rivals, key=lambda rival: rival.scope.breadth)))
    return losers


def _overrides(rival: Memory, memory: Memory) -> bool:
    is_narrower = memory.scope != rival.scope and memory.scope.holds(rival.scope)
    # A stranger's words override nobody's but a stranger's.
    return is_narrower and _may_stand_for(rival, memory)


def _may_stand_for(one: Memory, other: Memory) -> bool:
    return one.trust is not Trust.FOREIGN or other.trust is Trust.FOREIGN


def _once(overridden: Mapping[UUID, object], *lists: list[Offer]) -> list[list[Offer]]:
    """The lists without what is overridden, and each memory only where it comes first."""
    seen = set(overridden)
    kept: list[list[Offer]] = []
    for offers in lists:
        kept.append(fresh := [])
        for one in offers:
            if one.memory.id not in seen:
                seen.add(one.memory.id)
                fresh.append(one)
    return kept


def _without_repetitions(
    always: Sequence[Offer], latest: Sequence[Offer], found: Sequence[Offer]
) -> tuple[list[Offer], list[Offer], list[LeftOut]]:
    """What always holds and what was found, without what says the same as something before it, and what that was.

    Turns of a conversation may repeat each other, and stay.
    """
    repeated: list[LeftOut] = []
    said: dict[str, Memory] = {}
    kept: list[Offer] = []
    for one in always:
        # To the letter, but for case and space: two rules that differ in a word are two rules.
        words = " ".join(one.memory.content.casefold().split())
        first = said.setdefault(words, one.memory)
        if first is not one.memory and _may_stand_for(first, one.memory):
            repeated.append(LeftOut(one, f"says the same as {first.id}"))
        else:
            kept.append(one)
    seen = _Said()
    for one in (*kept, *latest):
        seen.add(Gist(one.memory.content), one.memory)
    answers: list[Offer] = []
    for one in found:
        if done_in(one.memory) is not None:
            # Tasks were compared by what was to be done, and one of those that are left stands for its likes.
            answers.append(one)
            continue
        gist = Gist(one.memory.content)
        if (before := seen.like(gist, one.memory)) is not None:
            repeated.append(LeftOut(one, f"says the same as {before.id}"))
        else:
            seen.add(gist, one.memory)
            answers.append(one)
    return kept, answers, repeated


class _Said:
    """What was said so far, and whether something says it again."""

    def __init__(self) -> None:
        self._by_mark: dict[str, list[tuple[Gist, Memory]]] = {}

    def add(self, gist: Gist, memory: Memory) -> None:
        """Take note of it."""
        for mark in gist.marks():
            self._by_mark.setdefault(mark, []).append((gist, memory))

    def like(self, gist: Gist, memory: Memory) -> Memory | None:
        """The memory that says the same, and may stand for this one."""
        for mark in gist.marks():
            for known, other in self._by_mark.get(mark, ()):
                if _may_stand_for(other, memory) and gist.repeats(known):
                    return other
        return None
