"""Ids are UUIDs: time-ordered ones of our own making, or named ones made from a caller's own id."""

import os
import time
from struct import Struct
from threading import Lock
from typing import Final
from uuid import NAMESPACE_URL, UUID, SafeUUID, uuid5

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_name, shown

_NAMED: Final = uuid5(NAMESPACE_URL, "scrubjay:memory")
_EIGHT_BYTES: Final = Struct(">Q")
_RANDOM: Final = (1 << 62) - 1
_SET_NUMBER: Final = vars(UUID)["int"].__set__
_SET_SAFETY: Final = vars(UUID)["is_safe"].__set__
_UNKNOWN: Final = SafeUUID.unknown
_lock = Lock()
_last = 0


def new_id() -> UUID:
    """A UUIDv7 that sorts after every earlier one of this process, also within one millisecond."""
    return new_ids(1)[0]


def new_ids(many: int) -> list[UUID]:
    """So many of them, in order. Made together they cost a fraction."""
    global _last  # noqa: PLW0603 -- the one counter that makes ids of a process monotonic
    now = time.time_ns()
    # 48 bits of milliseconds and 12 of its fraction: 244 ns apart is the closest two ids can be told apart.
    stamp = (now // 1_000_000 << 12) | (now % 1_000_000 * 4096 // 1_000_000)
    with _lock:
        first = max(stamp, _last + 1)
        _last = first + many - 1
    noise = os.urandom(8 * many)
    return [
        _with_number(stamp >> 12 << 80 | 7 << 76 | (stamp & 0xFFF) << 64 | 2 << 62 | random & _RANDOM)
        for stamp, (random,) in enumerate(_EIGHT_BYTES.iter_unpack(noise), first)
    ]


def _with_number(number: int) -> UUID:
    """The UUID of this number, which is one: `UUID` itself looks at it for longer than making it takes."""
    made = object.__new__(UUID)
    _SET_NUMBER(made, number)
    _SET_SAFETY(made, _UNKNOWN)
    return made


def id_of(value: UUID | str, tenant: str) -> UUID:
    """The id that a caller means: a UUID as it is; any other text names the same UUID every time it is used."""
    if isinstance(value, UUID):
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"id is {shown(value)}: use a UUID or a text of your own")
    try:
        return UUID(value)
    except ValueError:
        check_name("id", value)
        return uuid5(_NAMED, f"{tenant}\x00{value}")
