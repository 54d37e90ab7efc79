"""A text as its reader sees it: without invisible characters, and with look-alikes and escapes as what they stand for.

Secrets are looked for in this form, and taken out of the original.
"""

import re
from bisect import bisect_right
from typing import Final, NamedTuple
from unicodedata import normalize

_RANGES: Final = (
    *((0xA0, 0xA0), (0x17F, 0x17F), (0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F), (0x2100, 0x214F)),
    *((0x2460, 0x24FF), (0x3000, 0x3000), (0xFE50, 0xFE6B), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF)),
)
"""Spaces, letters and punctuation of another width or typeface."""

_SEEN_AS: Final = {
    code: seen
    for first, last in _RANGES
    for code in range(first, last + 1)
    if len(seen := normalize("NFKC", chr(code))) == 1 and seen.isascii()
}
_LOOKALIKE: Final = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES) + "]")

_UNSEEN: Final = re.compile(
    # Soft hyphens, zero-width characters, marks of direction, variation selectors, tags, accents on their own.
    "(?P<invisible>[\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+)"
    # In a string of a string every line break and many a character hides behind backslashes.
    r"|\\++(?:(?P<blank>[nrt])|u00(?P<code>[2-7][0-9A-Fa-f]))"
)


class Normalized(NamedTuple):
    """The form to look at, and where each of its pieces begins, there and in the original."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, start: int, stop: int) -> tuple[int, int]:
        """Where the original has what stands from start to stop here."""
        return (start, stop) if not self.starts else (self._of(start), self._of(stop - 1, after=1))

    def _of(self, place: int, after: int = 0) -> int:
        piece = bisect_right(self.starts, place) - 1
        if (
            after
            and piece + 1 < len(self.starts)
            and place + after == self.starts[piece + 1]
            and self._is_escape(piece)
        ):
            return self.origins[piece + 1]
        return self.origins[piece] + place - self.starts[piece] + after

    def _is_escape(self, piece: int) -> bool:
        return self.starts[piece + 1] - self.starts[piece] == 1


def normalized(text: str) -> Normalized:
    """The text as its reader sees it. Nearly every text is that already."""
    seen = text
    if not text.isascii() and _LOOKALIKE.search(text):
        seen = text.translate(_SEEN_AS)
    if text.isascii() and "\\" not in text:
        return Normalized(seen, [], [])
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = done = 0
    for unseen in _UNSEEN.finditer(seen):
        kept = seen[done : unseen.start()]
        if kept:
            pieces.append(kept)
            starts.append(length)
            origins.append(done)
            length += len(kept)
        if unseen["invisible"] is None:
            code = unseen["code"]
            pieces.append(chr(int(code, 16)) if code else "\n" if unseen["blank"] != "t" else "\t")
            starts.append(length)
            origins.append(unseen.start())
            length += 1
        done = unseen.end()
    if not starts and not done:
        return Normalized(seen, [], [])
    pieces.append(seen[done:])
    return Normalized("".join(pieces), [*starts, length], [*origins, done])
