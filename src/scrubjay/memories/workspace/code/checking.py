"""Check citations: is the code that a memory speaks of still there, and still the same?"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from scrubjay.memories.workspace.ingest.pieces import Piece, pieces_of
from scrubjay.memories.workspace.ingest.reading import Source, read
from scrubjay.memories.workspace.ingest.walking import Walk
from scrubjay.model.citations import CheckedCitation, Citation, Drift, hash_of
from scrubjay.ports import Redactor

ALIKE: Final = 0.5
"""The share of the cited lines that have to be found again before it counts as the same code, edited."""

NAMESAKES: Final = 20
"""Files of the same name that are looked at when a file is gone."""


class Page:
    """A file of the working tree, as far as it was looked at."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.lines = source.lines

    @cached_property
    def pieces(self) -> list[Piece]:
        """The file in pieces, cut as ingest cuts it."""
        return pieces_of(self._source)


class Checker:
    """Compares citations with one working tree. It reads each file once, so make a new one for each question."""

    def __init__(self, root: Path, redactor: Redactor | None) -> None:
        self._root = root
        self._redactor = redactor
        self._pages: dict[str, Page | None] = {}

    def check(self, citation: Citation) -> CheckedCitation:
        """Say whether it is fresh, has drifted, or is orphaned; and where it is now."""
        page = self._page(citation.path)
        if page is None:
            return self._elsewhere(citation)
        if _hash(page.lines, citation.start, citation.stop) == citation.hash:
            return CheckedCitation(citation=citation, state="fresh")
        return self._moved(citation, page) or self._edited(citation, page) or self._elsewhere(citation)

    def _page(self, path: str) -> Page | None:
        if path not in self._pages:
            place = self._root / path
            # A link may lead anywhere; what ingest reads are files of the tree itself.
            inside = place.resolve().is_relative_to(self._root.resolve())
            source = read(self._root, path, self._redactor) if inside and place.is_file() else None
            self._pages[path] = Page(source) if isinstance(source, Source) else None
        return self._pages[path]

    def _moved(self, citation: Citation, page: Page) -> CheckedCitation | None:
        """The same lines at another place of the file; of several, the nearest."""
        length = citation.stop - citation.start + 1
        opening = (citation.excerpt or "").split("\n")[0] if citation.excerpt else None
        starts = sorted(range(1, len(page.lines) - length + 2), key=lambda start: abs(start - citation.start))
        for start in starts:
            if opening is not None and page.lines[start - 1] != opening:
                continue
            if _hash(page.lines, start, start + length - 1) == citation.hash:
                return _drifted(citation, "moved", start=start, stop=start + length - 1)
        return None

    def _edited(self, citation: Citation, page: Page) -> CheckedCitation | None:
        """What has the same name now, or else what has most of the same lines."""
        named = _named(citation.symbol, page.pieces) if citation.symbol else None
        if named is not None:
            return _drifted(citation, "edited", start=named.start, stop=named.stop)
        alike = _alike(citation, page.lines)
        return _drifted(citation, "edited", start=alike[0], stop=alike[1]) if alike is not None else None

    def _elsewhere(self, citation: Citation) -> CheckedCitation:
        """The same lines in a file of the same name in another folder: folders are moved more often than renamed."""
        for path in self._namesakes(citation.path):
            page = self._page(path)
            if page is not None and (found := self._moved(replace(citation, path=path), page)) is not None:
                return replace(found, citation=citation)
            if page is not None and _hash(page.lines, citation.start, citation.stop) == citation.hash:
                return _drifted(citation, "moved", path=path, start=citation.start, stop=citation.stop)
        return CheckedCitation(citation=citation, state="orphaned")

    def _namesakes(self, path: str) -> list[str]:
        name = PurePosixPath(path).name
        return [found for found in self._files if found != path and PurePosixPath(found).name == name][:NAMESAKES]

    @cached_property
    def _files(self) -> list[str]:
        return [found.path for found in Walk(self._root)]


def _hash(lines: Sequence[str], start: int, stop: int) -> str:
    return hash_of("\n".join(lines[start - 1 : stop])) if stop <= len(lines) else ""


def _drifted(citation: Citation, drift: Drift, *, start: int, stop: int, path: str | None = None) -> CheckedCitation:
    now = replace(citation, path=path or citation.path, start=start, stop=stop, excerpt=None)
    moved = now.path != citation.path or start != citation.start
    drifts: tuple[Drift, ...] = ("moved", "edited") if drift == "edited" and moved else (drift,)
    return CheckedCitation(citation=citation, state="drifted", drift=drifts, now=now)


def _named(symbol: str, pieces: Sequence[Piece]) -> Citation | None:
    """The piece with this symbol, or the one that holds it among others; all parts of it when it is long."""
    parts = [piece.citation for piece in pieces if piece.citation.symbol == symbol]
    if parts:
        return replace(parts[0], stop=parts[-1].stop)
    return next((piece.citation for piece in pieces if symbol in piece.names), None)


def _alike(citation: Citation, lines: Sequence[str]) -> tuple[int, int] | None:
    """Where most of the cited lines stand now, from the first to the last of them."""
    cited = [line.strip() for line in (citation.excerpt or "").split("\n")]
    telling = sum(bool(line) for line in cited)
    if not telling:
        return None
    now = [line.strip() for line in lines]
    blocks = SequenceMatcher(None, cited, now, autojunk=False).get_matching_blocks()[:-1]
    found = sum(bool(line) for block in blocks for line in cited[block.a : block.a + block.size])
    if found / telling < ALIKE:
        return None
    told = [block for block in blocks if any(cited[block.a : block.a + block.size])]
    start, stop = told[0].b + 1, told[-1].b + told[-1].size
    # Lines that are everywhere, such as a lone brace, may match far away: then it is not one place.
    return (start, stop) if stop - start + 1 <= 3 * len(cited) else None
