"""Namespaces: what a record is kept for, such as the short term or the long term. A record may be in several.

Membership is a part of the record (`data["namespaces"]`, a name → true), so it goes wherever the record goes, is
filtered by in every store, and an embedding serves all namespaces of its record.
"""

import re
from collections.abc import Sequence
from typing import Final

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import Json, check_several, shown
from scrubjay.model.memory import Memory

SHORT_TERM: Final = "short-term"
LONG_TERM: Final = "long-term"

FIELD: Final = "namespaces"
"""Where the data of a memory has them."""

MOST_NAMESPACES: Final = 32
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def check_namespaces(names: Sequence[str]) -> tuple[str, ...]:
    """These names, each once, in their order. Raises InvalidInput for what cannot be one."""
    check_several(FIELD, names)
    for name in names:
        check_namespace(name)
    if len(unique := tuple(dict.fromkeys(names))) > MOST_NAMESPACES:
        raise InvalidInput(f"namespaces are {len(unique)}: use at most {MOST_NAMESPACES}")
    return unique


def check_namespace(name: str) -> None:
    """A name that can be a path into data. Raises InvalidInput for another one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"namespace is {shown(name)}: use lower-case letters, digits, - and _, such as 'long-term'")


def membership(names: Sequence[str]) -> dict[str, Json]:
    """What the data of a memory in these namespaces has; nothing for none."""
    unique = check_namespaces(names)
    return {FIELD: dict.fromkeys(unique, True)} if unique else {}


def belonging(name: str) -> dict[str, Json]:
    """The condition of `Filter.data` that admits what is in this namespace."""
    check_namespace(name)
    return {f"{FIELD}.{name}": True}


def namespaces_of(memory: Memory) -> tuple[str, ...]:
    """The namespaces that a memory is in, sorted."""
    held = memory.data.get(FIELD)
    return tuple(sorted(name for name, inside in held.items() if inside is True)) if isinstance(held, dict) else ()
