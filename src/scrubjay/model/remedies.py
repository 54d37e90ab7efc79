"""Remedies: what to write instead of a name that is not known, or of a value that pydantic refuses, in our words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

_LIKENESS: Final = 0.75
"""How alike two names have to be for one to be a misspelling of the other: `embeder`, `kind` for `kinds`."""

_WORDS: Final = {
    "bool": "true or false",
    "int": "a whole number, such as 5",
    "float": "a number, such as 0.5",
    "string": "text",
    "list": "a list",
    "dict": "a JSON object",
    "model": "a JSON object",
    "datetime": "a moment with its zone, such as 2026-03-01T12:00:00Z",
}
"""What a value should have been, by the type that pydantic looked for."""

_SHAPES: Final = ("_type", "_parsing", "_from_float")
"""How pydantic's names end for a value that is of another type, or cannot be read as this one."""

_BOUNDS: Final = {
    "greater_than_equal": ("ge", "{} or more"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "{} or less"),
    "less_than": ("lt", "less than {}"),
    "literal_error": ("expected", "{}"),
    "enum": ("expected", "{}"),
}
"""For each bound that a value may break: what pydantic calls it, and how it reads."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is probably a misspelling of; None when none is much like it."""
    from difflib import get_close_matches  # noqa: PLC0415 -- for those who misspell something

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=_LIKENESS)), None)


def misspelt(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Those of the names that are not known but much like one that is, each with that one."""
    likely = {name: meant(name, known) for name in sorted(names) if name not in known}
    return {name: right for name, right in likely.items() if right is not None}


def instead(name: object, known: Sequence[str]) -> str:
    """What to write instead of a name that is not known: the one that was probably meant, and all that there are."""
    likely = meant(str(name), known)  # The key of a dict that somebody gave: it may be anything.
    return f"did you mean {likely}? There are {', '.join(known)}" if likely else f"use {', '.join(known)}"


def wanted(error: Mapping[str, Any]) -> str | None:
    """What to use instead, for one finding of pydantic; None where only pydantic's own words say it."""
    kind: str = error["type"]
    if kind in _BOUNDS:
        name, reads = _BOUNDS[kind]
        return reads.format(error["ctx"][name])
    return _WORDS.get(kind.partition("_")[0]) if kind.endswith(_SHAPES) else None
