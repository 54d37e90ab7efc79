"""Framing: a question about all that was said, without the words that only say what kind of answer is wanted.

"Can you list the order in which I brought up different aspects of my collaboration with Carla?" looks for turns about a
collaboration with Carla. Whole, it finds those that ask for lists, and speak of orders and of aspects.
"""

import re
from typing import Final

from scrubjay.model.words import STOP_WORDS

LONGEST: Final = 400
"""Characters of a question whose framing is left out. What is longer tells, and frames little."""

_ASKS_FOR_ALL: Final = re.compile(
    r"\b(?:summary|overview|recap|timeline) of\b|\bsummari[sz]e\b|\border in which\b|\bbrought up\b"
    r"|\bour (?:conversations?|chats?|discussions?)\b",
    re.IGNORECASE,
)
_OF_US: Final = re.compile(r"\b(?:I|me|my|we|us|our)\b", re.IGNORECASE)
"""Somebody asks for what they said. Without any of these, a summary may be what is looked for."""

_FRAMING: Final = frozenset(
    """across aspect aspects brief briefly brought change changed chat chats chronological clear complete comprehensive
    concise conversation conversations cover covered describe detailed develop developed different discuss discussed
    discussion discussions eight everything evolve evolved far five four full give go gone help i've including item
    items key list mention mentioned nine only order outline over overview please progress progressed provide quick
    recap related remind sequence seven short show six summaries summarise summarised summarize summarized summary talk
    talked tell ten thorough three through throughout time timeline topic topics two various walk way ways we've
    """.split()  # noqa: SIM905 -- a list of 90 strings reads worse
)

_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+")
_WORD: Final = re.compile(r"(?<!['’.\-])[\w'’.\-]*\w")


def sought(question: str) -> str:
    """What a question looks for: the question itself, unless it asks for all that was said about something.

    Of such a one, each sentence is read from its first telling word to its last, without the framing in between. One
    that is all framing looks for itself. Measured on the dev part of BEAM, R@5 0.586 → 0.604, R@10 0.701 → 0.714.
    """
    if (
        len(question) > LONGEST
        or "\n" in question
        or _ASKS_FOR_ALL.search(question) is None
        or _OF_US.search(question) is None
    ):
        return question
    kept: list[str] = []
    for sentence in _SENTENCE_END.split(question):
        words = _WORD.findall(sentence.replace("’", "'"))
        telling = [place for place, word in enumerate(words) if _tells(word)]
        if telling:
            kept += [word for word in words[telling[0] : telling[-1] + 1] if word.lower() not in _FRAMING]
    return " ".join(kept) or question


def _tells(word: str) -> bool:
    return word.lower() not in _FRAMING and word.lower() not in STOP_WORDS
