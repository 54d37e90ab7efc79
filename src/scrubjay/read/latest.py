"""Latest: which of those that answer alike is the newest, for a question that asks for that one."""

import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from scrubjay.model import Memory
from scrubjay.model.memory import MESSAGE_KIND, STANDING_KINDS
from scrubjay.read.forms import words_found
from scrubjay.read.fuse import Candidate
from scrubjay.read.times import says_when
from scrubjay.read.understand import OPENING, Question

LATEST: Final = 4.0
"""Added to the newest of those that answer alike, and a quarter of it to the next.

Not measured, for of 2,074 questions of the sets two ask so. As much as a time that is named counts.
"""

_LATEST: Final = re.compile(r"\b(?:latest|newest|most recent)\b", re.IGNORECASE | re.ASCII)
_ASKS: Final = re.compile(
    r"\W{0,3}(?:please |do you know )?"
    r"(?:(?:what|which|who|when|where|how|why)(?:['’]s| is| was| are| were| did| does| do| has| have)?"
    r"|did|does|was|were|show|tell|give|send|find|get|list|summari[sz]e)?(?: (?:me|us|about|to))*"
    r"(?: (?:the )?(?:name|number|version|date|status|state|result|outcome|title|content|author)s? of)?"
    r"(?: (?:the|our|my|your|their|this|\w+['’]s))* ?(?:the )?(?:latest|newest|most recent)\b",
    re.IGNORECASE | re.ASCII,
)
"""Beginnings of what asks for the latest of something. "Why do we pin no latest tag?" does not."""
_WAS: Final = re.compile(r"\b(?:was|were|did|happened)\b", re.IGNORECASE | re.ASCII)
_REQUEST: Final = re.compile(
    r"\?|\b(?:please|(?:tell|show|give|send) (?:me|us)|let me know|I (?:need|want))\b", re.IGNORECASE
)
"""What people write who ask somebody for something."""

_ASKING: Final = frozenset({"latest", "newest", "most", "recent"})
_FOLLOWERS: Final = 3


def asks_latest(question: Question) -> bool:
    """Whether it asks for the latest, the newest or the most recent of something."""
    return len(question.text) <= OPENING and _ASKS.match(question.text) is not None


def latest(found: Sequence[tuple[Candidate, Memory]], question: Question) -> dict[UUID, float]:
    """What is added to the newest of those that have most words of the question, newest first; nothing unless it asks.

    "What was the latest deploy?" is asked of what happened, so only events count where there are some. Else facts count
    as well. A rule is never the latest of something. One that is less relevant answers as well as those that have as
    many of the words, so it gets what the best is more relevant.
    """
    if not asks_latest(question):
        return {}
    _, alike = _alike(found, question)
    peers = [one for one in alike if one[1].kind not in STANDING_KINDS] or alike
    if _WAS.search(question.text):
        peers = [one for one in peers if says_when(one[1])] or peers
    best = max((candidate.relevance for candidate, _ in peers), default=0.0)
    newest = sorted(peers, key=lambda one: one[1].valid_from, reverse=True)[:_FOLLOWERS]
    return {
        memory.id: LATEST / 4**place + best - candidate.relevance for place, (candidate, memory) in enumerate(newest)
    }


def newest_alike(
    found: Sequence[tuple[Candidate, Memory]], newest: Sequence[Memory], question: Question
) -> list[Memory]:
    """Those of the newest that have as many words of the question as the best that were found."""
    most, _ = _alike(found, question)
    terms = _sought(question)
    return [one for one in newest if 0 < most <= len(words_found(terms, one.content)) and not _only_asks(one)]


def _alike(found: Sequence[tuple[Candidate, Memory]], question: Question) -> tuple[int, list[tuple[Candidate, Memory]]]:
    """How many words of the question the best have, and those that have so many."""
    terms = _sought(question)
    # Who asked the same before has all of its words, and no answer.
    answers = [(candidate, memory) for candidate, memory in found if not _only_asks(memory)]
    shared = [len(words_found(terms, memory.content)) for _, memory in answers]
    most = max(shared, default=0)
    return most, [one for many, one in zip(shared, answers, strict=True) if 0 < many == most]


def _sought(question: Question) -> list[str]:
    return [term for term in question.terms if term not in _ASKING]


def _only_asks(memory: Memory) -> bool:
    """Whether it asks for something itself: it ends in a question, or somebody said that they want the latest."""
    text = memory.content
    if text.rstrip().endswith("?"):
        return True
    return memory.kind == MESSAGE_KIND and _LATEST.search(text) is not None and _REQUEST.search(text) is not None
