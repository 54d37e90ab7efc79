"""Split a long text into parts that an embedder can read whole, at the best places it offers."""

import re
from collections.abc import Callable, Sequence
from typing import Final

Span = tuple[int, int]
Count = Callable[[Sequence[str]], list[int]]

# From the best place to cut to the worst: between paragraphs, lines, sentences, words, anywhere.
_SEAMS: Final = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:。！？])\s+"),
    re.compile(r"\s+"),
)
_SPECIALS: Final = 2
"""Tokens that a model adds around every text, at most."""


def split(text: str, *, window: int, count: Count) -> list[Span]:
    """Return the parts of the text, in order, each within the window and together all of it but white space between."""
    # A token is at least one byte, so a short text needs no counting.
    size = len(text) if text.isascii() else len(text.encode())
    if size + _SPECIALS <= window or count([text])[0] <= window:
        return [(0, len(text))]
    return _packed(text, _pieces(text, (0, len(text)), window, count, 0), window)


def _pieces(text: str, span: Span, window: int, count: Count, seam: int) -> list[tuple[Span, int]]:
    """The span cut at this kind of seam, and what is still too long at the next kind; each piece with its tokens."""
    spans = _cut(text, span, seam, window)
    pieces: list[tuple[Span, int]] = []
    for piece, tokens in zip(spans, count([text[start:stop] for start, stop in spans]), strict=True):
        # One character is as short as a part gets, whatever it counts.
        if tokens <= window or piece[1] - piece[0] == 1:
            pieces.append((piece, tokens))
        else:
            pieces += _pieces(text, piece, window, count, seam + 1)
    return pieces


def _cut(text: str, span: Span, seam: int, window: int) -> list[Span]:
    start, stop = span
    if seam >= len(_SEAMS):
        # No seam is left. Half of the characters each time: even a token per byte gets below the window soon.
        step = max(1, min((stop - start + 1) // 2, window))
        return [(place, min(place + step, stop)) for place in range(start, stop, step)]
    spans: list[Span] = []
    for found in _SEAMS[seam].finditer(text, start, stop):
        if found.start() > start:
            spans.append((start, found.start()))
        start = found.end()
    if stop > start:
        spans.append((start, stop))
    return spans


def _packed(text: str, pieces: Sequence[tuple[Span, int]], window: int) -> list[Span]:
    """Neighbouring pieces joined as long as they fit together."""
    spans: list[Span] = []
    room = 0
    for (start, stop), tokens in pieces:
        if not text[start:stop].strip():
            continue
        # White space between two pieces comes with them, and some models count every byte of it.
        between = len(text[spans[-1][1] : start].encode()) if spans else 0
        if spans and between + tokens <= room:
            spans[-1] = (spans[-1][0], stop)
            room -= between + tokens
        else:
            spans.append((start, stop))
            room = window - tokens
    # Of white space alone, one character stands for all of it.
    return spans or [(0, 1)]
