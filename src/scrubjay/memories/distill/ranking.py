"""Which sentences say most: rare words, names, numbers and dates, in a person's own words, for the room they take.

Measured on real conversations (benchmarks/distill): sentences near the centre, which summaries of news are made of,
keep fewer of the words that are asked about later than sentences chosen at random. People ask for what was said once.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import TYPE_CHECKING, Final

from scrubjay.memories.distill.sentences import sentences_of
from scrubjay.memories.facts.gist import stem
from scrubjay.model import Memory, Trust
from scrubjay.model.distill import Dated
from scrubjay.model.words import STOP_WORDS, words_of

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

_QUESTION: Final = 0.3
_OWN: Final = 1.4
_DATED: Final = 1.5
_SPECIFIC: Final = 0.3
_MOST_SPECIFIC: Final = 6
_FIRST: Final = 1.0
"""How much more the very first sentence counts; the second half of that, and so on: people begin with the matter."""
_TRUST: Final = {Trust.TOLD: 1.0, Trust.CONCLUDED: 0.4, Trust.OBSERVED: 0.4, Trust.FOREIGN: 0.3}

_NAME: Final = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ]\w+|`[^`]+`")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_FIRST_PERSON: Final = re.compile(r"\b(?:I|my|mine|we|our|ours|me|us)\b")


@dataclass(slots=True)
class Ranked:
    """A sentence with what it is judged by."""

    memory: Memory
    start: int
    stop: int
    text: str
    words: dict[str, float] = field(default_factory=dict)
    """Its telling words, as a vector of unit length: the rarer among all, the more."""
    told: float = 0.0
    """How much its words tell, together."""
    dates: tuple[Dated, ...] = ()
    vector: "Matrix | None" = None
    score: float = 0.0

    def alike(self, other: "Ranked") -> float:
        """How much it says what the other says, from 0 to 1."""
        few, many = sorted((self.words, other.words), key=len)
        by_words = sum(weight * many.get(word, 0.0) for word, weight in few.items())
        if self.vector is None or other.vector is None:
            return by_words
        return max(by_words, float(self.vector @ other.vector))


def ranked(memories: Sequence[Memory], dates: Sequence[Dated]) -> list[Ranked]:
    """Every sentence that could stand in a summary, in order, with its score. Code and quotations are left out."""
    found = [
        Ranked(memory, span.start, span.stop, memory.content[span.start : span.stop])
        for memory in memories
        for span in sentences_of(memory.content)
        if not span.is_code and not span.is_quoted
    ]
    speakers = {word for memory in memories for word in _stems(memory.speaker)}
    _weigh(found, speakers)
    dated: dict[object, list[Dated]] = {}
    for one in dates:
        dated.setdefault(one.source, []).append(one)
    for place, sentence in enumerate(found):
        sentence.dates = tuple(one for one in dated.get(sentence.memory.id, ()) if one.text in sentence.text)
        sentence.score = _score(sentence, speakers) * (1 + _FIRST / (1 + place))
    return found


def _weigh(sentences: Sequence[Ranked], speakers: set[str]) -> None:
    """Give every word the weight of its rareness among these sentences. The names of those who talk tell nothing."""
    spoken = [Counter(word for word in _stems(one.text) if word not in speakers) for one in sentences]
    having: Counter[str] = Counter()
    for words in spoken:
        having.update(words.keys())
    for sentence, words in zip(sentences, spoken, strict=True):
        rare = {word: log((len(sentences) + 1) / having[word]) for word in words}
        sentence.told = sum(rare.values())
        weights = {word: (1 + log(many)) * rare[word] for word, many in words.items()}
        length = sqrt(sum(weight * weight for weight in weights.values()))
        sentence.words = {word: weight / length for word, weight in weights.items()} if length else {}


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words_of(text) if word not in STOP_WORDS]


def _score(sentence: Ranked, speakers: set[str]) -> float:
    text = sentence.text
    names = [name for name in _NAME.findall(text) if not speakers.issuperset(_stems(name))]
    specific = min(_MOST_SPECIFIC, len(names) + len(_NUMBER.findall(text)))
    score = sentence.told * (1 + _SPECIFIC * specific) * _TRUST[sentence.memory.trust]
    if text.rstrip("\"'”’) ").endswith(("?", "？")):
        score *= _QUESTION
    if _FIRST_PERSON.search(text):
        score *= _OWN
    if sentence.dates:
        score *= _DATED
    return score
