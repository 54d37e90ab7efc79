"""What somebody likes and does not like."""

from typing import Final

from scrubjay.memories.distill.rules.rule import ADVERBS, I_AM, VAGUE, Rule, by_noun, by_value, pattern
from scrubjay.model.facts import FactType

_PREFERENCE: Final = FactType.USER_PREFERENCE

LIKING: Final = (
    Rule(
        says=pattern(
            rf"\b(?:i {ADVERBS}prefer|i(?:'d| would) {ADVERBS}(?:prefer|rather)|my preference is) "
            r"(?:to )?(?:have |use |using )?"
        ),
        refuses=pattern(r"(?:it|that|this|these|those|them|you|not)\b"),
        type=_PREFERENCE,
        key=by_value("pref"),
        confidence=0.9,
    ),
    Rule(
        says=pattern(
            r"\bmy (?:all-time |absolute )?favou?rite (?P<noun>[\w -]{2,40}?) "
            r"(?:is|are|would be|has to be|of all time is) "
        ),
        refuses=VAGUE,
        type=_PREFERENCE,
        key=by_noun("pref:favourite-"),
        confidence=0.85,
    ),
    Rule(
        says=pattern(rf"\bi (?:do not|don't) {ADVERBS}(?:like|want|enjoy|care for) (?!to )"),
        refuses=VAGUE,
        type=_PREFERENCE,
        key=by_value("pref"),
        confidence=0.65,
    ),
    Rule(
        says=pattern(rf"\bi {ADVERBS}(?:hate|dislike|can't stand|cannot stand|detest) "),
        refuses=VAGUE,
        type=_PREFERENCE,
        key=by_value("pref"),
        confidence=0.75,
    ),
    Rule(
        says=pattern(rf"\bi {ADVERBS}(?:like|love|enjoy|adore) "),
        refuses=VAGUE,
        type=_PREFERENCE,
        key=by_value("pref"),
        confidence=0.65,
    ),
    Rule(
        says=pattern(rf"\b{I_AM} (?:not )?an? (?:big |huge |great )?fan of "),
        refuses=VAGUE,
        type=_PREFERENCE,
        key=by_value("pref"),
        confidence=0.7,
    ),
)
