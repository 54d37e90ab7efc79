"""What people state of themselves, of their project, and of how they want to be served."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.memories.distill.correcting import corrected
from scrubjay.memories.distill.dates import dates_of
from scrubjay.memories.distill.keys import slug
from scrubjay.memories.distill.rules import RULES, Rule
from scrubjay.memories.distill.sentences import sentences_of
from scrubjay.model import Memory, Trust
from scrubjay.model.checks import NAME_LIMIT
from scrubjay.model.distill import CandidateFact

_SPEAKING_KINDS: Final = ("message",)
"""Only what somebody said can be a stated preference; an observation or a plan is the agent's."""

_SPEAKING_ROLES: Final = ("user", "human")

_LONGEST: Final = 300
"""Characters of a statement. A longer clause is a story."""

_REACH: Final = 2 * _LONGEST
"""Characters behind the words that give a statement away in which the end of its clause is looked for."""

_DOUBT_REACH: Final = 60
"""Characters before a clause in which it is doubted: more than the longest expression that does so."""

_SHORTEST_VALUE: Final = 2

_BETWEEN_PEOPLE: Final = 0.6
_CORRECTED: Final = 0.05

_CLAUSE_END: Final = re.compile(
    r"[;!?]|\.(?=\s|$)|\s[–—-]\s|:\s"
    r"|,? (?=(?:so(?! much)|but|can you|could you|how (?:can|do|should|would)|what (?:do|is|are|should)|do you)\b)"
    r"|,? (?=(?:would you|is there|and (?:i|we)(?:['’]\w+)?|and (?:can|could|my|the)|because|since|due to)\b)"
    r"|,? (?=(?:considering|although|though|which is|who is|thanks|thank you|given that|especially|even though)\b)"
    r"|,? (?=(?:just like|like (?:my|i))\b)"
    r"|, (?=(?:i|we|it|he|she|they|you|there|that|this|my|please|what|how|is|are|do|should|and|then|as|here['’]s)\b)"
    r"|, (?=(?:when i|if|whereas|where|which)\b)",
    re.IGNORECASE,
)
_DOUBTED: Final = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|pretend|as if|as though|in case|let['’]s say|do|does|did|should|would)"
    r"[^,;.!?]{0,25}$"
    r"|\b(?:could|can|why|what|how|where|which|who|when|until|once|might|maybe|perhaps|says?|said|thinks?|thought)"
    r"[^,;.!?]{0,25}$"
    r"|\b(?:used to|story|character|example|for instance)[^;.!?]{0,25}$",
    re.IGNORECASE,
)
"""What stands before a clause that is asked, supposed or told by somebody else."""

_HANDED_OVER: Final = re.compile(
    r"\b(?:translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|edit|correct|review|check|explain|analy[sz]e|fix"
    r"|here(?:['’]s| is| are)|following|below|says?|said|wrote|reads?|writes?|quote|excerpt|e-?mail|letter|article|page"
    r"|log|output|draft|message|prompt|text|transcript)\b[^\n.!?]{0,80}:(?=\s)",
    re.IGNORECASE,
)
"""From here on the text is something that was handed over, not something that was said."""

_QUOTES: Final = re.compile(
    r"“[^”]*”|\"[^\"\n]*\"|«[^»]*»|(?<!\w)'[^'\n]{12,}'(?!\w)|(?<!\w)‘[^’\n]{12,}’(?!\w)|`[^`\n]*`"
)
_OVER: Final = re.compile(
    r"^(?P<one>.+?),? (?:over|rather than|instead of|to(?= \w+ing)|as opposed to|than|and not|not) (?P<other>[^,;]+)",
    re.IGNORECASE,
)
_FROM: Final = re.compile(r"\bfrom (?P<other>[^,.;]{2,40}?) to\b", re.IGNORECASE)
_NOT: Final = re.compile(
    r"\b(?:not|never|no longer|don['’]t|doesn['’]t|hate|dislike|can['’]t stand|cannot|detest|stop(?:ped)?|quit)\b"
    r"|\b(?:gave up|avoid|without|no)\b",
    re.IGNORECASE,
)
_CORRECTING: Final = re.compile(
    r"^(?:actually|no|nope|sorry|correction|wait|scratch that|i meant|i mean|my mistake|oops|to correct)\b[,:.]? ?",
    re.IGNORECASE,
)


