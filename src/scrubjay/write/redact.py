"""Take the secrets out of what is about to be written, and say which kinds there were."""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final, TypeAlias

from scrubjay.model import Json
from scrubjay.model.checks import check_content, check_depth
from scrubjay.ports import Redactor
from scrubjay.write.assignments import names_a_credential, names_a_credential_in_text
from scrubjay.write.secrets import RULES, TOKEN_SIGNS, Span

_PLACEHOLDER: Final = re.compile(r"\[redacted:[a-z0-9-]+\]")

_SHORTEST: Final = 7
"""No text shorter than this holds both a secret and what gives it away."""

_MARKS: Final = "-_./=:<'\""

_JSON_BRACKETS: Final = {("{", "}"), ("[", "]")}
_JSON_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')

Triggers: TypeAlias = tuple[tuple[str, list[int]], ...]
Gate: TypeAlias = tuple[str, Triggers, Triggers]
"""Marks of which a text must have one, triggers that match any case, and those that match exactly, with their rules."""


def _gates(signs: int) -> tuple[Gate, ...]:
    """The triggers of all rules that need no more signs of a token in a row, by the marks that they come with."""
    gates: dict[str, dict[str, list[int]]] = {}
    for place, rule in enumerate(RULES):
        for trigger in rule.triggers if rule.signs <= signs else ():
            marks = rule.needs or next((letter for letter in trigger if letter in _MARKS), "")
            gates.setdefault(marks, {}).setdefault(trigger, []).append(place)
    return tuple(
        (
            marks,
            tuple((trigger, places) for trigger, places in triggers.items() if trigger == trigger.lower()),
            tuple((trigger, places) for trigger, places in triggers.items() if trigger != trigger.lower()),
        )
        for marks, triggers in gates.items()
    )


_TOKENS: Final = bytes(ord("x") if chr(code) in TOKEN_SIGNS else ord(" ") for code in range(256))
_TIERS: Final = tuple((b"x" * signs, _gates(signs)) for signs in sorted({rule.signs for rule in RULES}))
"""What to look for in a text that has so many signs of a token in a row, from none on."""


