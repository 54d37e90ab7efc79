"""What people work with, what they decided, and how they do things."""

import re
from typing import Final

from scrubjay.memories.distill.keys import key_of, slug
from scrubjay.memories.distill.rules.rule import (
    ADVERBS,
    NAMED,
    PASSING,
    REFERRING,
    VAGUE,
    Rule,
    by_noun,
    by_value,
    pattern,
    words,
)
from scrubjay.model.facts import FactType

_STACK: Final = FactType.PROJECT_TECH_STACK
_CONVENTION: Final = FactType.PROJECT_CONVENTION

_PURPOSE: Final = re.compile(r"\b(?:for|as) (?:(?:the|our|my|all|a|an) )*(?P<purpose>[^,.;]+)", re.IGNORECASE)
_SEVERAL: Final = re.compile(r",| and |/| plus | with ")

_WORKING: Final = words(
    "use|using|run|running|deploy to|deploy on|deploy with|host on|build on|build with|rely on|relying on|depend on|"
    "develop in|develop with|code in|coding in|program in|work with|working with|test with|lint with|format with"
)
_CHOSE: Final = words(
    "chose|chosen|decided on|decided to use|decided to go with|decided to adopt|settled on|went with|gone with|"
    "picked|adopted|standardized on|standardised on"
)
_MOVED: Final = words("switched|migrated|moved|changed|upgraded|ported|switched over|moved over|migrated over")
_AGREED: Final = words("let's|lets|we should|we'll|we will|we want to|we need to|we must")
_DOING: Final = words(
    "use|go with|stick with|stick to|standardize on|standardise on|keep to|name|avoid|adopt|switch to|follow|always|"
    "never"
)
_TELLING: Final = words(
    "had have get got went go talk laugh enjoy love like wanted been were are see know thought say said look feel make"
)
_OURS: Final = words(
    "database|db|backend|back end|frontend|front end|stack|tech stack|branch|main branch|default branch|repo|"
    "repository|framework|language|style guide|formatter|linter|ci|cloud|cloud provider|region|port|api|server|"
    "cluster|queue|cache|deadline|release|release date|launch|launch date|budget|client|customer|team lead|lead|"
    "manager|convention|policy|package manager|test runner|deployment|hosting|provider|time ?zone|office|standup|"
    "stand-up|sprint|retro|production database|staging server|naming convention"
)


def _by_purpose(_match: re.Match[str], value: str, other: str | None) -> str | None:
    """Named after what it is for, or else after the one thing that it is; a list of things has no name."""
    purpose = _PURPOSE.search(value)
    name = slug(purpose["purpose"], most=2) if purpose else ""
    if name:
        return f"fact:{name}"
    if other is not None:
        return key_of("fact", value, other=other)
    named = NAMED.match(value)
    return key_of("fact", named.group()) if named and not _SEVERAL.search(value) else None


PROJECT: Final = (
    Rule(
        says=pattern(rf"\bwe(?:'re| are)? {ADVERBS}(?:{_WORKING}|store \w+ in) "),
        looks=NAMED,
        type=_STACK,
        key=_by_purpose,
        of_project=True,
        confidence=0.8,
    ),
    Rule(
        says=pattern(rf"\bwe(?:'ve| have)? {ADVERBS}{_CHOSE} "),
        refuses=VAGUE,
        type=_STACK,
        key=_by_purpose,
        of_project=True,
        confidence=0.8,
    ),
    Rule(
        says=pattern(
            rf"\b(?:we|i)(?:'ve| have)? {ADVERBS}(?:recently |finally )?{_MOVED} "
            r"(?:\w+ )?(?:from [^,.;]{2,40} )?to "
        ),
        looks=NAMED,
        type=_STACK,
        key=_by_purpose,
        of_project=True,
        confidence=0.75,
    ),
    Rule(
        says=pattern(
            rf"\bwe (?:no longer|don't|do not|stopped|never) {ADVERBS}"
            r"(?:us(?:e|ing)|run(?:ning)?|support(?:ing)?|deploy(?:ing)?|rely(?:ing)? on) "
        ),
        refuses=VAGUE,
        type=_STACK,
        key=_by_purpose,
        of_project=True,
        confidence=0.75,
    ),
    Rule(
        says=pattern(r"\bwe (?:always|never|only ever) "),
        refuses=pattern(rf"(?:{_TELLING}|\w+ed)\b"),
        type=_CONVENTION,
        key=by_value("fact"),
        of_project=True,
        confidence=0.7,
    ),
    Rule(
        says=pattern(rf"\b{_AGREED} (?:all |just )?(?={_DOING}\b)"),
        refuses=pattern(
            r"(?:always |never )?(?:\w+|go with|stick with|stick to|switch to) "
            r"(?:it|this|that|these|those|your?|the|an? (?:simple|example|different|similar|table|loop))\b"
        ),
        type=_CONVENTION,
        key=by_value("fact"),
        of_project=True,
        confidence=0.65,
    ),
    Rule(
        says=pattern(
            rf"\b(?:our|the project's|the team's) (?:new |current )?(?P<noun>{_OURS}) "
            r"(?:is|are|will be|runs on|runs in|lives in|uses) (?:now |currently |always |on )?"
        ),
        refuses=pattern(rf"{REFERRING}\b|{PASSING}"),
        type=FactType.PROJECT_FACT,
        key=by_noun("fact:"),
        of_project=True,
        confidence=0.75,
    ),
    Rule(
        # Every commit must be signed
        says=pattern(
            r"^(?=(?:all|every|no|each|nobody|everyone|everybody) (?:[\w-]+ ){0,5}"
            r"(?:must|shall|has to|have to|may) (?:not |never |always )?\w)"
        ),
        refuses=pattern(r"\w+ (?:\w+ ){0,5}(?:must|may) (?:have been|be (?:so|very|really)|feel)\b"),
        type=FactType.RULE,
        key=by_value("rule"),
        of_project=True,
        confidence=0.7,
    ),
    Rule(
        says=pattern(rf"\bi(?:'m| am)? {ADVERBS}{_WORKING} "),
        looks=NAMED,
        type=_STACK,
        key=_by_purpose,
        confidence=0.65,
    ),
)
