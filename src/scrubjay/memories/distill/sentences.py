"""Take a text apart into sentences, each at its place in it. Code, links, lists and abbreviations stay whole.

It takes a time that grows with the length of the text and no faster, whatever stands in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`[^`\n]+`|\bhttps?://\S+|\bwww\.\S+")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+•‣◦–][ \t]+|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+|#{1,6}[ \t]+|\|)")
_QUOTED: Final = re.compile(r"[ \t]*>")
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|$)|[。！？]+[」』”]?")
_NOT_BLANK: Final = re.compile(r"\S")
_INITIALS: Final = re.compile(r"(?:[A-Za-z]\.)+")
_LONGEST_WORD: Final = 60
_ENDS: Final = (".", "!", "?", "…", "。", "！", "？", ":", ";")

_NEVER_LAST: Final = frozenset(
    """mr mrs ms dr prof rev hon sr jr st mt gen col sgt capt lt e.g i.e cf vs viz resp approx ca fig figs eq sec ch vol
    no nos art pp p al ed eds jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat
    ext tel dept univ assn z.b bzw""".split()  # noqa: SIM905 -- a list of strings reads worse
)
"""Abbreviations after which a sentence goes on."""

_SOMETIMES_LAST: Final = frozenset("etc inc ltd corp co llc a.m p.m am pm u.s u.k u.n usw ave blvd rd".split())  # noqa: SIM905 -- the same
"""Abbreviations after which one may end: when a capital follows."""


@dataclass(frozen=True, slots=True)
class Span:
    """One sentence of a text, from `start` to `stop`."""

    start: int
    stop: int
    is_quoted: bool = False
    """Whether it stands in a quotation, marked with `>`: somebody else's words."""
    is_code: bool = False
    """Whether it is a block of code."""


def sentences_of(text: str) -> list[Span]:
    """Every sentence, in order. Together they hold every word of the text, but no marks of lists and quotations."""
    found: list[Span] = []
    place = 0
    for block in _FENCE.finditer(text):
        found += _prose(text, place, block.start())
        found += _trimmed(text, block.start(), block.end(), is_code=True)
        place = block.end()
    return found + list(_prose(text, place, len(text)))


def _prose(text: str, start: int, stop: int) -> Iterator[Span]:
    for first, last, is_quoted in _paragraphs(text, start, stop):
        # What stands in code or in a link does not end a sentence.
        inline = _INLINE.finditer(text, first, last)
        closed = next(inline, None)
        begin = first
        for end in _END.finditer(text, first, last):
            while closed is not None and closed.end() <= end.end():
                closed = next(inline, None)
            if closed is not None and closed.start() < end.start():
                continue
            before = text[max(begin, end.start() - _LONGEST_WORD) : end.start()]
            following = _NOT_BLANK.search(text, end.end(), last)
            if _goes_on(before, end.group(), following.group() if following else ""):
                continue
            yield from _trimmed(text, begin, end.end(), is_quoted=is_quoted)
            begin = end.end()
        yield from _trimmed(text, begin, last, is_quoted=is_quoted)


def _paragraphs(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """Lines that belong together: one that begins in lower case goes on with the one before."""
    begin, end, is_quoted, is_whole = start, start, False, False
    place = start
    while place < stop:
        newline = text.find("\n", place, stop)
        line_end = newline if newline >= 0 else stop
        line = text[place:line_end]
        quote = _QUOTED.match(line)
        marker = None if quote else _MARKER.match(line)
        own = quote.end() if quote else marker.end() if marker else 0
        stripped = line.strip()
        goes_on = end > begin and not quote and not marker and not is_quoted and stripped[:1].islower() and not is_whole
        if goes_on:
            end = line_end
        else:
            if end > begin:
                yield begin, end, is_quoted
            begin, end, is_quoted = place + own, line_end, quote is not None
        is_whole = stripped.endswith(_ENDS)
        place = line_end + 1
        if not stripped and end > begin:
            yield begin, end, is_quoted
            begin = end = place
    if end > begin:
        yield begin, end, is_quoted


def _goes_on(before: str, mark: str, following: str) -> bool:
    """Whether a full stop belongs to an abbreviation, an initial or a number, and the sentence goes on behind it.

    Given are what stands before the mark, and the first letter after it; none where nothing follows.
    """
    if not following or not mark.startswith("."):
        # An ellipsis in the middle of a thought: what follows begins in lower case.
        return bool(following) and mark.startswith("…") and following.islower()
    if mark.startswith(".."):
        return following.islower()
    words = before.split()
    word = words[-1].lstrip("([{\"'“‘").lower() if words and not before[-1].isspace() else ""
    if word in _NEVER_LAST:
        return not (word == "no" and following.isupper())
    if word in _SOMETIMES_LAST or (len(word) > 1 and _INITIALS.fullmatch(f"{word}.") is not None):
        return not following.isupper()
    # The initial of a name: J. Smith. "Plan B. Then" has a word before it too, but few sentences end so.
    return len(word) == 1 and word.isalpha() and word != "i" and following.isupper()


def _trimmed(text: str, start: int, stop: int, *, is_quoted: bool = False, is_code: bool = False) -> Iterator[Span]:
    piece = text[start:stop]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if right > left:
        yield Span(start + left, start + right, is_quoted, is_code)
