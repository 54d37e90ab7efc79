"""Cite code: `src/app.py`, `src/app.py:10-20` or `src/app.py#load` become the lines themselves and their hash."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.ingest.pieces import pieces_of
from scrubjay.memories.workspace.ingest.reading import Source, read
from scrubjay.memories.workspace.repository import Repository
from scrubjay.model.checks import shown
from scrubjay.model.citations import Citation, hash_of
from scrubjay.ports import Redactor

LONGEST: Final = 4_000
"""Characters of the cited lines that are kept with a citation: they find them again after an edit."""

_LINES: Final = re.compile(r"(?P<path>.+?):(?P<start>\d+)(?:-(?P<stop>\d+))?\Z")


def cited(references: Sequence[str], repository: Repository, redactor: Redactor | None) -> list[Citation]:
    """The code that these name, as it is now. Raises InvalidInput for what is not there."""
    return [_cited(reference, repository, redactor) for reference in references]


def _cited(reference: str, repository: Repository, redactor: Redactor | None) -> Citation:
    if not isinstance(reference, str) or not reference.strip():
        raise InvalidInput(f"cites holds {shown(reference)}: use a path, path:10-20, or path#symbol")
    named, _, symbol = reference.partition("#")
    lines = _LINES.match(named) if not symbol else None
    path = repository.relative(lines["path"] if lines is not None else named)
    source = _source(repository.root, path, redactor, reference)
    if symbol:
        return _of_symbol(source, symbol, reference)
    if lines is not None:
        start = int(lines["start"])
        return _of_lines(source, start, int(lines["stop"] or start), reference)
    return _of_lines(source, 1, len(source.text.rstrip("\n").split("\n")), reference)


def _source(root: Path, path: str, redactor: Redactor | None, reference: str) -> Source:
    source = read(root, path, redactor)
    if not isinstance(source, Source):
        raise InvalidInput(
            f"cites holds {shown(reference)}: {path} cannot be cited, {source.evidence or source.reason}"
        )
    return source


def _of_symbol(source: Source, symbol: str, reference: str) -> Citation:
    pieces = pieces_of(source)
    parts = [piece.citation for piece in pieces if piece.citation.symbol == symbol]
    if not parts:
        parts = [piece.citation for piece in pieces if symbol in piece.names]
    if not parts:
        known = [piece.citation.symbol for piece in pieces if piece.citation.symbol]
        some = f"it has {', '.join(dict.fromkeys(known[:8]))}" if known else "it has none that are known"
        raise InvalidInput(f"cites holds {shown(reference)}: there is no {symbol} in {source.path}, {some}")
    return replace(_of_lines(source, parts[0].start, parts[-1].stop, reference), symbol=symbol)


def _of_lines(source: Source, start: int, stop: int, reference: str) -> Citation:
    lines = source.lines
    if not 1 <= start <= stop <= len(lines):
        raise InvalidInput(f"cites holds {shown(reference)}: {source.path} has the lines 1 to {len(lines)}")
    text = "\n".join(lines[start - 1 : stop])
    return Citation(
        path=source.path,
        start=start,
        stop=stop,
        hash=hash_of(text),
        language=source.language,
        excerpt=text if len(text) <= LONGEST else None,
    )
