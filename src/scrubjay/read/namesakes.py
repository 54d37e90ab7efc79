"""Namesakes: documents whose first line is like that of a long question.

A report says in its title what it is about, and the rest is half what every report has. Meaning compares the title with
whole passages; here the titles meet each other, word by word.
"""

from collections.abc import Sequence
from math import log, sqrt
from typing import Final

from scrubjay.model import Memory
from scrubjay.model.words import terms_of
from scrubjay.read.forms import READ, stem_of
from scrubjay.read.understand import OPENING, Question

NAMESAKE: Final = 0.3
"""What one standard deviation of the likeness of titles counts.

Measured on the dev part of the sets: R@10 on past tasks 0.439 → 0.452 and nDCG 0.429 → 0.446; R@1 on duplicate issues
0.417 → 0.496 and nDCG 0.702 → 0.725. From 0.2 to 0.4 all but that R@1 stay within a point and a half.
"""

LEAST_SPREAD: Final = 0.02
"""Titles that are closer together than this are all alike, or none is."""


def namesakes(memories: Sequence[Memory], question: Question) -> list[float] | None:
    """For each memory, how many standard deviations its title is more like the question's than theirs are on average.

    None when the question has no title. A rare word that both have counts more, and one that only the memory's has
    makes it less alike.
    """
    if not question.title or not memories:
        return None
    asked = {stem_of(term) for term in terms_of(question.title)}
    contents = [memory.content[:READ].lower() for memory in memories]
    many = len(contents)
    worths = {stem: _worth(sum([stem in content for content in contents]), many) for stem in asked}
    whole, other = sum(worths.values()), _worth(1, many)
    likenesses = [_likeness(_title(memory), worths, whole=whole, other=other) for memory in memories]
    mean = sum(likenesses) / many
    spread = sqrt(sum([(likeness - mean) ** 2 for likeness in likenesses]) / many)
    return [(likeness - mean) / max(LEAST_SPREAD, spread) for likeness in likenesses]


def _title(memory: Memory) -> set[str]:
    """The words of its first line, when that is short enough for a title. A turn of talk has none."""
    line, _, _ = memory.content[: OPENING + 1].lstrip().partition("\n")
    if memory.position is not None or len(line) > OPENING:
        return set()
    return {stem_of(term) for term in terms_of(line)}


def _likeness(title: set[str], asked: dict[str, float], *, whole: float, other: float) -> float:
    """The cosine of two titles, 0 to 1. `asked` has the worth of each word of the one, `other` is that of any else."""
    shared = sum([asked[stem] for stem in title if stem in asked])
    if not shared:
        return 0.0
    rest = other * sum([stem not in asked for stem in title])
    return shared / sqrt(whole * (shared + rest))


def _worth(having: int, many: int) -> float:
    """What a word counts: the fewer of all have it, the more."""
    return log(1 + (many - having + 0.5) / (having + 0.5)) ** 2
