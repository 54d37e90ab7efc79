"""Corrections that name only the new value: "My favourite colour is blue." – "Actually no, it's green."."""

import re
from dataclasses import replace
from datetime import tzinfo
from typing import Final

from scrubjay.memories.distill.dates import dates_of
from scrubjay.memories.distill.rules import Rule
from scrubjay.model import Memory
from scrubjay.model.distill import CandidateFact

_MOST_WORDS: Final = 5
"""Words of a value, old or new. More is another statement."""

_TAKEN_BACK: Final = (
    r"(?:actually,? no|no,? actually|no,? wait|wait,? no|oh no|oh,? wait|wait|nope|correction|scratch that|my mistake"
    r"|oops|sorry|no,? sorry|sorry,? no|my bad)"
)
_CORRECTION: Final = re.compile(
    rf"^(?:{_TAKEN_BACK}[,:.!…–—-]* +)+(?:it['’]s|it is|it was|that['’]s|i meant|i mean|make that|make it|should be"
    r"|it should be) (?P<one>[^,;.!?]+)[.!]*$"
    r"|^(?:(?:actually|no)[, ]+)*i meant (?P<other>[^,;.!?]+)[.!]*$",
    re.IGNORECASE,
)
"""Who says "no, it's fine" or "actually, it's raining" takes nothing back: it needs a word that does."""

_NO_VALUE: Final = re.compile(
    r"(?:fine|ok(?:ay)?|good|great|right|wrong|true|false|nothing|not|just|all|so|too|very|really|me|you|because|that|what"
    r"|how|like|about|for|to|i|we|he|she|they|\w+ing)\b",
    re.IGNORECASE,
)


def corrected(
    before: CandidateFact, rule: Rule, sentence: str, memory: Memory, *, zone: tzinfo
) -> CandidateFact | None:
    """What was stated just before, as this sentence corrects it; None when it is no correction, or of something else.

    The value has to be one that the rule would have taken, so that nobody's name becomes an apology.
    """
    found = _CORRECTION.match(sentence.strip())
    if found is None:
        return None
    value = (found["one"] or found["other"]).strip()
    place = before.content.rfind(before.value)
    is_short = all(0 < len(text.split()) <= _MOST_WORDS for text in (value, before.value))
    if place < 0 or not is_short or _NO_VALUE.match(value) or not _is_taken(rule, value):
        return None
    content = before.content[:place] + value
    return replace(
        before,
        content=content,
        value=value,
        replaces=before.value,
        sources=(*before.sources, memory.id),
        said_at=memory.valid_from,
        dates=tuple(dates_of(content, said=memory.valid_from, source=memory.id, zone=zone)),
    )


def _is_taken(rule: Rule, value: str) -> bool:
    return (rule.refuses is None or not rule.refuses.match(value)) and (
        rule.looks is None or rule.looks.match(value) is not None
    )
