"""A version of a text as the difference from another: stretches that are copied, and what is new between them."""

import zlib
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import takewhile

MOST_LINES = 2_000
"""Changed lines on either side up to which looking for what moved is worth its time."""

_NUMBER = 5
"""Bytes of a number: enough for any blob."""


def difference(base: bytes, content: bytes) -> bytes | None:
    """How to make the content from the base, compressed; None when looking for it would take too long."""
    before, after = base.splitlines(keepends=True), content.splitlines(keepends=True)
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(old), len(new)) > MOST_LINES:
        return None
    starts = _starts(before)
    script = bytearray()
    for kind, from_line, to_line, from_new, to_new in _steps(head, old, new, tail, len(before)):
        if kind == "equal":
            script += _number(starts[from_line]) + _number(starts[to_line] - starts[from_line])
        if kind in ("insert", "replace"):
            words = b"".join(new[from_new:to_new])
            script += _number(0) + _number(0) + _number(len(words)) + words
    return zlib.compress(bytes(script), 6)


def restored(base: bytes, script: bytes) -> bytes:
    """The content that the difference was made for."""
    plain = zlib.decompress(script)
    content = bytearray()
    place = 0
    while place < len(plain):
        start, length = _read(plain, place), _read(plain, place + _NUMBER)
        place += 2 * _NUMBER
        if length:
            content += base[start : start + length]
        else:
            words = _read(plain, place)
            place += _NUMBER
            content += plain[place : place + words]
            place += words
    return bytes(content)


def _alike(one: list[bytes], other: list[bytes]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _steps(
    head: int, old: list[bytes], new: list[bytes], tail: int, lines: int
) -> Iterator[tuple[str, int, int, int, int]]:
    if head:
        yield "equal", 0, head, 0, 0
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield kind, head + a, head + b, c, d
    if tail:
        yield "equal", lines - tail, lines, 0, 0


def _starts(lines: list[bytes]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "big")


def _read(plain: bytes, place: int) -> int:
    return int.from_bytes(plain[place : place + _NUMBER], "big")
