"""Restoring a snapshot: its files are put below one folder, each whole or not at all, and never anywhere else.

Folders are opened one name at a time, without following links, and everything is done relative to what was opened. So
it makes no difference what somebody else does to the paths meanwhile. Everything is written and read back beside its
place before the first file is moved there. A folder that is not there yet appears with all of its files, or not at all.

A link is made again when it points into the folder, whatever else lies there. The others are left out.
"""

import os
import shutil
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import BinaryIO, Final

from scrubjay.errors import Conflict, InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.model.agent_files import WorkspaceFile, check_path
from scrubjay.model.checks import shown

STAGED: Final = ".scrubjay-restore-"
"""How the names of folders begin in which files wait for being put in place. No snapshot holds them."""

ABANDONED_SECONDS: Final = 3_600
"""After so long without a change, whoever filled such a folder was killed."""

LONGEST_NAME: Final = 255
"""Bytes of a file's name."""

NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDERS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_CHUNK: Final = 1 << 20


class Placing:
    """Puts the files of one snapshot into a folder: `begin`, `stage` each, `place` all, and `end`, whatever happens.

    All of it waits for the disk, so it belongs on a thread. Raises StoreUnavailable when the disk refuses.
    """

    def __init__(self, target: str | Path, files: Sequence[WorkspaceFile]) -> None:
        self.target = _folder(target)
        self.left_out = tuple(file for file in files if file.leads_out)
        """Links that are not made."""
        self._files = [file for file in files if not file.leads_out]
        self._work = self.target
        """Where it happens: the target, or a folder beside it that takes its name in the end."""
        self._root = -1
        self._staging = -1
        self._staged = f"{STAGED}{token_hex(8)}"

    def begin(self) -> None:
        """Open the folder and see that every file can be put there. Raises Conflict, before anything is changed."""
        for file in self._files:
            _check_usable(file.path)
        with self._written():
            if not os.path.lexists(self.target):
                self.target.parent.mkdir(parents=True, exist_ok=True)
                self._sweep_beside()
                self._work = self.target.with_name(f"{self._staged}-{self.target.name[:100]}")
                self._work.mkdir(0o755)
            self._root = os.open(self._work, _FOLDERS)
            _sweep(self._root)
            os.mkdir(self._staged, 0o700, dir_fd=self._root)
            self._staging = os.open(self._staged, _FOLDERS | NO_LINKS, dir_fd=self._root)
            check_distinct([file.path for file in self._files], folds=self._folds())
            for file in self._files:
                self._check(file)
                if file.link is not None:
                    os.symlink(file.link, _waiting(file), dir_fd=self._staging)

    def stage(self, file: WorkspaceFile, content: bytes) -> None:
        """Write a file beside its place, and read it back. Raises StoreDamaged when it is not what was taken."""
        if len(content) != file.size or sha256(content).hexdigest() != file.hash:
            raise StoreDamaged(f"{file.path} is not what the snapshot took: restore a backup. Nothing was put in place")
        name = _waiting(file)
        with self._written():
            with _opened(name, self._staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as opened:
                opened.write(content)
                opened.flush()
                os.fchmod(opened.fileno(), 0o755 if file.executable else 0o644)
                os.fsync(opened.fileno())
            if _hash(name, self._staging) != file.hash:
                raise StoreDamaged(f"{file.path} cannot be read back as it was written: check {self.target}")

    def place(self) -> tuple[int, int]:
        """Move every file to its place; return how many were written, and how many were there just so already.

        Each replaces what was there in one step. What the snapshot does not have is left alone.
        """
        written = 0
        with self._written():
            for file in self._files:
                *folders, name = file.path.split("/")
                with self._inside(folders, make=True) as folder:
                    if _is_there(name, folder, file):
                        continue
                    _refuse_other_than(name, folder, file)
                    os.replace(_waiting(file), name, src_dir_fd=self._staging, dst_dir_fd=folder)
                    os.fsync(folder)
                    written += 1
            self._appear()
        return written, len(self._files) - written

    def _appear(self) -> None:
        """Let a new folder have its name, now that it is complete."""
        if self._work == self.target:
            return
        os.rmdir(self._staged, dir_fd=self._root)
        try:
            self._work.rename(self.target)
        except OSError as error:
            raise Conflict(f"{self.target} was made by somebody else meanwhile: restore again") from error
        self._work = self.target

    def end(self) -> None:
        """Clean up behind it. Safe to call at any time."""
        if self._staging >= 0:
            os.close(self._staging)
            shutil.rmtree(self._staged, dir_fd=self._root, ignore_errors=True)
        if self._root >= 0:
            os.close(self._root)
        self._root = self._staging = -1
        if self._work != self.target:
            shutil.rmtree(self._work, ignore_errors=True)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"{self.target} cannot be written: {error.strerror}. Make room or allow it, then restore again"
            ) from error

    def _check(self, file: WorkspaceFile) -> None:
        """See that nothing is in the way of this file. What is not there yet is in nobody's way."""
        *folders, name = file.path.split("/")
        with suppress(FileNotFoundError), self._inside(folders, make=False) as folder:
            _refuse_other_than(name, folder, file)

    @contextmanager
    def _inside(self, folders: Sequence[str], *, make: bool) -> Iterator[int]:
        """The folder with these names, opened name by name below the target, and made where it is missing."""
        opened = os.dup(self._root)
        try:
            for place, name in enumerate(folders):
                if make and _status(name, opened) is None:
                    # Somebody who restores at the same time may have made it by now.
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=opened)
                _refuse_other_than_folder(name, opened, "/".join(folders[: place + 1]))
                inner = os.open(name, _FOLDERS | NO_LINKS, dir_fd=opened)
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)

    def _sweep_beside(self) -> None:
        beside = os.open(self.target.parent, _FOLDERS)
        try:
            _sweep(beside)
        finally:
            os.close(beside)

    def _folds(self) -> bool:
        """Whether the disk takes two names for one that differ in their case only."""
        os.close(os.open("case", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._staging))
        try:
            return _status("CASE", self._staging) is not None
        finally:
            os.unlink("case", dir_fd=self._staging)


