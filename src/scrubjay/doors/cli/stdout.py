"""Standard output that says so when it cannot be written, as on a full disk: one line, and no traceback.

A stream that is closed from the start is no trouble: a command works without it.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO, cast

from scrubjay.errors import InvalidInput


class _Told:
    """A text file whose errors are ours. A reader that goes away is left to whoever looks for that."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- whatever the file has
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise _ours(error) from error

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise _ours(error) from error


def _ours(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    return InvalidInput(f"standard output cannot be written: {error.strerror}")


def stand_in() -> None:
    """Put nothing in the place of standard streams that are closed, as with `>&-`: a command works without them."""
    # In this order: what is opened takes the number of the stream, and no file of the store ever does.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 -- open to the end


def guard() -> None:
    """From now on, what cannot be written to standard output raises InvalidInput."""
    sys.stdout = cast("TextIO", _Told(sys.stdout))


def finish() -> InvalidInput | None:
    """Write what it holds still; return why that cannot be. A reader that went away needs nothing."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, InvalidInput) as error:
        # Python flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error if isinstance(error, InvalidInput) else None
    return None