_Stated: TypeAlias = tuple[CandidateFact, Rule]
"""What was stated, and the rule that found it."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """The part of a sentence that states something, and where in it what is stated begins."""

    start: int
    value: int
    stop: int

    def overlaps(self, other: "_Clause") -> bool:
        return self.start < other.stop and other.start < self.stop


def stated(memories: Sequence[Memory], *, zone: tzinfo) -> list[CandidateFact]:
    """Every statement, in the order they were made. Only what a person said counts, and only in their own words.

    Where several people talk, what one says of themselves is named after them: nobody's name replaces another's.
    """
    spoken = [memory for memory in memories if is_spoken(memory)]
    found: list[tuple[CandidateFact, Memory]] = []
    last: dict[str | None, _Stated | None] = {}
    for memory in spoken:
        here = list(_of_memory(memory, last.get(memory.author), zone=zone))
        found += [(fact, memory) for fact, _ in here]
        # What somebody corrects is what they said last.
        last[memory.author] = here[-1] if here else None
    are_several = len({memory.author for memory in spoken}) > 1
    return [named_apart(fact, memory) if are_several else fact for fact, memory in found]


def is_spoken(memory: Memory) -> bool:
    """Whether these are the words of a person: told, and neither an assistant's, a tool's nor the operator's."""
    role = memory.data.get("role", "user")
    return memory.kind in _SPEAKING_KINDS and memory.trust is Trust.TOLD and role in _SPEAKING_ROLES


def own_words(memory: Memory) -> str:
    """What its author said: without code, quotations, and what was handed over."""
    return "\n".join(_QUOTES.sub(" ", sentence) for sentence in _own_sentences(memory.content))


def _own_sentences(text: str) -> Iterator[str]:
    handed = _HANDED_OVER.search(text)
    own = handed.end() if handed else len(text)
    for span in sentences_of(text):
        if not span.is_code and not span.is_quoted and span.start < own:
            yield text[span.start : min(span.stop, own)]


def _of_memory(memory: Memory, before: _Stated | None, *, zone: tzinfo) -> Iterator[_Stated]:
    """What the memory states, each with its rule; `before` is what its author stated last, in the message before."""
    for sentence in _own_sentences(memory.content):
        if before is not None and (fact := corrected(*before, sentence, memory, zone=zone)) is not None:
            before = fact, before[1]
            yield before
            continue
        quoted = [one.span() for one in _QUOTES.finditer(sentence)]
        taken: list[_Clause] = []
        for rule in RULES:
            for match in rule.says.finditer(sentence):
                clause = _clause(match, sentence, quoted)
                if _states(rule, clause, sentence, quoted) and not any(map(clause.overlaps, taken)):
                    taken.append(clause)
                    before = _fact(rule, match, clause, sentence, memory, zone=zone), rule
                    yield before


def _clause(match: re.Match[str], sentence: str, quoted: Sequence[tuple[int, int]]) -> _Clause:
    """From where the rule matched to where the clause ends. What stands in quotation marks ends none."""
    start = match.start() + len(match.group()) - len(match.group().lstrip(" ,;:"))
    # What does not end within reach is too long to state anything.
    ends = (end.start() for end in _CLAUSE_END.finditer(sentence, match.end(), match.end() + _REACH))
    marks = (end for end in ends if end > match.end() and not any(left < end < right for left, right in quoted))
    stop = next(marks, len(sentence))
    return _Clause(start, match.end(), start + len(sentence[start:stop].rstrip(" ,;:.!")))


