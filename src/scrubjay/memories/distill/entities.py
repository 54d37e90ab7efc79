"""Who and what is named: people and places, products with their versions, code, links and addresses."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, cast
from uuid import UUID

from scrubjay.memories.distill.sentences import sentences_of
from scrubjay.model import Memory
from scrubjay.model.distill import Entity, EntityKind
from scrubjay.model.words import STOP_WORDS

MOST: Final = 50
"""Entities of one set of episodes: those named most often."""

_ENDINGS: Final = "py|js|ts|go|rs|java|sql|md|json|ya?ml|toml|html|css|sh"

_PATTERNS: Final = tuple(
    (cast("EntityKind", kind), re.compile(pattern))
    for kind, pattern in (
        ("url", r"\bhttps?://[^\s<>\"')\]`]+[^\s<>\"')\]`.,;:!?]"),
        ("email", r"(?<![\w.+-])[.+-]*+(\w[\w.+-]*+@[\w-]+(?:\.[\w-]+)+\b)"),
        ("code", r"`([^`\n]{2,60})`"),
        ("handle", r"(?<![\w@/])@\w[\w-]{1,38}\b"),
        ("version", r"\b[A-Z][\w+#-]{0,40}(?:[ -][A-Z][\w+#-]{0,40})? v?\d+(?:\.\d+)+\b"),
        ("code", r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b(?:\(\))?"),
        ("code", rf"(?<![\w-])-*+(\w[\w-]{{0,99}}+(?:/[\w.-]{{1,100}}){{0,20}}\.(?:{_ENDINGS})\b)"),
        ("name", r"\b[A-ZÀ-Þ][\w’'-]*(?:(?: (?:of|the|de|van|von|der|da|for|and)){0,2} [A-ZÀ-Þ][\w’'-]*)*"),
    )
)  # fmt: skip
"""What says most comes first: what one has taken, no later one reads."""

_POSSESSIVE: Final = re.compile(r"['’]s?$")

_NO_NAMES: Final = STOP_WORDS | frozenset(
    """i'm i've i'd i'll ok okay hey hi hello thanks thank yes yeah yep no nope wow please sure great good nice well oh
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december today tomorrow yesterday let's that's it's don't what's here's there's step note
    task create use add set define ensure""".split()  # noqa: SIM905 -- a list of strings reads worse
)


def entities_of(memories: Sequence[Memory]) -> list[Entity]:
    """What is named, those named most often first. A capital at the beginning of a sentence alone makes no name."""
    mentions: dict[tuple[EntityKind, str], list[UUID]] = {}
    unsure: list[tuple[str, UUID]] = []
    for memory in memories:
        for kind, name, is_first in _named(memory.content):
            if is_first:
                unsure.append((name, memory.id))
            else:
                mentions.setdefault((kind, name), []).append(memory.id)
    for name, source in unsure:
        # The first word of a sentence is a name if it is one elsewhere.
        if ("name", name) in mentions:
            mentions["name", name].append(source)
    order = {memory.id: place for place, memory in enumerate(memories)}
    often = sorted(mentions.items(), key=lambda one: -len(one[1]))[:MOST]
    return [
        Entity(name=name, kind=kind, mentions=len(found), sources=tuple(sorted(set(found), key=order.__getitem__)))
        for (kind, name), found in often
    ]


def _named(text: str) -> Iterator[tuple[EntityKind, str, bool]]:
    """Kind, name, and whether it is one word at the beginning of a sentence."""
    for span in sentences_of(text):
        if span.is_code:
            continue
        taken = bytearray(span.stop - span.start)
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(text, span.start, span.stop):
                here = slice(match.start() - span.start, match.end() - span.start)
                if any(taken[here]):
                    continue
                name = match[1] if match.re.groups else match.group()
                is_first = False
                if kind == "name":
                    name, is_first = _name(name, is_first=match.start() == span.start)
                if len(name) > 1:
                    taken[here] = b"\x01" * len(taken[here])
                    yield kind, name, is_first


def _name(words: str, *, is_first: bool) -> tuple[str, bool]:
    """The name without the common words that happen to have a capital, and whether it is only that of a sentence."""
    parts = words.split()
    while parts and parts[0].lower().replace("’", "'") in _NO_NAMES:
        parts, is_first = parts[1:], False
    while parts and (parts[-1].lower().replace("’", "'") in _NO_NAMES or parts[-1].islower()):
        parts = parts[:-1]
    return _POSSESSIVE.sub("", " ".join(parts)), is_first and len(parts) == 1
