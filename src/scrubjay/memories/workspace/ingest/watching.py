"""Watch a repository: what is saved is remembered a moment later. Files are looked at by their time and size."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final, TypeAlias, Unpack

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, Unavailable
from scrubjay.logs import logger
from scrubjay.memories.workspace.ingest.ingesting import COMMITS, ingest
from scrubjay.memories.workspace.ingest.walking import Walk
from scrubjay.memories.workspace.repository import repository_of
from scrubjay.model import Where
from scrubjay.model.checks import shown
from scrubjay.model.code import IngestReport

log = logger("workspace")

EVERY: Final = 1.0
"""Seconds between two looks. Looking costs a walk over the folders, and reads nothing."""

_ATTENTION: Final = 0.1
"""Seconds after which a wish to stop is heard at the latest."""

Snapshot: TypeAlias = dict[str, tuple[int, int]]
Report: TypeAlias = Callable[[IngestReport], None]


async def watch(
    core: Core,
    path: str | Path,
    *,
    every: float = EVERY,
    history: int = COMMITS,
    report: Report = lambda _report: None,
    stop: Event | None = None,
    **where: Unpack[Where],
) -> None:
    """Ingest, and again whatever changes, until `stop` is set or the task is cancelled. `report` hears of each run."""
    if isinstance(every, bool) or not isinstance(every, int | float) or every <= 0:
        raise InvalidInput(f"every is {shown(every)}: use a number of seconds above 0")
    stopped = stop or Event()
    repository = repository_of(path)
    seen = await asyncio.to_thread(_snapshot, repository.root)
    report(await ingest(core, path, history=history, **where))
    while not await _waited(stopped, every):
        now = await asyncio.to_thread(_snapshot, repository.root)
        changed = frozenset(name for name, _ in seen.items() ^ now.items())
        if not changed:
            continue
        try:
            done = await ingest(core, path, paths=changed, history=history, **where)
        except Unavailable as error:
            # What was seen stays as it was, so the next look finds the same changes again.
            log.warning("ingest has to wait", error=str(error))
            continue
        seen = now
        if done.touched or done.commits:
            report(done)


def _snapshot(root: Path) -> Snapshot:
    return {found.path: (found.modified, found.size) for found in Walk(root)}


async def _waited(stop: Event, seconds: float) -> bool:
    """Wait until told to stop, which is true, or for so long, which is false. Any thread may tell it."""
    until = time.monotonic() + seconds
    while not stop.is_set() and (left := until - time.monotonic()) > 0:  # noqa: ASYNC110 -- threads set the event
        await asyncio.sleep(min(left, _ATTENTION))
    return stop.is_set()
