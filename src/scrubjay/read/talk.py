"""Talk: what is known of a turn when people talk to each other, beyond how alike it is to the question.

What is told to an assistant says by itself what it is about. Between people, half of the turns are "Wow!" and "How was
it?", the words of the question are spread over several turns, and everybody speaks of themselves.
"""

import re
from collections.abc import Iterable, Sequence
from math import log, log2
from typing import Final

from scrubjay.model import Memory
from scrubjay.read.forms import stem_of
from scrubjay.read.fuse import Candidate
from scrubjay.read.sessions import Session
from scrubjay.read.spoken import speaks_of_oneself
from scrubjay.read.understand import Question

PASSAGE: Final = 6.0
PASSAGE_TURNS: Final = 3
"""Added to a turn when it and the three turns on each side have all words of the question, and a share of it for some.

Rare words make up more of the whole. Measured on the dev part of LoCoMo, with 4: R@1 0.391 → 0.429, R@5 0.708 → 0.728,
sessions R@10 0.950 → 0.956; with 5 and 6 all of them stay within two points. Beside `ABOUT_OTHERS`, R@5 with 5 is 0.748
and with 6 0.756. The whole session instead of three turns finds as many sessions, and one point less of the turns.
"""

TOLD: Final = 1.5
FEWEST_TOLD: Final = 8
MOST_TOLD: Final = 64
USUAL_TOLD: Final = 32
"""Added for every doubling of the words that a turn has outside its questions, and taken away for every halving.

Fewer than 8 count as 8, more than 64 as 64. Both searches favour what is short: "Wow, a trip to Lisbon?" before the
answer. Measured on the dev part of LoCoMo: R@1 0.295 → 0.361, R@5 0.595 → 0.678, R@10 0.739 → 0.780.
"""

ABOUT_OTHERS: Final = -1.5
"""Added to a turn whose speaker says neither "I" nor "my": people are asked about, and tell of themselves.

"You must be so proud of it!" is long enough, and tells nothing. Of the best thirty for each question on the dev part of
LoCoMo, 4.9 % of the turns with one of the two are evidence, and 1.9 % of the others. Measured there: R@10 0.826 →
0.835, nDCG 0.643 → 0.655, sessions R@10 0.955 → 0.958; from -1 to -2, R@10 stays within a point. Where people talk in
another language, all turns lose alike.
"""

SPEAKER: Final = 0.75
"""Added to what somebody said who alone is named in the question: people are asked about what they told.

Measured on the dev part of LoCoMo, R@10: 0.806 → 0.811, though a quarter of its questions name the wrong person.
"""

WHEN: Final = 2.0
"""Added to a turn that speaks of a time when the question asks for one.

Measured on the dev part of LoCoMo: R@1 0.382 → 0.390, sessions R@10 0.941 → 0.947.
"""

FOREMOST: Final = 10
"""What is known of talk counts by its share of the first so many: who asks for a fact finds facts before any turn.

Measured with 222 hand-written memories beside 100 turns of each of four conversations of LoCoMo, on the dev part: R@1
of the facts 0.533 → 0.582 beside messages outside of sessions, 0.508 → 0.557 beside sessions, and R@10 of the talk
stays 0.865 and 0.918. With 20 and 50 all of them stay within a point. Where all is talk, nothing changes.
"""

_ASKS_WHEN: Final = re.compile(
    r"^\W*(?:when|how long)\b|\b(?:what|which) (?:date|day|week|month|year|time)\b", re.IGNORECASE
)

_TIMES: Final = (
    *("yesterday", "today", "tonight", "tomorrow", "recently", " just ", " ago", " last ", " next ", " past "),
    *("weekend", " week", " month", " year", " days", "monday", "tuesday", "wednesday", "thursday", "friday"),
    *("saturday", "sunday", "january", "february", " march ", "april", " june", " july", "august", "september"),
    *("october", "november", "december", "summer", "winter", " 20"),
)
"""What a turn has that speaks of a time. Looked for as it stands, which is many times faster than by a pattern."""

NOTHING: Final = (0.0, 0.0, 0.0)


