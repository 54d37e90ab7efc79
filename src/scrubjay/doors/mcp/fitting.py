"""Fitting: how much is shown of each text, so that an answer keeps to its budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeVar

from scrubjay.model.checks import check_whole

MOST: Final = 100_000
"""Tokens that may be asked for. Few models read more, and all of it is counted while others wait for their answers."""

ROOM: Final = 3_000
"""Tokens of an answer unless it is asked for otherwise: ten memories of a long paragraph each are whole."""

ECHO: Final = 300
"""Tokens that are told of what was just told to us."""

LEAST: Final = 120
"""Tokens without which an entry is not begun: what is said about it takes half of them."""

CUT: Final = "…"
"""Stands where something is left out."""

_WIDEST: Final = 8
"""Characters of one token at most, on average. What is longer by that is too long, and need not be counted."""

_SAMPLE: Final = 8_000
"""Characters of a text that say how many tokens all of it has, about: enough to share out the room, not to fill it."""

_SPARE: Final = 50
"""One of so many tokens may stay free where a text is cut: to find the very last word takes many counts."""

_WORD: Final = 100
"""Characters of a word at most. What goes on for longer, as Chinese does, is cut anywhere."""


_TRIES: Final = 6
"""How often a part is made shorter until it fits where it is written."""

T = TypeVar("T")


class Entry(Protocol):
    """One of several things that an answer holds."""

    @property
    def whole(self) -> str:
        """All of it, as it would be written."""

    def within(self, most: int, room: "Room") -> Self:
        """The same, cut to so many tokens where it is longer."""


E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The tokens that an answer may take, and who counts them."""

    budget: int
    count: Callable[[str], int]

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=1, most=MOST)

    def cost(self, text: str) -> int:
        """The tokens of a text; of one that is far too long, more than the budget."""
        return self.count(text) if len(text) <= _WIDEST * self.budget else self.budget + 1

    def fits(self, text: str, most: int) -> bool:
        """Whether a text has at most so many tokens."""
        if len(text) > _WIDEST * self.budget or len(text) > max(_SAMPLE, _WIDEST * most):
            return False
        # All of it is counted: what begins with prose may go on with what has four times as many.
        return self.count(text) <= most

    def cut(self, text: str, most: int) -> str:
        """The text, or the beginning of it that has at most so many tokens and ends with a word where it can."""
        kept = self._beginning(text[: _WIDEST * max(0, most)], most)
        if len(kept) == len(text) or text[len(kept)].isspace():
            return kept
        words = kept.rsplit(None, 1)
        return words[0] if len(words) > 1 and len(words[1]) <= _WORD else kept

    def _beginning(self, text: str, most: int) -> str:
        """As many characters of it as have so many tokens, or nearly."""
        long, cost = len(text), self.count(text)
        if cost <= most:
            return text
        short, used, halves = 0, 0, False
        while long - short > 1 and most - used > most // _SPARE:
            # Where the tokens are as dense everywhere, the first guess is good; where they are not, halves are found.
            guess = (long - short) // 2 if halves else (long - short) * (most - used) // (cost - used)
            halves = not halves
            middle = short + min(max(1, guess), long - short - 1)
            if (counted := self.count(text[:middle])) > most:
                long, cost = middle, counted
            else:
                short, used = middle, counted
        return text[:short]

    def marked(self, text: str, most: int) -> str:
        """The same, with a mark where it was cut."""
        kept = self.cut(text, most)
        return text if len(kept) == len(text) else f"{kept} {CUT}"

    def shrunk(self, made: Callable[[int], T], left: int, most: int) -> T:
        """What `made` makes of the most tokens of a content, up to `left`, that is written in at most `most` tokens.

        Its lines are indented where they are written, which takes tokens that nobody knows before.
        """
        found = made(left)
        for _ in range(_TRIES):
            cost = self.cost(f"\n{found}")
            if cost <= most or left <= 0:
                break
            left = left * most // cost - 1
            found = made(left)
        return found

    def first(self, texts: Sequence[str], most: int) -> list[str]:
        """As many of the texts, from the first on, as have at most so many tokens."""
        kept: list[str] = []
        for text in texts:
            most -= self.cost(text)
            if most < 0:
                break
            kept.append(text)
        return kept

    def fit(self, entries: Sequence[E], written: Callable[[Sequence[E]], str]) -> list[E]:
        """The entries, from the first on, that there is room for: `written` says how they are written together.

        What is short is whole, and what is long shares the room that is left.
        """
        costs = [self._about(f"\n1. {entry.whole}") for entry in entries]
        many, used = 0, 0
        while many < len(costs) and (used := used + min(costs[many], LEAST)) <= self.budget:
            many += 1
        most = share(costs[:many], self.budget)
        while True:
            fitting = [entry.within(most, self) for entry in entries[:many]]
            # Parts counted one by one may count less than the same parts together, so only the whole is proof.
            taken = self.count(written(fitting)) if many else 0
            if taken <= self.budget:
                return fitting
            if most > LEAST:
                # What each takes is known by now, so the long ones share what is really left.
                shown = [self.cost(f"\n1. {entry.whole}") for entry in fitting]
                left = self.budget - max(0, taken - sum(shown))
                most = max(LEAST, min(share(shown, left), most - max(1, most // 100)))
            else:
                # When none is long, some are left out.
                excess = taken - self.budget
                many -= max(1, many * excess // (2 * taken))

    def _about(self, text: str) -> int:
        """How many tokens a text has, by its beginning; of one that is far too long, more than the budget."""
        if len(text) <= _SAMPLE or len(text) > _WIDEST * self.budget:
            return self.cost(text)
        return self.count(text[:_SAMPLE]) * len(text) // _SAMPLE


def share(costs: Sequence[int], budget: int) -> int:
    """The most that one of these may cost, so that all together keep to the budget."""
    left = budget
    for taken, cost in enumerate(sorted(costs)):
        others = len(costs) - taken
        if cost * others > left:
            return left // others
        left -= cost
    return budget