def _sweep(folder: int) -> None:
    """Delete what restores that were killed left behind: in the folder, or beside one that was to appear."""
    long_ago = time.time() - ABANDONED_SECONDS
    for name in os.listdir(folder):
        status = _status(name, folder) if name.startswith(STAGED) else None
        if status is not None and status.st_mtime < long_ago:
            shutil.rmtree(name, dir_fd=folder, ignore_errors=True)


def check_distinct(paths: Sequence[str], *, folds: bool) -> None:
    """Refuse files that would be one, and a file that would be the folder of another. Raises InvalidInput.

    `folds`: also those whose names are told apart only by their case, or by how a letter is composed.
    """
    seen: dict[str, str] = {}
    for path in paths:
        known = unicodedata.normalize("NFC", path).casefold() if folds else path
        if known in seen:
            raise InvalidInput(f"{path!r} and {seen[known]!r} would be one file there: restore to another disk")
        seen[known] = path
    for known, path in seen.items():
        above = known.rpartition("/")[0]
        while above:
            if above in seen:
                raise InvalidInput(f"{seen[above]!r} cannot be a file and the folder of {path!r}")
            above = above.rpartition("/")[0]


def _folder(target: object) -> Path:
    if not isinstance(target, str | Path) or not str(target).strip() or "\x00" in str(target):
        raise InvalidInput(f"to is {shown(target)}: name the folder that the files are put into")
    place = Path(target).expanduser().absolute()
    if os.path.lexists(place) and not place.is_dir():
        raise InvalidInput(f"to is {shown(str(target))}: that is no folder")
    return place


def _check_usable(path: str) -> None:
    """Once more, for a record may come from anywhere. And no name may be longer than disks take."""
    check_path(path)
    if longest := next((name for name in path.split("/") if len(os.fsencode(name)) > LONGEST_NAME), None):
        raise InvalidInput(f"path has the name {shown(longest)}: use names of at most {LONGEST_NAME} bytes")


def _waiting(file: WorkspaceFile) -> str:
    """What a file is called until it is in its place: a name that every disk takes."""
    return sha256(file.path.encode()).hexdigest()


def _opened(name: str, folder: int, flags: int) -> BinaryIO:
    """The file itself: should a link have taken its place, that is an OSError."""
    descriptor = os.open(name, flags | NO_LINKS, 0o600, dir_fd=folder)
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "wb")


def _hash(name: str, folder: int) -> str:
    digest = sha256()
    with _opened(name, folder, os.O_RDONLY) as opened:
        while piece := opened.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _is_there(name: str, folder: int, file: WorkspaceFile) -> bool:
    status = _status(name, folder)
    if status is not None and file.link is not None:
        return S_ISLNK(status.st_mode) and os.readlink(name, dir_fd=folder) == file.link
    if status is None or not S_ISREG(status.st_mode) or status.st_size != file.size:
        return False
    return bool(status.st_mode & 0o100) == file.executable and _hash(name, folder) == file.hash


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def _refuse_other_than(name: str, folder: int, file: WorkspaceFile) -> None:
    """A file takes the place of a file, and a link that of a link or a file: nothing else is replaced."""
    status = _status(name, folder)
    if status is None or S_ISREG(status.st_mode) or (file.link is not None and S_ISLNK(status.st_mode)):
        return
    what = "a link" if S_ISLNK(status.st_mode) else "a folder" if S_ISDIR(status.st_mode) else "no plain file"
    raise Conflict(f"{file.path} is {what} there: remove it, or restore to another folder")


def _refuse_other_than_folder(name: str, folder: int, path: str) -> None:
    status = _status(name, folder)
    if status is None:
        raise FileNotFoundError(path)
    if not S_ISDIR(status.st_mode):
        what = "a link" if S_ISLNK(status.st_mode) else "a file"
        raise Conflict(f"{path} is {what} there, and no folder: remove it, or restore to another folder")