def talk(
    found: Sequence[tuple[Candidate, Memory]], sessions: Sequence[Session | None], question: Question
) -> list[tuple[float, float, float]] | None:
    """For each memory, what is added for its passage, for what it tells, and for who tells it; None without any talk.

    `sessions` has the session of each, best first. What stands beside the talk has its own words counted as well, or a
    turn would outrank a fact for nothing. All of it counts by the share of the talk among the `FOREMOST`.
    """
    share = _share_of_talk(sessions[:FOREMOST])
    if not share:
        return None
    passages = _passages(found, sessions, question.terms)
    named = _named(found, question.terms)
    asks_when = _ASKS_WHEN.search(question.text) is not None
    parts = []
    for passage, session, (_, memory) in zip(passages, sessions, found, strict=True):
        if session is None or not session.between_people:
            parts.append((PASSAGE * passage * share, 0.0, 0.0))
            continue
        told = _told(memory.content)
        if asks_when and _speaks_of_a_time(memory.content):
            told += WHEN
        is_named = named is not None and memory.author == named
        parts.append((PASSAGE * passage * share, told * share, SPEAKER * share if is_named else 0.0))
    return parts


def _share_of_talk(sessions: Sequence[Session | None]) -> float:
    """How much of what these sessions are of is talk between people."""
    talking = sum([session is not None and session.between_people for session in sessions])
    return talking / len(sessions) if talking else 0.0


def _named(found: Sequence[tuple[Candidate, Memory]], terms: Sequence[str]) -> str | None:
    """The speaker whose name the question has, when it has only one."""
    speakers = {memory.author for _, memory in found if memory.author is not None and memory.speaker}
    named = [speaker for speaker in speakers if speaker.lower().partition(" ")[0] in terms]
    return named[0] if len(named) == 1 else None


def _told(content: str) -> float:
    words = content.count(" ") + 1
    if "?" in content:
        *asking, _ = content.split("?")
        # Of what stands before a question mark, the last sentence is the question.
        words -= sum(part[max(part.rfind("."), part.rfind("!"), part.rfind("\n")) + 1 :].count(" ") for part in asking)
    told = TOLD * log2(min(MOST_TOLD, max(FEWEST_TOLD, words)) / USUAL_TOLD)
    return told if speaks_of_oneself(content) else told + ABOUT_OTHERS


def _speaks_of_a_time(content: str) -> bool:
    text = f" {content.lower()} "
    return any(time in text for time in _TIMES)


def _passages(
    found: Sequence[tuple[Candidate, Memory]], sessions: Sequence[Session | None], terms: Sequence[str]
) -> list[float]:
    """For each memory, from 0 to 1: how much of the question it and the turns around it have."""
    stems = list(dict.fromkeys(map(stem_of, terms)))
    alone: list[int] = []
    sets: list[int] = []
    for session, (_, memory) in zip(sessions, found, strict=True):
        bits = _bits(f"{memory.author} {memory.content}" if memory.author else memory.content, stems)
        sets.append(bits)
        if session is None:
            alone.append(bits)
        else:
            session.words[memory.position or 0] = bits
    together = [_united(session.words.values()) for session in dict.fromkeys(sessions) if session is not None]
    worths = _worths(len(stems), [*together, *alone])
    shares: dict[int, float] = {}
    passages = []
    for own, session, (_, memory) in zip(sets, sessions, found, strict=True):
        bits = own
        if session is not None and memory.position is not None:
            words = session.words
            for position in range(memory.position - PASSAGE_TURNS, memory.position + PASSAGE_TURNS + 1):
                if position in words:
                    bits |= words[position]
        if bits not in shares:
            shares[bits] = sum(worth for place, worth in enumerate(worths) if bits >> place & 1)
        passages.append(shares[bits])
    return passages


def _united(sets: Iterable[int]) -> int:
    union = 0
    for bits in sets:
        union |= bits
    return union


def _worths(many: int, places: Sequence[int]) -> list[float]:
    """What each word is worth of the whole: the fewer sessions have it, the more."""
    having = [sum(bits >> place & 1 for bits in places) for place in range(many)]
    worths = [log(1 + (len(places) - have + 0.5) / (have + 0.5)) for have in having]
    whole = sum(worths)
    return [worth / whole for worth in worths]


def _bits(content: str, stems: Sequence[str]) -> int:
    """Which of the stems a word of the content begins with, as the bits of a number: those are united quickly."""
    text = content.lower()
    bits = 0
    for place, stem in enumerate(stems):
        at = text.find(stem)
        # Inside of a word it is another one.
        while at > 0 and text[at - 1].isalnum():
            at = text.find(stem, at + 1)
        if at >= 0:
            bits |= 1 << place
    return bits
