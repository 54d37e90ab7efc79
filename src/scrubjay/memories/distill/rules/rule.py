"""What a rule is, and the words that many of them share."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from scrubjay.memories.distill.keys import key_of, slug
from scrubjay.model.facts import FactType

Key: TypeAlias = Callable[[re.Match[str], str, str | None], str | None]
"""Names a statement by the match, what is stated, and what that replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to state something: what is stated begins where the pattern ends, and ends with the clause."""

    says: re.Pattern[str]
    type: FactType
    confidence: float
    """How likely it is that what is said so was meant so, and holds on: see docs/explanation/distillation.md."""
    key: Key
    looks: re.Pattern[str] | None = None
    """What is stated has to begin like this."""
    refuses: re.Pattern[str] | None = None
    """What is stated must not begin like this."""
    is_name: bool = False
    """Whether only what `looks` has matched is the value: a name, without what follows it."""
    of_project: bool = False
    """Whether it is about what people work on together, and not about who says it."""
    to_agent: bool = False
    """Whether it speaks to an agent. Said to another person, it is no instruction."""


def pattern(text: str) -> re.Pattern[str]:
    """In any case, and with either apostrophe."""
    return re.compile(text.replace("'", "['’]"), re.IGNORECASE)


def words(text: str) -> str:
    """A pattern for any one of these words or phrases; phrases are parted by `|` or line ends, words by spaces."""
    parts = text.split("|") if "|" in text else text.split()
    return "(?:" + "|".join(" ".join(part.split()) for part in parts) + ")"


def by_value(prefix: str) -> Key:
    """Named after what is stated, or the choice between that and what it replaces."""
    return lambda _match, value, other: key_of(prefix, value, other=other)


def by_noun(prefix: str) -> Key:
    """Named after the group `noun`: my *deadline* is Friday."""

    def key(match: re.Match[str], _value: str, _other: str | None) -> str | None:
        name = slug(match["noun"].replace("’", "'").replace("'s ", " "), most=3)
        return f"{prefix}{name}" if name else None

    return key


def always(key: str) -> Key:
    """One thing, however it is put."""
    return lambda _match, _value, _other: key


def unnamed(_match: re.Match[str], _value: str, _other: str | None) -> None:
    """Nothing names it safely."""


REFERRING: Final = words(
    "it|this|that|that's|these|those|them|him|her|you|your|yours|how|what|when|where|why|who|seeing|hearing|the way|"
    "the idea|the sound|the look|all of|some of|both|either|so much|everything|anything|nothing|one|not|there|"
    "being able|to know|to see|to hear|to think|to say|to believe|to add|to make sure|to ask|to talk|to discuss|"
    "to get|to help|to start|to try|like|the following|their|his|its|having them|the thought"
)
"""Beginnings of what refers to something said elsewhere, and states nothing alone."""

PASSING: Final = r"(?:\w+ing|so|very|too|really|pretty|quite|not|an? (?:bit|mess|concern|problem|lot))\b"
"""Beginnings of how something is just now, rather than what it is."""

VAGUE: Final = pattern(rf"{REFERRING}\b|to$")

NAMED: Final = re.compile(
    r"(?:(?:the|a|an|only|just|both|our|my) )*(?:`[^`]+`|[A-Z][\w+#.-]*|\w*\d[\w.]*|[a-z]+[-_.][a-z]\w*)"
)
"""The name of a product, a version or an identifier: what things are built with."""

PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w'’-]+(?:,? [A-ZÀ-Þ][\w'’-]+){0,3}(?![\w'’-])")
"""The name of a person or a place."""

ADVERBS: Final = (
    "(?:"
    + words(
        "really actually always strongly generally usually personally definitely much still now absolutely also just "
        "currently only mostly typically do often mainly especially particularly totally truly already exclusively"
    )
    + " ){0,2}"
)
"""Up to two words between who and what they do, with the space behind each."""

I_AM: Final = "i(?:'m| am)"
KIN: Final = words(
    "wife|husband|partner|spouse|girlfriend|boyfriend|fiance|fiancé|fiancée|daughter|son|mother|mom|mum|father|dad|"
    "sister|brother|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|niece|nephew|boss|manager|mentor|"
    "roommate|best friend|dog|cat|puppy|kitten|pet|doctor|dentist|therapist|teacher|tutor|advisor|agent|supervisor|"
    "coach"
)
