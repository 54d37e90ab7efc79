"""Ids are UUIDs: time-ordered ones of our own making, or named ones made from a caller's own id."""

import os
import time
from threading import Lock
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_name, shown

_NAMED: Final = uuid5(NAMESPACE_URL, "scrubjay:memory")
_lock = Lock()
_last = 0


def new_id() -> UUID:
    """A UUIDv7 that sorts after every earlier one of this process, also within one millisecond."""
    global _last  # noqa: PLW0603 -- the one counter that makes ids of a process monotonic
    now = time.time_ns()
    # 48 bits of milliseconds and 12 of its fraction: 244 ns apart is the closest two ids can be told apart.
    stamp = (now // 1_000_000 << 12) | (now % 1_000_000 * 4096 // 1_000_000)
    with _lock:
        _last = stamp = max(stamp, _last + 1)
    rand = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    return UUID(int=stamp >> 12 << 80 | 7 << 76 | (stamp & 0xFFF) << 64 | 2 << 62 | rand)


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
