"""Recording: a job that is done leaves what it made here and goes on; it is written beside it."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from scrubjay.errors import InvalidInput
from scrubjay.logs import logger
from scrubjay.memories.workspace.capture import Capture
from scrubjay.memories.workspace.retention import Retention
from scrubjay.memories.workspace.storing import CompletionDetails, skipped, store
from scrubjay.model.workspace_answers import StoredCompletion
from scrubjay.read.narrow import places

log = logger("workspace")

_SHOWN: Final = 60
"""Characters of a path that a log names."""


class Recording(Retention):
    """Completed jobs, told by whoever runs them."""

    def record_completion(self, *, goal: str, repo_path: str | Path, **details: Unpack[CompletionDetails]) -> bool:
        """Leave a job that is done to be remembered, in microseconds; needs no `await`, from any thread.

        Never raises and never waits: what cannot be kept is logged and counted, see `stats`. False when it will not be
        written: workspace memory is off, the queue is full or closed, or the job did not succeed. Files that are given
        as paths are read a little later, those given with their content are kept as they are now.
        """
        rules, later = self._rules, self._core.parts.later
        if not rules.enabled:
            return False
        try:
            reason = skipped(details.get("status", "succeeded"), rules)
        except InvalidInput as error:
            later.count("failed")
            log.warning("completion refused", error=str(error))
            return False
        if reason:
            later.count("skipped")
            return False
        # When it was done is now, and not when it is written.
        told: dict[str, Any] = {**details, "files": _held(details.get("files"))}
        if told.get("at") is None:
            told["at"] = self._core.parts.clock()
        place = _absolute(repo_path)

        async def write() -> bool:
            return (await self._stored(goal, place, told)).outcome != "skipped"

        return later.put(f"completion in {str(place)[-_SHOWN:]}", write, weight=_weight(told["files"]))

    async def store_completion(
        self, *, goal: str, repo_path: str | Path, **details: Unpack[CompletionDetails]
    ) -> StoredCompletion:
        """Remember a job that is done, now, and say what became of it. Told again, it is corrected and never doubled.

        Jobs that failed or were cancelled are skipped, as are losers of a duel unless they are to be kept. What the
        caps cut off is said in `cuts`. Raises InvalidInput, naming the field.
        """
        self._check_enabled()
        return await self._stored(goal, repo_path, details)

    def capture(
        self, *, goal: str | Callable[..., str], repo: str | Path, **details: Unpack[CompletionDetails]
    ) -> Capture:
        """Record the job that runs inside: `with jay.workspace.capture(goal=…, repo=…) as job:`, or as a decorator.

        What the job makes is told to `job`: `job.file(path)`, `job.summary = …`, `job.tests = …`. When it ends well it
        is recorded; an error passes through, and the job counts as failed. With `async with` and on coroutine functions
        it works the same. As a decorator, `goal` may be a function of the job's arguments, and a job that takes an
        argument called `job` is given it. Needs no `await`.
        """
        return Capture(self.record_completion, goal=goal, repo=repo, details=details)

    async def flush(self) -> None:
        """Wait until everything that was recorded before is written. Closing the memory does so too."""
        await self._core.parts.later.flush()

    async def _stored(self, goal: str, repo_path: str | Path, details: Mapping[str, Any]) -> StoredCompletion:
        done = await store(self._core, goal, repo_path, details)
        await self._keep_within(done, self._core.scoped(places(details)))
        return done


def _held(files: object) -> object:
    """A list or a dict of one's own: the job may go on changing its own."""
    if isinstance(files, Mapping):
        return dict(files)
    return list(files) if isinstance(files, Sequence) and not isinstance(files, str | bytes) else files


def _absolute(path: str | Path) -> str | Path:
    """The path, also when the job goes to another folder meanwhile. What is no path is refused when it is written."""
    try:
        if not str(path).strip():
            return path
        return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 -- pathlib takes five times as long
    except (OSError, TypeError, ValueError):
        return path


def _weight(files: object) -> int:
    """The characters that wait with a job."""
    contents = files.values() if isinstance(files, dict) else files if isinstance(files, list) else ()
    return sum(
        len(content)
        for one in contents
        if isinstance(content := one.get("content") if isinstance(one, Mapping) else one, str | bytes)
    )
