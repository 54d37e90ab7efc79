"""Who somebody is: name, home, work, family, and what else is theirs."""

from typing import Final

from scrubjay.memories.distill.rules.rule import (
    I_AM,
    KIN,
    PASSING,
    PROPER,
    REFERRING,
    VAGUE,
    Rule,
    always,
    by_noun,
    by_value,
    pattern,
    unnamed,
    words,
)
from scrubjay.model.facts import FactType

_FACT: Final = FactType.PROJECT_FACT

_OCCUPATIONS: Final = words(
    "developer engineer programmer designer teacher nurse doctor lawyer writer author student manager scientist "
    "analyst consultant researcher producer director architect accountant technologist artist musician photographer "
    "chef freelancer founder entrepreneur journalist professor therapist counselor translator"
)
_CONDITIONS: Final = words(
    "vegetarian vegan pescatarian diabetic colorblind colourblind left-handed right-handed dyslexic married divorced "
    "engaged retired"
)
_RELATIVES: Final = words(
    "kid|kids|children|child|sons|daughters|brothers|sisters|siblings|dogs|cats|pets|stepson|stepdaughter|twins"
)
_OWN: Final = words(
    "first name|last name|username|pronouns|age|birthday|birth date|email|email address|phone|"
    "phone number|address|hometown|home town|city|time ?zone|nationality|language|native language|first language|"
    "mother tongue|job|job title|role|title|occupation|profession|employer|company|salary|budget|deadline|target|"
    "goal|main goal|long-term goal|short-term goal|ultimate goal|major|degree|diet|allergy|allergies|blood type|"
    "shoe size|height|weight|car|hobby|hobbies|school|university|editor|ide|shell|keyboard layout|os|"
    "operating system|github|github username|github handle|handle|schedule|commute|rent|working hours|work hours|"
    "tech stack"
)

PERSON: Final = (
    Rule(
        says=pattern(r"\b(?:my (?:full )?name is|my name's|i am called|i'm called|i go by) "),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:name"),
        confidence=0.95,
    ),
    Rule(
        says=pattern(r"(?:^|\b(?:please|just) )(?:call me|address me as) "),
        looks=PROPER,
        is_name=True,
        type=FactType.USER_PREFERENCE,
        key=always("pref:name"),
        confidence=0.85,
    ),
    Rule(
        # I'm Craig, a 44-year-old developer
        says=pattern(rf"(?:^|\b(?:hi|hello|hey),? |\band ){I_AM} (?=[^ ,]+(?: [^ ,]+)?, (?:an? |the |from |\d))"),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:name"),
        confidence=0.85,
    ),
    Rule(
        says=pattern(rf"\b(?:i (?:live|reside) in|{I_AM} (?:based|living|located) in) "),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:home"),
        confidence=0.85,
    ),
    Rule(
        says=pattern(r"\bi(?:'ve| have)? (?:just |recently |finally )?(?:moved|relocated) to "),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:home"),
        confidence=0.75,
    ),
    Rule(
        says=pattern(rf"\b(?:{I_AM} (?:originally )?from|i grew up in) "),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:origin"),
        confidence=0.8,
    ),
    Rule(says=pattern(r"\bi was born (?:in|on) "), type=_FACT, key=always("fact:birth"), confidence=0.85),
    Rule(
        says=pattern(r"\bi work (?:at|for) "),
        looks=PROPER,
        is_name=True,
        type=_FACT,
        key=always("fact:employer"),
        confidence=0.8,
    ),
    Rule(says=pattern(r"\bi work as (?:an? )?"), type=_FACT, key=always("fact:occupation"), confidence=0.85),
    Rule(
        says=pattern(rf"\b{I_AM} an? (?=(?:[\w-]+ ){{0,3}}{_OCCUPATIONS}\b)"),
        type=_FACT,
        key=always("fact:occupation"),
        confidence=0.8,
    ),
    Rule(
        says=pattern(rf"\b{I_AM} (?:an? )?(?=\d{{1,3}}(?: years old|-year-old)\b)"),
        looks=pattern(r"\d{1,3}"),
        is_name=True,
        type=_FACT,
        key=always("fact:age"),
        confidence=0.85,
    ),
    Rule(
        says=pattern(rf"\b{I_AM} (?=(?:(?:severely|very|mildly|lactose|gluten) )?(?:allergic to|intolerant)\b)"),
        type=_FACT,
        key=by_value("fact"),
        confidence=0.9,
    ),
    Rule(
        says=pattern(rf"\b{I_AM} (?:an? |also |now )*(?={_CONDITIONS}\b)"),
        type=_FACT,
        key=by_value("fact"),
        confidence=0.8,
    ),
    Rule(
        says=pattern(
            r"\b(?:i have|i've got) (?=(?:an? |one |two |three |four |\d |no )"
            rf"(?:[\w-]+ ){{0,2}}(?:{KIN}|{_RELATIVES})\b)"
        ),
        type=_FACT,
        key=by_value("fact"),
        confidence=0.75,
    ),
    Rule(
        says=pattern(
            rf"\bmy (?:new |own |current )?(?P<noun>{_OWN}|{KIN}(?:'s (?:name|birthday|job|age))) "
            r"(?:is|are|will be|has to be) (?:now |currently |at )?"
        ),
        refuses=pattern(rf"{REFERRING}\b|{PASSING}|going "),
        type=_FACT,
        key=by_noun("fact:"),
        confidence=0.75,
    ),
    Rule(
        says=pattern(r"\bi (?:no longer|stopped|quit|gave up) "),
        refuses=VAGUE,
        type=_FACT,
        key=by_value("fact"),
        confidence=0.65,
    ),
    Rule(
        # I've never used Zotero
        says=pattern(
            r"\bi(?:'ve| have) never (?:actually |really )?(?=\w+(?:ed|en|one|ne|ad|ent|un|et|ld|ought|wn)\b)"
        ),
        refuses=pattern(r"(?:been|felt|seen|heard|thought|had|known)\b"),
        type=_FACT,
        key=unnamed,
        confidence=0.55,
    ),
    Rule(
        # For the record, the office moved
        says=pattern(
            r"(?:^|\bplease )(?:(?:remember|note|keep in mind|bear in mind|don't forget|take note) that|"
            r"(?:remember|note|fyi|for the record|for your information|important)[,:]) "
        ),
        refuses=pattern(rf"{REFERRING}\b|i (?:can|could|need to|said|told|mentioned)\b"),
        type=_FACT,
        key=unnamed,
        confidence=0.7,
    ),
)
