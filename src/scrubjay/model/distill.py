"""What is left of episodes when they are distilled: a summary, candidates for facts, and who and when they speak of."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_content, check_fraction, check_moment, check_name, check_order, shown
from scrubjay.model.facts import FactType
from scrubjay.model.memory import Trust

EXTRACTIVE: Final = "extractive"
"""The method that needs no language model: every sentence is one that somebody wrote."""

EntityKind: TypeAlias = Literal["name", "code", "version", "url", "email", "handle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """Words that name a time, and the stretch of time they mean, counted from when they were said."""

    text: str
    start: datetime
    end: datetime
    """The first moment after it."""
    source: UUID
    is_relative: bool = False
    """Whether the words alone do not say it: `yesterday` does not, `8 May 2023` does."""

    def __post_init__(self) -> None:
        check_content(self.text)
        check_moment("start", self.start)
        check_moment("end", self.end)
        check_order("start", self.start, "end", self.end)

    @property
    def days(self) -> str:
        """The days that it means, as briefly as ISO writes them: a day, a month, a year, or the first and the last."""
        first, last = self.start.date(), (self.end - timedelta(microseconds=1)).date()
        if first == last:
            return first.isoformat()
        if (first.day, (last + timedelta(days=1)).day) != (1, 1) or first.year != last.year:
            return f"{first}/{last}"
        if first.month == last.month:
            return f"{first:%Y-%m}"
        return f"{first:%Y}" if (first.month, last.month) == (1, 12) else f"{first}/{last}"

    def __str__(self) -> str:
        return f"{self.text} = {self.days}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence as it stands in its source: `content[start:stop]` there."""

    text: str
    source: UUID
    start: int
    stop: int
    score: float = 0.0
    """How much it says of all that was said: it orders the sentences of one summary."""

    def __post_init__(self) -> None:
        if not self.text.strip() or self.stop - self.start != len(self.text):
            raise InvalidInput(f"a sentence is {shown(self.text)} at {self.start} to {self.stop}: give the text there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What was said, in fewer words. Its tokens are counted, and never more than were allowed."""

    text: str
    tokens: int
    sources: tuple[UUID, ...]
    """The memories that it is made from, in their order."""
    trust: Trust
    """That of the least trusted of them."""
    sentences: tuple[Sentence, ...] = ()
    """What was taken from the sources, in their order; empty when a language model wrote the summary."""

    def __post_init__(self) -> None:
        check_content(self.text)
        _check_sources(self.sources)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFact:
    """Something that somebody stated, and that may be worth keeping as a fact."""

    content: str
    """What was stated, as it was said."""
    type: FactType
    subject: str
    """Whom or what it is about: who said it, unless it speaks of something else."""
    value: str
    """What is preferred, used or called so: the part of the content that another statement would change."""
    key: str | None = None
    """A name to keep it under, such as `pref:indent`; None when nothing names it safely."""
    confidence: float
    """How sure it is that this was stated and holds on, from 0 to 1."""
    is_negated: bool = False
    """Whether it says what is not so, or not to be done."""
    replaces: str | None = None
    """What it says was so before, when it corrects something."""
    trust: Trust
    sources: tuple[UUID, ...]
    said_at: datetime
    """When it was said, which is since when it holds unless a date in it says otherwise."""
    dates: tuple[Dated, ...] = ()

    def __post_init__(self) -> None:
        check_content(self.content)
        check_content(self.value)
        check_name("subject", self.subject)
        check_name("key", self.key)
        check_fraction("confidence", self.confidence)
        check_moment("said_at", self.said_at)
        _check_sources(self.sources)

    def __repr__(self) -> str:
        return f"<CandidateFact {self.confidence:.2f} {self.type.value} {self.key or ''} {self.content[:60]!r}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Somebody or something that was named."""

    name: str
    kind: EntityKind
    mentions: int
    sources: tuple[UUID, ...]

    def __post_init__(self) -> None:
        check_content(self.name)
        _check_sources(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What is left of some episodes. Everything in it names the memories that it comes from."""

    summary: Summary | None
    """None when there is nothing to say, or no room to say it."""
    facts: tuple[CandidateFact, ...] = ()
    """The surest first. Of two with one key, only what was said last."""
    entities: tuple[Entity, ...] = ()
    """Those named most often first."""
    dates: tuple[Dated, ...] = ()
    """In the order they were said."""
    method: str = EXTRACTIVE
    """`extractive`, or the language model that wrote the summary."""
    dropped: tuple[str, ...] = ()
    """What a language model claimed and the sources do not say, each with the reason."""
    degraded: tuple[str, ...] = ()
    """`chat` when a language model was configured and could not be used: this is the extractive result."""
    why: str = ""
    """With `degraded`: what was wrong, in one sentence."""
    sources: tuple[UUID, ...] = ()
    """Every memory that was read, in order."""


def _check_sources(sources: tuple[UUID, ...]) -> None:
    if not sources:
        raise InvalidInput("sources is empty: name the memories that it comes from")
