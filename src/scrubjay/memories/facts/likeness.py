"""Near-duplicates: whether two texts tell the same fact, by the agreement of words and of meaning. Pure functions.

Neither is enough alone. Vectors find "a man" and "a woman" alike, and words find "yes to this, no to that" and "no to
this, yes to that" alike. docs/decisions/0012-near-duplicates.md tells how the bounds were measured.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from scrubjay.memories.facts.gist import Gist, gist_of, is_same_word, left_over
from scrubjay.model.opposites import are_opposed

SAME_SIMILARITY: Final = 0.92
"""The similarity from which two texts with the same telling words are the same fact. For MiniLM, a cosine of 0.95."""

ALIKE_SIMILARITY: Final = 0.85
ALIKE_WORDS: Final = 0.5
"""The similarity and the share of common telling words from which two texts may be the same fact."""

Verdict: TypeAlias = Literal["same", "alike", "different"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How alike two texts are, and what follows from it."""

    verdict: Verdict
    words: float
    """The share of telling words that both have, 0 to 1."""
    similarity: float | None
    """How close in meaning, 0 to 1, on the model's own scale; None when it could not be compared."""
    explanation: str


def likeness(one: str, other: str, similarity: float | None) -> Likeness:
    """Compare two texts whose meanings are this similar. Different numbers or a negation always make two facts."""
    return compare(gist_of(one), gist_of(other), similarity)


def compare(one: Gist, other: Gist, similarity: float | None) -> Likeness:
    """Compare two gists."""
    share = _share(one, other)
    measured = f"{share:.0%} of the telling words in common" + (
        f", similarity {similarity:.2f}" if similarity is not None else ""
    )

    def verdict(word: Verdict, because: str) -> Likeness:
        return Likeness(verdict=word, words=share, similarity=similarity, explanation=f"{because} ({measured})")

    if not one.words or not other.words:
        return verdict("different", "there are no words to compare")
    if (one.numbers, one.symbols) != (other.numbers, other.symbols):
        return verdict("different", "the numbers or symbols differ")
    if one.is_negated != other.is_negated:
        return verdict("different", "one of them is negated")
    only_one, only_other = left_over(one, other)
    # Word for word: product and production, Marta and Martha are nearly the same, and that is not enough to merge.
    has_same_words = one.telling == other.telling and not are_opposed(one.spoken, other.spoken)
    if has_same_words and _is_confirmed(one, other, similarity):
        return verdict("same", "the same words and the same meaning")
    is_close = similarity is not None and similarity >= ALIKE_SIMILARITY and share >= ALIKE_WORDS
    if is_close or (has_same_words and similarity is None and _is_in_order(one, other)):
        extra = ", ".join(sorted(only_one | only_other))
        return verdict("alike", f"nearly the same, but for {extra}" if extra else "nearly the same")
    return verdict("different", "they tell different things")


def _is_confirmed(one: Gist, other: Gist, similarity: float | None) -> bool:
    """Whether meaning agrees, and the order of the words where they have a direction."""
    if one.words == other.words:
        return True  # Nothing but case, endings and punctuation lies between them.
    if similarity is None or similarity < SAME_SIMILARITY:
        return False
    return _is_in_order(one, other) or not (one.is_directed or other.is_directed)


def _is_in_order(one: Gist, other: Gist) -> bool:
    return len(one.order) == len(other.order) and all(map(is_same_word, one.order, other.order))


def _share(one: Gist, other: Gist) -> float:
    only_one, only_other = left_over(one, other)
    common = len(one.telling) - len(only_one)
    return common / (common + len(only_one) + len(only_other)) if one.telling and other.telling else 0.0
