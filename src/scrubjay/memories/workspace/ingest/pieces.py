"""Cut a file into pieces, name each, and say what the file as a whole is about."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from scrubjay.memories.workspace.ingest.reading import Source
from scrubjay.memories.workspace.ingest.structure import spans_of
from scrubjay.memories.workspace.ingest.windows import Span, is_blank, sections, trimmed, windows
from scrubjay.model.checks import NAME_LIMIT
from scrubjay.model.citations import Citation, hash_of

PAGES: Final = ("markdown", "restructuredtext")

LONGEST_PATH: Final = 200
"""Characters of a path that a key spells out. The names of longer ones end in a digest."""

MOST_NAMES: Final = 200
"""Names of one file that its outline lists."""

_OPENING: Final = 600
"""Characters of its beginning that a file is described by."""

_REMARK: Final = re.compile(r"\s*(?:#(?!!|include|define|if)|//|/\*|\*|--|;|<!--|%)")
_QUOTES: Final = ('"""', "'''")
_NOTICE: Final = re.compile(r"copyright|licen[cs]e|spdx|coding[:=]|eslint|-\*-", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some lines of a file, named so that the next version of them is known as such."""

    key: str
    content: str
    citation: Citation
    names: tuple[str, ...] = ()


def pieces_of(source: Source) -> list[Piece]:
    """The file in pieces, in order. Nothing is left out but empty lines between them."""
    lines = source.lines
    spans = _spans(source, lines)
    seen: Counter[str] = Counter()
    pieces: list[Piece] = []
    for span in spans:
        content = "\n".join(lines[span.start : span.stop])
        name = span.symbol or ""
        seen[name] += 1
        if seen[name] > 1 or not name:
            # The second part of a long function, the second overload, the third stretch between functions.
            name = f"{name}~{seen[name]}"
        citation = Citation(
            path=source.path,
            start=span.start + 1,
            stop=span.stop,
            hash=hash_of(content),
            symbol=span.symbol,
            language=source.language,
        )
        pieces.append(Piece(key=piece_key(source.path, name), content=content, citation=citation, names=span.names))
    return pieces


def _spans(source: Source, lines: Sequence[str]) -> list[Span]:
    if source.language in PAGES:
        cut = sections(lines, source.language)
    else:
        cut = spans_of(source.text, _dialect(source)) or [Span(0, len(lines))]
    whole = [window for span in cut for window in windows(lines, trimmed(lines, span))]
    return [trimmed(lines, span) for span in whole if not is_blank(lines, span)]


def _dialect(source: Source) -> str:
    """The grammar's name for the language: TypeScript with markup in it has one of its own."""
    return "tsx" if source.path.lower().endswith(".tsx") else source.language


def file_key(path: str) -> str:
    """What names a file among the current memories of a scope."""
    return f"file:{_short(path)}"


def piece_keys(path: str) -> str:
    """How the keys of all pieces of a file begin."""
    return f"{_short(path)}#"


def piece_key(path: str, name: str) -> str:
    """What names a piece: its file, and the symbol or a number."""
    key = piece_keys(path) + " ".join(name.split())
    return key if len(key) <= NAME_LIMIT else f"{key[: NAME_LIMIT - 17]}…{_digest(key)}"


def _short(path: str) -> str:
    return path if len(path) <= LONGEST_PATH else f"{path[: LONGEST_PATH - 17]}…{_digest(path)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def outline(source: Source, pieces: Sequence[Piece]) -> str:
    """What a search should find the file by: its path, how it begins, and every name that it defines."""
    names = list(dict.fromkeys(name for piece in pieces for name in piece.names))
    shown = ", ".join(names[:MOST_NAMES])
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    defines = f"Defines {shown}{more}" if names and source.language not in PAGES else ""
    about = f"Sections: {shown}{more}" if names and source.language in PAGES else defines
    return "\n".join(part for part in (f"{source.path} ({source.language})", _opening(source), about) if part)


def _opening(source: Source) -> str:
    """What the file says of itself: the text or the comments that it begins with, without notices of copyright."""
    lines = [line for line in source.lines[:60] if line.strip() and not line.startswith("#!")]
    if source.language in PAGES or not lines:
        said = lines[:12]
    elif lines[0].lstrip("rRuU").startswith(_QUOTES):
        quote = lines[0].lstrip("rRuU")[:3]
        ends = [place for place, line in enumerate(lines) if quote in (line.lstrip("rRuU")[3:] if not place else line)]
        said = lines[: ends[0] + 1] if ends else lines[:1]
    else:
        said = list(takewhile(_REMARK.match, lines))
    told = " ".join(line.strip().strip("\"'#/*-;!<>% ") for line in said if not _NOTICE.search(line))
    return " ".join(told.split())[:_OPENING]
