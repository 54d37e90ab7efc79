"""Read a file: its text without its secrets, line for line where it was, and what was taken out."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Final

from scrubjay.memories.workspace.ingest import evidence
from scrubjay.memories.workspace.ingest.shebang import language_of_script
from scrubjay.memories.workspace.languages import language_of
from scrubjay.model.citations import hash_of
from scrubjay.model.code import Redaction, Skipped
from scrubjay.ports import Redactor
from scrubjay.write.redact import clean_text

TEXT: Final = "text"
"""What a file is in when neither its name nor its first line tells."""

_PLACEHOLDER: Final = re.compile(r"\[redacted:([a-z0-9-]+)\]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text of a file as it may be stored."""

    path: str
    language: str
    text: str
    """Redacted. It has as many lines as the file, so that a line number means the same in both."""
    size: int
    hash: str
    """Of the file; of its redacted text when it held secrets, for a hash of a short secret gives it away."""
    redactions: tuple[Redaction, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Its lines, without what ends them."""
        return self.text.split("\n")


def read(root: Path, path: str, redactor: Redactor | None) -> Source | Skipped:
    """Read one file, or say why it does not count."""
    content = bytes_of(root, path)
    return content if isinstance(content, Skipped) else source_of(path, content, redactor)


def bytes_of(root: Path, path: str) -> bytes | Skipped:
    """The file as it is, or why it cannot be read."""
    file = root / path
    try:
        size = file.stat().st_size
        if size > evidence.LARGEST:
            return Skipped(path=path, reason="large", evidence=f"{size:,} bytes")
        return file.read_bytes()
    except OSError as error:
        return Skipped(path=path, reason="unreadable", evidence=error.strerror or "")


def source_of(path: str, content: bytes, redactor: Redactor | None) -> Source | Skipped:
    """The text in these bytes, or why they do not count."""
    if (verdict := evidence.of_bytes(content)) is not None:
        return Skipped(path=path, reason=verdict[0], evidence=verdict[1])
    text = decoded(content)
    if text is None:
        return Skipped(path=path, reason="binary", evidence="it is not text in UTF-8, UTF-16 or Latin-1")
    if not text.strip():
        return Skipped(path=path, reason="data", evidence="it is empty")
    if (verdict := evidence.of_text(text)) is not None:
        return Skipped(path=path, reason=verdict[0], evidence=verdict[1])
    clean = redacted_lines(text, redactor)
    redactions = _found(path, text, clean) if clean != text else ()
    return Source(
        path=path,
        language=language_of(path) or language_of_script(text[:200].partition("\n")[0]) or TEXT,
        text=clean,
        size=len(content),
        hash=hash_of(clean) if redactions else sha256(content).hexdigest(),
        redactions=redactions,
    )


def decoded(content: bytes) -> str | None:
    """The bytes as text with plain newlines; None when they are none."""
    for encoding in ("utf-16", "utf-8-sig", "latin-1"):
        if encoding == "utf-16" and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if _CONTROLS.search(text):
            # Latin-1 reads anything. Text has no such characters; a form feed it may have.
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return None


def redacted_lines(text: str, redactor: Redactor | None) -> str:
    """The text without its secrets, and with as many lines as before: a key of 30 lines leaves 29 empty ones."""
    if redactor is None:
        return text
    clean, kinds = clean_text(redactor, text)
    if not kinds or clean.count("\n") == text.count("\n"):
        return clean
    before, after = text.split("\n"), clean.split("\n")
    lines: list[str] = []
    for _, old_start, old_stop, new_start, new_stop in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        lines += after[new_start:new_stop]
        lines += [""] * ((old_stop - old_start) - (new_stop - new_start))
    return "\n".join(lines)


def _found(path: str, text: str, clean: str) -> tuple[Redaction, ...]:
    found: list[Redaction] = []
    for number, (before, after) in enumerate(zip(text.split("\n"), clean.split("\n"), strict=False), start=1):
        if before != after:
            known = _PLACEHOLDER.findall(before)
            found += [
                Redaction(path=path, line=number, kind=kind) for kind in _PLACEHOLDER.findall(after)[len(known) :]
            ]
    return tuple(found)
