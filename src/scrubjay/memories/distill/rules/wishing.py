"""What an agent is told to do, from now on."""

import re
from typing import Final

from scrubjay.memories.distill.rules.rule import VAGUE, Rule, always, by_value, pattern, words
from scrubjay.model.facts import FactType

_INSTRUCTION: Final = FactType.USER_INSTRUCTION

_NO_ORDER: Final = words(
    "a an the my so been being had have has was were is are be mind heard seen saw knew known thought again gone met "
    "tried happy glad good great nice fun wanted loved there here will would could up on in at like too before "
    "really feel felt got forget stop give easy better know actually ready open love enjoy quit say said worth nice "
    "calm it i you we he she they"
)
"""Words after `always` and `never` that tell of something instead of asking for it."""

_DOING: Final = words(
    "use using add adding write writing include including apologise apologising apologize apologizing explain "
    "explaining repeat repeating call calling suggest suggesting commit committing push pushing touch touching "
    "change changing edit editing delete deleting ask asking assume assuming mention mentioning summarize "
    "summarizing summarise summarising"
)
_LANGUAGE: Final = re.compile(
    words(
        "English German French Spanish Italian Portuguese Dutch Polish Russian Ukrainian Turkish Arabic Hebrew Hindi "
        "Chinese Mandarin Japanese Korean Vietnamese Swedish Norwegian Danish Finnish Greek Czech Romanian Hungarian "
        "Deutsch Français Español Italiano Português Nederlands"
    )
    + r"\b"
)
_WHEN_ASKED: Final = words("from now on|going forward|every time i|each time i|whenever i|when i ask")

WISHING: Final = (
    Rule(
        says=pattern(
            r"(?:^|^(?:also|and|but|so),? |\bplease |\byou (?:should|must) |\b(?:make|be) sure (?:to|you) )"
            r"(?:always|never|don't ever|do not ever) "
        ),
        refuses=pattern(
            rf"(?:{_NO_ORDER}|\w+(?:ed|ing)|(?!address|process|express|access|focus|discuss|pass|stress)\w+s)\b"
        ),
        type=_INSTRUCTION,
        key=by_value("instruction"),
        to_agent=True,
        confidence=0.9,
    ),
    Rule(
        says=pattern(
            r"\b(?:from now on|going forward|from here on|in (?:the )?future),? "
            r"(?:please |you should |i want you to |i'd like you to )?"
            r"(?!(?:i|we|it|you|there|my|the|this|that)\b)"
        ),
        refuses=VAGUE,
        type=_INSTRUCTION,
        key=by_value("instruction"),
        to_agent=True,
        confidence=0.85,
    ),
    Rule(
        # Answer in one paragraph from now on
        says=pattern(
            rf"^(?:please )?(?=[^,.;?!]{{4,120}}\b{_WHEN_ASKED}\b)"
            r"(?!(?:i|we|it|the|my|so|that|this|but|and|how|what|can|could|is|do|why|whenever|when|every|each)\b|\w+ing\b)"
        ),
        type=_INSTRUCTION,
        key=by_value("instruction"),
        to_agent=True,
        confidence=0.8,
    ),
    Rule(
        says=pattern(rf"(?:^|[,;] |\band )(?:please )?(?:don't|do not|stop) (?={_DOING}\b)"),
        type=_INSTRUCTION,
        key=by_value("instruction"),
        to_agent=True,
        confidence=0.6,
    ),
    Rule(
        says=pattern(r"(?:^|[,;] |\bplease )(?:answer|reply|respond|speak|write)(?: to me| back)? in "),
        looks=_LANGUAGE,
        is_name=True,
        type=_INSTRUCTION,
        key=always("pref:language"),
        to_agent=True,
        confidence=0.75,
    ),
)
