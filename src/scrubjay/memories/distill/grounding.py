"""Whether the sources say what a language model claims they say: its names, numbers, dates and words, and its no."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Final
from uuid import UUID

from scrubjay.memories.distill.dates import dates_of
from scrubjay.memories.distill.sentences import sentences_of
from scrubjay.memories.distill.stated import own_words
from scrubjay.memories.facts.gist import Gist, gist_of
from scrubjay.model import Memory
from scrubjay.model.distill import Dated
from scrubjay.model.words import STOP_WORDS, words_of

LEAST_SHARE: Final = 0.6
"""Of the telling words of a claim, how many the sources have to hold."""

_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_CAPITAL: Final = re.compile(r"\b[A-ZÀ-Þ][\w’'-]*")
_NUMBERS: Final = dict(
    zip("one two three four five six seven eight nine ten eleven twelve".split(), map(str, range(1, 13)), strict=True)  # noqa: SIM905 -- a list of strings reads worse
)
_NOBODY: Final = UUID(int=0)
_PEOPLE: Final = frozenset("user users assistant agent tool system speaker team project person people they".split())  # noqa: SIM905 -- the same
"""How a model may call those who speak."""


class Ground:
    """What some memories say, to compare claims with. With `own`, only what people said in their own words counts."""

    def __init__(self, memories: Sequence[Memory], *, zone: tzinfo, own: bool = False) -> None:
        texts = [own_words(memory) if own else memory.content for memory in memories]
        speakers = " ".join(memory.speaker for memory in memories)
        everything = "\n".join(texts)
        self._zone = zone
        self._said = max((memory.valid_from for memory in memories), default=None)
        self._words = {*words_of(f"{everything} {speakers}")}
        self._stems = {*gist_of_long(everything).words, *gist_of_long(speakers).words}
        self._numbers = {*_numbers(everything)} | {_NUMBERS[word] for word in self._words & _NUMBERS.keys()}
        self._days = {
            _days(dated)
            for memory, text in zip(memories, texts, strict=True)
            for dated in dates_of(text, said=memory.valid_from, source=memory.id, zone=zone)
        } | {_on(memory.valid_from, zone) for memory in memories}
        self._sentences = [gist_of(text[span.start : span.stop]) for text in texts for span in sentences_of(text)]

    def fault(self, claim: str, *, is_sentence: bool = True) -> str | None:
        """Why the claim does not follow from the memories; None when nothing in it is new.

        What is no sentence, such as a single value, says neither yes nor no.
        """
        if self._said is None or not self._sentences:
            return "no source says anything"
        rest = claim
        # The source is only a name here: these dates are compared, not kept.
        for dated in dates_of(claim, said=self._said, source=_NOBODY, zone=self._zone):
            if _days(dated) not in self._days:
                return f"the date {dated.text!r} is in no source"
            rest = rest.replace(dated.text, " ")
        for number in _numbers(rest):
            if number not in self._numbers:
                return f"the number {number} is in no source"
        if (name := self._strange_name(rest)) is not None:
            return f"the name {name!r} is in no source"
        return self._strange_words(gist_of(rest), is_sentence=is_sentence)

    def _strange_name(self, claim: str) -> str | None:
        first = claim.lstrip()
        for match in _CAPITAL.finditer(claim):
            parts = words_of(match.group().removesuffix("'s").removesuffix("’s"))
            if not parts or all(part in self._words or part in STOP_WORDS or part in _PEOPLE for part in parts):
                continue
            # The first word may be a verb, "Prefers tea", if its stem is known. A name that nobody said is not.
            if first.startswith(match.group()) and {*gist_of(match.group()).words} <= self._stems:
                continue
            return match.group()
        return None

    def _strange_words(self, claim: Gist, *, is_sentence: bool) -> str | None:
        telling = claim.telling - _PEOPLE - {"user"}
        known = {word for word in telling if word in self._stems}
        if len(known) < LEAST_SHARE * len(telling):
            return f"{len(telling) - len(known)} of its {len(telling)} telling words are in no source"
        nearest = max(self._sentences, key=lambda sentence: len(sentence.telling & claim.telling))
        if is_sentence and nearest.telling & claim.telling and nearest.is_negated != claim.is_negated:
            return "its nearest source says the opposite"
        return None


def gist_of_long(text: str) -> Gist:
    """The gist of a text of any length."""
    parts = [gist_of(text[span.start : span.stop]) for span in sentences_of(text)] or [gist_of("")]
    return Gist(
        tuple(word for part in parts for word in part.words),
        tuple(word for part in parts for word in part.spoken),
        is_negated=False,
    )


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "").strip(".:") for number in _NUMBER.findall(text)]


def _days(dated: Dated) -> tuple[datetime, datetime]:
    return dated.start, dated.end


def _on(moment: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The day of a moment."""
    day: date = moment.astimezone(zone).date()
    start = datetime(day.year, day.month, day.day, tzinfo=zone)
    return start.astimezone(moment.tzinfo), (start + timedelta(days=1)).astimezone(moment.tzinfo)
