"""An extractive summary: the sentences that say most for the room they take, none of them twice, in their order."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from scrubjay.memories.distill.ranking import Ranked
from scrubjay.model import Memory, Trust
from scrubjay.model.distill import Sentence, Summary
from scrubjay.ports import Tokens

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

Embed: TypeAlias = Callable[[Sequence[str]], "Matrix"]
"""Vectors of unit length for texts, one row for each: tells sentences that say one thing in other words."""

MOST_CHOSEN_FROM: Final = 1_500
"""Sentences that are compared with each other. There is no room for so many in any summary."""

_REPEATING: Final = 0.5
"""How much a sentence loses that another says already; one that repeats it whole is left out."""

_SAME: Final = 0.9
_OMITTED: Final = " … "


def summarize(sentences: Sequence[Ranked], *, tokens: Tokens, budget: int, embed: Embed | None) -> Summary | None:
    """The best summary of at most `budget` tokens; None when not one sentence fits."""
    costs = {id(one): max(1, tokens.count(_line([one]) + "\n")) for one in sentences if one.score > 0}
    worth = {id(one): one.score / costs[id(one)] for one in sentences if id(one) in costs}
    candidates = [one for one in sentences if costs.get(id(one), budget + 1) <= budget]
    candidates = sorted(candidates, key=lambda one: -worth[id(one)])[:MOST_CHOSEN_FROM]
    if embed is not None and candidates:
        for one, row in zip(candidates, embed([one.text for one in candidates]), strict=True):
            one.vector = row
    chosen = _chosen(candidates, worth=worth, costs=costs, budget=budget)
    order = {id(one): place for place, one in enumerate(sentences)}
    while chosen:
        kept = sorted(chosen, key=lambda one: order[id(one)])
        text = _text(kept)
        spent = tokens.count(text)
        if spent <= budget:
            return _summary(kept, text, spent)
        # Lines that were counted one by one can cost more together, so the whole has the last word.
        chosen.pop()
    return None


def _chosen(
    candidates: Sequence[Ranked], *, worth: dict[int, float], costs: dict[int, int], budget: int
) -> list[Ranked]:
    """The best for the room they take, best first, each judged by what those before it have not said."""
    chosen: list[Ranked] = []
    left = budget
    said = dict.fromkeys(map(id, candidates), 0.0)
    waiting = list(candidates)
    while waiting:
        best = max(waiting, key=lambda one: worth[id(one)] * (1 - _REPEATING * said[id(one)]))
        waiting.remove(best)
        left -= costs[id(best)]
        chosen.append(best)
        for one in waiting:
            said[id(one)] = max(said[id(one)], one.alike(best))
        waiting = [one for one in waiting if costs[id(one)] <= left and said[id(one)] < _SAME]
    return chosen


def _summary(kept: Sequence[Ranked], text: str, spent: int) -> Summary:
    memories = {one.memory.id: one.memory for one in kept}
    return Summary(
        text=text,
        tokens=spent,
        sources=tuple(memories),
        trust=Trust.least(memory.trust for memory in memories.values()),
        sentences=tuple(
            Sentence(text=one.text, source=one.memory.id, start=one.start, stop=one.stop, score=one.score)
            for one in kept
        ),
    )


def _text(kept: Sequence[Ranked]) -> str:
    return "\n".join(_line(list(group)) for _, group in groupby(kept, key=lambda one: one.memory.id))


def _line(sentences: Sequence[Ranked]) -> str:
    """What one memory says: who, the sentences with a mark where some are left out, and the dates that they mean."""
    said = "".join(_joined(sentences))
    meant = dict.fromkeys(str(one) for sentence in sentences for one in sentence.dates if one.is_relative)
    return f"{_speaker(sentences[0].memory)}{said}" + (f" [{'; '.join(meant)}]" if meant else "")


def _joined(sentences: Sequence[Ranked]) -> Iterator[str]:
    before: Ranked | None = None
    for one in sentences:
        if before is not None:
            yield " " if not one.memory.content[before.stop : one.start].strip(" \t\n-*•>#") else _OMITTED
        yield " ".join(one.text.split())
        before = one


def _speaker(memory: Memory) -> str:
    role = memory.data.get("role")
    name = memory.speaker or (role if isinstance(role, str) else memory.kind if memory.kind != "message" else "")
    return f"{name}: " if name else ""
