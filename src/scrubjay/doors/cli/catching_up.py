"""After an answer without vectors: make some of those that a new model lacks. A command has no background to do it."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from scrubjay.doors.cli.output import memories, note
from scrubjay.doors.cli.place import House
from scrubjay.errors import ScrubjayError

if TYPE_CHECKING:
    from scrubjay.sync import SyncScrubjay

SECONDS: Final = 2.0
"""After so long no further batch is begun: the answer is printed, and somebody waits for the command to end."""


class _Enough(Exception):
    """This command has done its share."""


def catch_up(here: House, degraded: Sequence[str]) -> None:
    """Make vectors of the model that is being built, for a moment, unless another process is at it.

    Where vectors are on a server, a service or a worker does it, and nobody waits here for an engine that is down. What
    cannot be done now is left to the next command: the answer is given already.
    """
    if "vectors" not in degraded or here.settings().vectors != "embedded":
        return
    # In a pipe it waits for the end of the command, and whoever is tired of waiting may kill that.
    sys.stdout.flush()
    with suppress(ScrubjayError), here.opened() as jay:
        if any(one.state == "building" for one in jay.stats().generations) and not jay.work.status().workers:
            _take_a_share(jay)


def _take_a_share(jay: "SyncScrubjay") -> None:
    until = time.monotonic() + SECONDS

    def enough(_done: int, _total: int) -> None:
        if time.monotonic() > until:
            raise _Enough

    try:
        jay.reindex(enough)
    except _Enough:
        left = memories(jay.stats().pending)
        note(f"the embedding model is new: {left} to go, `scrubjay reindex` reads all of them at once")
    else:
        note("the embedding model is new, and answers from now on")
