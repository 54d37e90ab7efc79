"""Artifacts: what a job left in a folder or in a zip file, read as the job itself would have told it."""

import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, Final

from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.memories.workspace.files import Given
from scrubjay.memories.workspace.storing import DETAILS
from scrubjay.model.checks import in_utc, shown
from scrubjay.model.workspace import LONGEST_TASK_ID, MOST_FILES, is_inside

MANIFEST: Final = "completion.json"
"""The file that says what the job was."""

MOST_MEMBER: Final = 16 * 1024 * 1024
MOST_UNPACKED: Final = 256 * 1024 * 1024
"""Bytes of one file in a zip, and of all of them: a small archive can unpack to a very large one."""

_NOT_MADE_BY_HAND: Final = frozenset({"__pycache__", "node_modules", "venv"})
_HEADING: Final = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_READMES: Final = ("README.md", "readme.md", "README.txt", "README")
_MOST_README: Final = 100_000
_SEPARATORS: Final = re.compile(r"[-_.\s]+")


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A job as its artifacts tell it."""

    goal: str
    repo_path: str | Path
    details: Mapping[str, Any]


def jobs_in(directory: Path) -> list[Path]:
    """The folders and zip files that are a job each, by name; the directory itself when it has a manifest."""
    try:
        if (directory / MANIFEST).is_file():
            return [directory]
        found = sorted(directory.iterdir())
    except OSError as error:
        raise InvalidInput(f"directory is {shown(str(directory))}: {error.strerror or error}") from error
    return [
        one
        for one in found
        if not one.is_symlink() and not one.name.startswith(".") and (one.is_dir() or one.suffix.lower() == ".zip")
    ]


def read_job(place: Path, directory: Path, repo_path: str | Path | None) -> FoundJob:
    """The job whose artifacts lie here. Raises InvalidInput or Unsupported when they cannot be read."""
    try:
        if place.is_dir():
            files, told = _folder(place), _manifest((place / MANIFEST), place)
            readme = _readme(place)
        else:
            files, told, readme = _archive(place)
        at = datetime.fromtimestamp(place.stat().st_mtime, UTC)
    except OSError as error:
        raise InvalidInput(f"{place} cannot be read: {error.strerror or error}") from error
    heading = _HEADING.search(readme)
    goal = told.pop("goal", None) or (heading[1].strip() if heading else _SEPARATORS.sub(" ", place.stem).strip())
    where = told.pop("repo_path", None) or repo_path or directory
    kept = "artifact" if place.is_dir() else "zip"
    details: dict[str, Any] = {
        "task_id": _task_id(place, directory),
        kept: place.absolute(),
        "files": files,
        "at": at,
        **{name: value for name, value in told.items() if value is not None},
    }
    return FoundJob(goal=goal, repo_path=where, details=details)


def _folder(place: Path) -> list[Given]:
    """Every plain file below the folder, by path, but for hidden ones and what tools leave behind."""
    return [
        Given(path.relative_to(place).as_posix(), source=path)
        for path in sorted(_walked(place))
        if path.name != MANIFEST
    ]


def _walked(place: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_MADE_BY_HAND]
        yield from (
            path for name in names if not name.startswith(".") and not (path := Path(folder, name)).is_symlink()
        )


def _archive(place: Path) -> tuple[list[Given], dict[str, Any], str]:
    """The files of a zip, its manifest and its README. Nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(place) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and is_inside(one.filename)]
            size = sum(one.file_size for one in members)
            if size > MOST_UNPACKED:
                raise Unsupported(f"{place} unpacks to {size:,} bytes: the most is {MOST_UNPACKED:,}")
            contents = {
                one.filename: archive.read(one) for one in members[: MOST_FILES + 1] if one.file_size <= MOST_MEMBER
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise Unsupported(f"{place} is not a zip file that can be read: {error}") from error
    manifest = contents.pop(MANIFEST, None)
    told = _told(manifest.decode(errors="replace"), f"{place}:{MANIFEST}") if manifest is not None else {}
    readme = next((contents[name].decode(errors="replace") for name in _READMES if name in contents), "")
    hidden = {name for name in contents if any(part.startswith(".") for part in PurePosixPath(name).parts)}
    return [Given(name, content) for name, content in contents.items() if name not in hidden], told, readme


def _manifest(file: Path, place: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    told = _told(file.read_text(encoding="utf-8", errors="replace"), str(file))
    # What it names relative to itself lies beside it.
    for name in ("artifact", "zip"):
        if isinstance(told.get(name), str):
            told[name] = place / told[name]
    return told


def _told(text: str, file: str) -> dict[str, Any]:
    """What a manifest says, checked by name. Its files are those that lie beside it, whatever it lists."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Unsupported(f"{file} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unsupported(f"{file} is not a JSON object")
    if unknown := sorted(value.keys() - DETAILS - {"goal", "repo_path"}):
        known = ", ".join(sorted({"goal", "repo_path", *DETAILS}))
        raise InvalidInput(f"{file} has {unknown[0]}: a completion has {known}")
    value.pop("files", None)
    if isinstance(value.get("at"), str):
        try:
            value["at"] = in_utc("at", datetime.fromisoformat(value["at"]))
        except ValueError as error:
            raise InvalidInput(f"{file}: at is {shown(value['at'])}: use a moment such as 2026-03-01T12:00Z") from error
    return value


def _readme(place: Path) -> str:
    for name in _READMES:
        if (place / name).is_file():
            with (place / name).open(encoding="utf-8", errors="replace") as opened:
                return opened.read(_MOST_README)
    return ""


def _task_id(place: Path, directory: Path) -> str:
    """Names a job by where its artifacts lie, so that a second backfill finds it known."""
    name = place.name if place == directory else place.relative_to(directory).as_posix()
    if len(name) > LONGEST_TASK_ID - len("backfill:"):
        name = blake2b(name.encode(), digest_size=16).hexdigest()
    return f"backfill:{name}"