class SecretRedactor:
    """Replaces credentials and private keys by placeholders such as `[redacted:github-token]`.

    What stands around a secret stays, so the text keeps its use. Doing it twice changes nothing.
    """

    def redact(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with every secret replaced by a placeholder, and the kinds of secret found, sorted."""
        kinds: set[str] = set()
        # A placeholder may change how its neighbourhood reads, so the text is read again until it is quiet.
        while found := _found(text):
            text = _replaced(text, found)
            kinds.update(kind for _, _, kind in found)
        return text, tuple(sorted(kinds)) if kinds else ()


def clean_text(redactor: Redactor, text: str) -> tuple[str, tuple[str, ...]]:
    """The text without secrets, and the kinds that were taken out, sorted. JSON is read as what it holds, to any depth.

    The rules read a text as it stands, and in JSON inside JSON every quote and line break hides behind backslashes.
    """
    opening, closing = text.lstrip()[:1], text.rstrip()[-1:]
    if (opening, closing) not in _JSON_BRACKETS:
        return redactor.redact(text)
    inner, kinds = _clean_json(redactor, text)
    clean, more = redactor.redact(inner)
    return clean, tuple(sorted({*kinds, *more}))


def redacted(redactor: Redactor, fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a memory without secrets, and the kinds that were taken out, sorted.

    Every text is cleaned, and every text inside lists and dicts, with the names in them. A value in a dict whose name
    says that it is a credential goes whole. Anything else, such as a number or an id, comes back as it is.
    """
    for name, value in fields.items():
        if not isinstance(value, str):
            check_depth(name, value)
    kinds: set[str] = set()
    clean = {name: _clean(redactor, value, kinds) for name, value in fields.items()}
    return clean, tuple(sorted(kinds))


def reason_of(reason: str | None, redactor: Redactor | None) -> str | None:
    """Why something was done, as it may be stored: checked, and without secrets."""
    if reason is None:
        return None
    check_content(reason, "reason")
    return clean_text(redactor, reason)[0] if redactor is not None else reason


def _clean(redactor: Redactor, value: Any, kinds: set[str]) -> Any:  # noqa: ANN401 -- a field may be anything
    match value:
        case str():
            text, found = clean_text(redactor, value)
            kinds.update(found)
            return text
        case dict():
            return _clean_dict(redactor, value, kinds)
        case list():
            return [_clean(redactor, inner, kinds) for inner in value]
        case tuple():
            return tuple(_clean(redactor, inner, kinds) for inner in value)
        case _:
            return value


def _clean_dict(redactor: Redactor, value: dict[str, Json], kinds: set[str]) -> dict[str, Json]:
    # `{"name": "DB_PASSWORD", "value": "…"}` is how environments are written down.
    named = value.get("name", value.get("key")) if "value" in value else None
    clean: dict[str, Json] = {}
    for name, inner in value.items():
        telling = named if name == "value" and isinstance(named, str) else name
        clean[_free_name(_clean(redactor, name, kinds), clean)] = _clean_named(redactor, telling, inner, kinds)
    return clean


def _clean_named(redactor: Redactor, name: str, value: Json, kinds: set[str]) -> Json:
    if isinstance(value, list | tuple):
        return [_clean_named(redactor, name, inner, kinds) for inner in value]
    clean: Json = _clean(redactor, value, kinds)
    if isinstance(clean, str) and isinstance(value, str) and names_a_credential(name, clean):
        kinds.add("credential")
        return "[redacted:credential]"
    return clean


class _Object(list[tuple[str, Any]]):
    """The names and values of a JSON object as they stand in its text, also a name that stands there twice."""


def _clean_json(redactor: Redactor, text: str) -> tuple[str, set[str]]:
    """A JSON text with a placeholder for each string that is, or holds, a secret. All else stays to the letter."""
    try:
        strings = list(_strings_in(json.loads(text, object_pairs_hook=_Object)))
    except (ValueError, RecursionError):
        return text, set()
    kinds: set[str] = set()
    parts: list[str] = []
    done = 0
    for token, (said, name) in zip(_JSON_STRING.finditer(text), strings, strict=True):
        clean, found = clean_text(redactor, said)
        if name and names_a_credential_in_text(name, clean):
            clean, found = "[redacted:credential]", ("credential",)
        if found:
            kinds.update(found)
            # A character that no file can hold is written as its number, as it was.
            parts += (text[done : token.start()], json.dumps(clean, ensure_ascii=_has_surrogates(clean)))
            done = token.end()
    return "".join((*parts, text[done:])), kinds


def _strings_in(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 -- JSON
    """Every string of a JSON value in the order of its text, names too, and for a value the name that it has."""
    waiting = [(value, "")]
    while waiting:
        one, name = waiting.pop()
        match one:
            case str():
                yield one, name
            case _Object():
                # `{"name": "DB_PASSWORD", "value": "…"}` is how environments are written down.
                fields = dict(one)
                called = fields.get("name", fields.get("key"))
                for own, inner in reversed(one):
                    waiting.append((inner, called if own == "value" and isinstance(called, str) else own))
                    waiting.append((own, ""))
            case list():
                waiting += ((inner, name) for inner in reversed(one))


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _free_name(name: str, taken: Mapping[str, Json]) -> str:
    """The name itself, or the next numbered one when two secrets became the same placeholder."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _found(text: str) -> list[tuple[int, int, str]]:
    """Where secrets stand and of which kind, in order, without overlaps and without placeholders."""
    if len(text) < _SHORTEST:
        return []
    called = _called(text)
    if not called:
        return []
    found = [(start, stop, place) for place in called for start, stop in RULES[place].find(text)]
    if not found:
        return []
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)]
    if taken:
        found = [span for span in found if not _touches(span, taken)]
    return [(start, stop, RULES[place].kind) for start, stop, place in _merged(found)]


def _called(text: str) -> Collection[int]:
    """Which rules are worth asking about this text. This is all that ordinary text costs."""
    lowered = text.lower()
    called: list[int] = []
    for marks, any_case, exact in _worth_trying(text):
        for mark in marks:
            if mark in text:
                break
        else:
            if marks:
                continue
        for trigger, places in any_case:
            if trigger in lowered:
                called += places
        for trigger, places in exact:
            if trigger in text:
                called += places
    return set(called) if called else ()


def _worth_trying(text: str) -> tuple[Gate, ...]:
    """What to look for in a text, by how many signs of a token it has in a row: in nearly all prose, for passwords."""
    # Some patterns take letters of other scripts for ours, so such a text is always read closer.
    if not text.isascii():
        return _TIERS[-1][1]
    shape = text.encode().translate(_TOKENS)
    found = _TIERS[0][1]
    for token, gates in _TIERS[1:]:
        if token not in shape:
            break
        found = gates
    return found


def _merged(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Make one of spans that overlap; the earliest rule among them names it."""
    merged: list[tuple[int, int, int]] = []
    for start, stop, place in sorted(found):
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, stop), min(known, place))
        else:
            merged.append((start, stop, place))
    return merged


def _touches(span: tuple[int, int, int], placeholders: list[Span]) -> bool:
    """Whether it begins or ends within a placeholder; a larger one, such as a whole key block, may swallow it."""
    start, stop, _ = span
    return _within(start, placeholders) or _within(stop - 1, placeholders)


def _within(position: int, spans: list[Span]) -> bool:
    place = bisect_right(spans, position, key=itemgetter(0)) - 1
    return place >= 0 and position < spans[place][1]


def _replaced(text: str, found: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start, stop, kind in found:
        parts += (text[done:start], f"[redacted:{kind}]")
        done = stop
    return "".join((*parts, text[done:]))
