"""A folder of Chroma belongs to one process at a time.

Chroma lets several processes open a folder, but each keeps the graph in memory and never hears of what the others add:
they would miss each other's memories without a word.
"""

import fcntl
import threading
from pathlib import Path
from typing import IO, Final

from scrubjay.errors import StoreUnavailable

_FILE: Final = "scrubjay.lock"
_claims: Final[dict[Path, tuple[IO[str], int]]] = {}
"""The folders of this process, with how many have each open. Within a process they share one Chroma."""
_lock: Final = threading.Lock()


def claim(folder: Path) -> None:
    """Keep other processes out until it is given up as often as it was claimed. Raises StoreUnavailable if one is in.

    The system gives it up for a process that is killed.
    """
    with _lock:
        held = _claims.get(folder)
        if held is not None:
            _claims[folder] = (held[0], held[1] + 1)
            return
        file = (folder / _FILE).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise StoreUnavailable(
                f"chroma:{folder} is open in another process. Close that one, or run `chroma run --path {folder}` and "
                "set SCRUBJAY_VECTORS=chroma://localhost:8000 for both"
            ) from error
        _claims[folder] = (file, 1)


def give_up(folder: Path) -> None:
    """Let others in, unless somebody else in this process has it open."""
    with _lock:
        file, many = _claims.pop(folder)
        if many > 1:
            _claims[folder] = (file, many - 1)
        else:
            file.close()
