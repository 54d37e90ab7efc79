"""Take the secrets out of what is about to be written, and say which kinds there were."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, Final

from scrubjay.model import Json
from scrubjay.model.checks import check_content, check_depth
from scrubjay.ports import Redactor
from scrubjay.write.assignments import Span, names_a_credential, names_a_credential_in_text
from scrubjay.write.commands import WORD_END
from scrubjay.write.normalize import normalized
from scrubjay.write.secrets import RULES, TOKEN, TOKEN_SIGNS, Rule

_PLACEHOLDER: Final = re.compile(r"\[redacted:[a-z0-9-]+\]")

_SHORTEST: Final = 7
"""No text shorter than this holds both a secret and what gives it away."""

_ARGUMENTS: Final = ("args", "arguments")
"""What names the words that follow a `command`, as configurations of servers do."""

_JSON: Final = re.compile(r"""[\[{]\s{0,40}["\[{]|"(?=\s{0,40}(?:\\{1,2}["n]|[\[{]))""")
"""Where JSON may begin: an object, a list, or a string of one. Anything else of it holds no names and no escapes."""

_PIECE: Final = 16_000
_TOO_DEEP: Final = 20_000
"""Characters that are taken off what may be read in vain, for JSON that is nested deeper than Python reads."""

_JSON_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


def _beginnings(wanted: Callable[[str, Rule], bool]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What begins the secrets of these rules, and the rules of each."""
    places: dict[str, list[int]] = {}
    for place, rule in enumerate(RULES):
        for begin in rule.begins:
            if wanted(begin, rule):
                places.setdefault(begin, []).append(place)
    return tuple((begin, tuple(several)) for begin, several in places.items())


_PASSWORDS: Final = _beginnings(lambda begin, rule: not rule.is_token and begin.isascii())
_FOREIGN: Final = _beginnings(lambda begin, _: not begin.isascii())
_TOKENS: Final = _beginnings(lambda begin, rule: rule.is_token and not rule.begins_it and begin == begin.lower())
_EXACT: Final = _beginnings(lambda begin, rule: not rule.begins_it and begin != begin.lower())
_PREFIXES: Final = _beginnings(lambda _, rule: rule.begins_it)
_BY_PREFIX: Final = {
    first: tuple({place for begin, places in _PREFIXES for place in places if begin.startswith(first)})
    for first in {begin[:3] for begin, _ in _PREFIXES}
}
"""The rules of tokens with a prefix, by the first three letters of it."""

_LONG: Final = re.compile(rf"[!-~]{{{TOKEN},}}")
_FIRST: Final = re.compile(rf"(?<![A-Za-z0-9])(?=([A-Za-z0-9]\S\S)\S{{{TOKEN - 3}}})")
"""The first three letters of what is as long as a token."""

_SIGNS: Final = bytes(ord("x") if chr(code) in TOKEN_SIGNS else ord(" ") for code in range(256))


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
    inner, kinds = _clean_json(redactor, text) if '"' in text else (text, set())
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
        case list() | tuple():
            cleaned = [_clean(redactor, inner, kinds) for inner in _clean_words(redactor, value, kinds)]
            return cleaned if isinstance(value, list) else tuple(cleaned)
        case _:
            return value


def _clean_words(redactor: Redactor, words: Sequence[Any], kinds: set[str], command: object = None) -> Sequence[Any]:
    """A list of the words of a command, without the secrets that only their neighbours tell: `["--password", "…"]`."""
    before = [command] if isinstance(command, str) else []
    if not all(isinstance(word, str) for word in words) or not any(word.startswith("-") for word in words):
        return words
    clean = [*before, *words]
    for place, (option, word) in enumerate(pairwise(clean)):
        if option.startswith("--") and names_a_credential(option, word):
            clean[place + 1] = "[redacted:credential]"
            kinds.add("credential")
    text, found = redactor.redact(WORD_END.join(clean))
    # A secret that reaches over several words is none of a command.
    if found and text.count(WORD_END) == len(clean) - 1:
        clean = text.split(WORD_END)
        kinds.update(found)
    return clean[len(before) :]


def _clean_dict(redactor: Redactor, value: dict[str, Json], kinds: set[str]) -> dict[str, Json]:
    # `{"name": "DB_PASSWORD", "value": "…"}` is how environments are written down.
    named = value.get("name", value.get("key")) if "value" in value else None
    clean: dict[str, Json] = {}
    for name, inner in value.items():
        telling = named if name == "value" and isinstance(named, str) else name
        if isinstance(inner, list | tuple) and name in _ARGUMENTS and "command" in value:
            inner = list(_clean_words(redactor, inner, kinds, value["command"]))  # noqa: PLW2901 -- the same, cleaner
        clean[_free_name(_clean(redactor, name, kinds), clean)] = _clean_named(redactor, telling, inner, kinds)
    return clean


def _clean_named(redactor: Redactor, name: str, value: Json, kinds: set[str]) -> Json:
    if isinstance(value, list | tuple):
        return [_clean_named(redactor, name, inner, kinds) for inner in _clean_words(redactor, value, kinds)]
    clean: Json = _clean(redactor, value, kinds)
    if isinstance(clean, str) and isinstance(value, str) and names_a_credential(name, clean):
        kinds.add("credential")
        return "[redacted:credential]"
    return clean


class _Object(list[tuple[str, Any]]):
    """The names and values of a JSON object as they stand in its text, also a name that stands there twice."""


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_Object)


def _clean_json(redactor: Redactor, text: str) -> tuple[str, set[str]]:
    """The text with a placeholder for each secret in the JSON that it holds. All else stays to the letter."""
    kinds: set[str] = set()
    parts: list[str] = []
    done = 0
    in_vain = 4 * len(
        text
    )  # What begins like JSON and is none is read again at each of its brackets, but not for ever.
    rest, base = text, 0
    for site in _JSON.finditer(text):
        start = site.start()
        if start < done:
            continue
        if start - base > max(_PIECE, len(text) // 64):
            # An error counts the lines before it, so it is given few of them.
            rest, base = text[start:], start
        try:
            value, stop = _DECODER.raw_decode(rest, start - base)
        except json.JSONDecodeError as error:
            reached = len(rest) if error.msg.startswith("Unterminated") else error.pos
            in_vain -= 200 + reached - (start - base)
        except RecursionError:
            in_vain -= _TOO_DEEP
        else:
            stop += base
            parts += (text[done:start], _clean_value(redactor, value, text[start:stop], kinds))
            done = stop
        if in_vain < 0:
            break
    return "".join((*parts, text[done:])), kinds


def _clean_value(redactor: Redactor, value: Any, text: str, kinds: set[str]) -> str:  # noqa: ANN401 -- JSON
    """The text of a JSON value with a placeholder for each string that is, or holds, a secret."""
    parts: list[str] = []
    done = 0
    strings = _strings_in(value, redactor, kinds)
    for token, (said, name, given) in zip(_JSON_STRING.finditer(text), strings, strict=True):
        clean, found = clean_text(redactor, given)
        if name and names_a_credential_in_text(name, clean):
            clean, found = "[redacted:credential]", ("credential",)
        kinds.update(found)
        if clean != said:
            # A character that no file can hold is written as its number, as it was.
            parts += (text[done : token.start()], json.dumps(clean, ensure_ascii=_has_surrogates(clean)))
            done = token.end()
    return "".join((*parts, text[done:]))


def _strings_in(value: Any, redactor: Redactor, kinds: set[str]) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401 -- JSON
    """Every string of a JSON value in the order of its text: names too, for a value the name that it has.

    The third is the string again, but in a list of the words of a command without what is secret among them.
    """

    def in_list(inner: Any, command: object = None) -> Any:  # noqa: ANN401 -- JSON
        return _clean_words(redactor, inner, kinds, command) if isinstance(inner, list) else inner

    waiting = [(value, "", in_list(value))]
    while waiting:
        one, name, clean = waiting.pop()
        match one:
            case str():
                yield one, name, clean
            case _Object():
                # `{"name": "DB_PASSWORD", "value": "…"}` is how environments are written down.
                fields = dict(one)
                called = fields.get("name", fields.get("key"))
                for own, inner in reversed(one):
                    telling = called if own == "value" and isinstance(called, str) else own
                    command = fields.get("command") if own in _ARGUMENTS else None
                    waiting += ((inner, telling, in_list(inner, command)), (own, "", own))
            case list():
                pairs = zip(reversed(one), reversed(clean), strict=True)
                waiting += ((inner, name, in_list(word)) for inner, word in pairs)


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
    seen = normalized(text)
    called = _called(seen.text)
    if not called:
        return []
    found = [(*seen.origin(start, stop), place) for place in called for start, stop in RULES[place].find(seen.text)]
    if not found:
        return []
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)]
    if taken:
        found = [span for span in found if not _touches(span, taken)]
    return [(start, stop, RULES[place].kind) for start, stop, place in _merged(found)]


def _called(text: str) -> Collection[int]:
    """Which rules are worth asking about this text. This is all that ordinary text costs."""
    lowered = text.lower()
    called = [places for begin, places in _PASSWORDS if begin in lowered]
    if not text.isascii():
        called += [places for begin, places in _FOREIGN if begin in lowered]
    if b"x" * TOKEN in text.encode(errors="replace").translate(_SIGNS):
        called += [places for begin, places in _TOKENS if begin in lowered]
        called += [places for begin, places in _EXACT if begin in text]
        called += map(_BY_PREFIX.__getitem__, {*_FIRST.findall(" ".join(_LONG.findall(text)))} & _BY_PREFIX.keys())
    return set(chain.from_iterable(called)) if called else ()


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
