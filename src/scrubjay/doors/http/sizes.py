"""How many values a text of JSON holds, told before it is read: each costs far more than its bytes."""

from typing import Final

MOST_VALUES: Final = 100_000
"""In one body, or one line of many. To parse or to check as many is one call that lets nobody else run, of 30 ms."""

_MARKS: Final = (b",", b"[", b"{")
"""Every value but the first stands behind one of these."""

TOO_MANY: Final = f"more than {MOST_VALUES:,} values: send it in several parts"


def is_too_much(text: bytes) -> bool:
    """Whether this JSON holds so many values that everybody else would wait for it."""
    if _marks(text) < MOST_VALUES:
        return False
    # In another encoding than UTF-8, which the parser reads all the same, nothing here tells where a text ends.
    if b"\0" in text:
        return True
    # Texts have such marks, too, so they are left out: what lies between every other pair of quotation marks.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # At most every other text is the name of a value: of more, nothing has to be left out.
    if bare.count(b'"') > 4 * MOST_VALUES:
        return True
    return _marks(b"".join(bare.split(b'"')[::2])) >= MOST_VALUES


def _marks(text: bytes) -> int:
    return sum(map(text.count, _MARKS))