def _states(rule: Rule, clause: _Clause, sentence: str, quoted: Sequence[tuple[int, int]]) -> bool:
    """Whether the clause is said, and not quoted, supposed or asked; and whether it says what the rule is about."""
    value = sentence[clause.value : clause.stop]
    if len(value) < _SHORTEST_VALUE or clause.stop - clause.start > _LONGEST:
        return False
    if any(left <= clause.start < right for left, right in quoted) or _is_doubted(clause, sentence):
        return False
    # A question asks; but "I prefer tabs, can you …?" states something before it asks.
    if sentence.rstrip().endswith("?") and clause.stop >= len(sentence.rstrip(" ?!")):
        return False
    return (rule.refuses is None or not rule.refuses.match(value)) and (
        rule.looks is None or rule.looks.match(value) is not None
    )


def _is_doubted(clause: _Clause, sentence: str) -> bool:
    return _DOUBTED.search(sentence, max(0, clause.start - _DOUBT_REACH), clause.start) is not None


def _fact(
    rule: Rule, match: re.Match[str], clause: _Clause, sentence: str, memory: Memory, *, zone: tzinfo
) -> CandidateFact:
    content, value = sentence[clause.start : clause.stop], sentence[clause.value : clause.stop]
    other = None
    if chosen := _OVER.match(value):
        value, other = chosen["one"], chosen["other"].strip()
    elif moved := _FROM.search(content):
        other = moved["other"].strip()
    elif rule.is_name and rule.looks is not None and (name := rule.looks.match(value)):
        value = name.group()
    key = rule.key(match, value, other)
    return CandidateFact(
        content=content,
        type=rule.type,
        subject=_subject(rule, memory),
        value=value,
        key=key[:NAME_LIMIT] if key else None,
        confidence=_confidence(rule, sentence, memory),
        is_negated=_NOT.search(content) is not None and other is None,
        replaces=other,
        trust=memory.trust,
        sources=(memory.id,),
        said_at=memory.valid_from,
        dates=tuple(dates_of(content, said=memory.valid_from, source=memory.id, zone=zone)),
    )


def _confidence(rule: Rule, sentence: str, memory: Memory) -> float:
    if rule.to_agent and "role" not in memory.data and memory.author is not None:
        # Between two people, "never give up" is no instruction to an agent.
        return round(rule.confidence * _BETWEEN_PEOPLE, 2)
    return round(min(1.0, rule.confidence + (_CORRECTED if _CORRECTING.match(sentence) else 0.0)), 2)


def named_apart(fact: CandidateFact, memory: Memory) -> CandidateFact:
    """The same fact under a key of its author's own, unless it is about the project, or the author is the user."""
    author = slug(memory.author or "")
    if fact.key is None or not author or fact.subject != memory.author or memory.author == memory.scope.user:
        return fact
    return replace(fact, key=f"{fact.key}:{author}"[:NAME_LIMIT])


def _subject(rule: Rule, memory: Memory) -> str:
    if rule.of_project:
        return memory.scope.project or "project"
    return memory.author or memory.scope.user or "user"


def settled(facts: Sequence[CandidateFact]) -> list[CandidateFact]:
    """What holds in the end: of two with one key and subject, the later; what replaces another takes over its key.

    The surest come first, and those that are equally sure in the order they were said.
    """
    kept: dict[tuple[str, str], CandidateFact] = {}
    for place, fact in enumerate(facts):
        before = _replaced(fact, kept)
        if before is not None:
            fact = replace(fact, key=before.key or fact.key, sources=_united(before, fact))  # noqa: PLW2901 -- the same fact, under its name
            kept = {name: one for name, one in kept.items() if one is not before}
        name = (fact.subject, fact.key or f"{place} {fact.content}")
        kept.pop(name, None)
        kept[name] = fact
    return sorted(kept.values(), key=lambda fact: -fact.confidence)


def _replaced(fact: CandidateFact, kept: dict[tuple[str, str], CandidateFact]) -> CandidateFact | None:
    """The earlier fact whose value this one says was so before."""
    if fact.replaces is None:
        return None
    old = {*filter(None, slug(fact.replaces).split("-"))}
    alike = (one for one in reversed(kept.values()) if one.subject == fact.subject and one.type == fact.type)
    return next((one for one in alike if old and old <= {*slug(one.value).split("-")}), None)


def _united(before: CandidateFact, fact: CandidateFact) -> tuple[UUID, ...]:
    return tuple(dict.fromkeys((*before.sources, *fact.sources)))
