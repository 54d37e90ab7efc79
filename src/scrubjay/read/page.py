"""Page: what is written so far, under its headings, within a token budget."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.model import ContextItem, Memory, Trust
from scrubjay.ports import Tokens
from scrubjay.read.headings import HEADINGS, OUTSIDE, heading_of
from scrubjay.read.render import FORMS, Block, Rendering

MARKDOWN: Final = FORMS["markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A memory as it would be written, and what that costs."""

    memory: Memory
    section: str
    text: str
    tokens: int
    why: str
    score: float | None = None

    def item(self, why: str = "") -> ContextItem:
        """What the manifest says of it."""
        return ContextItem(
            memory=self.memory, section=self.section, tokens=self.tokens, why=why or self.why, score=self.score
        )


def offer(
    memory: Memory,
    tokens: Tokens,
    *,
    why: str,
    section: str = "",
    passage: str = "",
    score: float | None = None,
    form: Rendering = MARKDOWN,
) -> Offer:
    """The memory as it would be written: under its own heading unless another is named."""
    # Whatever it calls itself: what a stranger could have written never stands among the rules.
    heading = OUTSIDE if memory.trust is Trust.FOREIGN else section or heading_of(memory)
    text = form.entry(memory, passage or memory.content, heading)
    # The newline before it is part of the cost.
    return Offer(memory=memory, section=heading, text=text, tokens=tokens.count(f"\n{text}"), why=why, score=score)


Arranged: TypeAlias = Callable[[str, Iterable[Offer]], list[Offer]]
"""The offers of one section, in the order they are read."""


def best_first(section: str, offers: Iterable[Offer]) -> list[Offer]:
    """The offers of one section by their score; those without one as they came."""
    return sorted((one for one in offers if one.section == section), key=lambda one: -(one.score or 0.0))


class Page:
    """What is written so far. `used` estimates its tokens; `fit` has the last word."""

    def __init__(
        self,
        budget: int,
        tokens: Tokens,
        *,
        sections: Sequence[str] = HEADINGS,
        arranged: Arranged = best_first,
        form: Rendering = MARKDOWN,
    ) -> None:
        self.budget = budget
        self.used = tokens.count(form.frame) if form.frame else 0
        self.offers: dict[UUID, Offer] = {}
        self._tokens = tokens
        self._sections = sections
        self._arranged = arranged
        self._form = form
        self._headings: set[str] = set()
        self._counted = 0

    def write(self, offers: Iterable[Offer], *, upto: int) -> None:
        """Write those of the offers that fit. A long one does not stop the shorter ones behind it."""
        for offer in offers:
            if offer.memory.id in self.offers:
                continue
            opened = offer.section in self._headings
            cost = offer.tokens + (0 if opened else self._tokens.count(self._form.opening(offer.section)))
            if self.used + cost > upto:
                self._count_again()
            if self.used + cost <= upto:
                self.offers[offer.memory.id] = offer
                self._headings.add(offer.section)
                self.used += cost

    def write_longest(self, offers: Iterable[Offer]) -> None:
        """Write the first of these that fits: one memory, shorter and shorter."""
        for one in offers:
            self.write([one], upto=self.budget)
            self.fit()
            if one.memory.id in self.offers:
                break

    def fit(self) -> None:
        """Take back what was written last until the whole text keeps to the budget."""
        # Parts counted one by one may count less than the same parts together, so only the whole is proof.
        while self.offers and self._tokens.count(self.text()) > self.budget:
            self.offers.popitem()

    def in_order(self) -> list[Offer]:
        """What is written, section by section, in the order it is read."""
        return [one for _, entries in self._blocks() for one in entries]

    def text(self) -> str:
        """The page as its form writes it."""
        blocks: list[Block] = [(heading, entries) for heading, entries in self._blocks()]
        return self._form.write(blocks)

    def _blocks(self) -> list[tuple[str, list[Offer]]]:
        arranged = ((section, self._arranged(section, self.offers.values())) for section in self._sections)
        return [(section, entries) for section, entries in arranged if entries]

    def _count_again(self) -> None:
        """Replace the estimate by the truth, once for every state of the page: counting all of it is not free."""
        if self.offers and self._counted != len(self.offers):
            self.used = self._tokens.count(self.text())
            self._counted = len(self.offers)
