"""Files that somebody names to be written: whole or not at all, wherever the place allows that."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from scrubjay.errors import InvalidInput


@contextmanager
def written_to(path: Path) -> Iterator[BinaryIO]:
    """What is to be written there, readable by its owner only: it takes the name when it is whole and on the disk.

    A failure leaves what was there. A link is followed, and stays one. What is no plain file, such as a pipe or a
    device, is written into as it is, and what came to it before a failure cannot be taken back. Raises InvalidInput
    when the place cannot be written.
    """
    try:
        with _replacing(path.resolve()) if _is_plain(path) else path.open("wb") as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}. Choose another place") from error


def _is_plain(path: Path) -> bool:
    """Whether it leads to a plain file, or to nothing yet."""
    try:
        return S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 -- a handle, not a path
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
