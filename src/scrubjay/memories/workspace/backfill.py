"""Backfill: jobs that were done before anybody recorded them, read from the artifacts that they left behind."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from scrubjay.errors import InvalidInput, ScrubjayError, Unavailable
from scrubjay.memories.workspace.artifacts import jobs_in, read_job
from scrubjay.memories.workspace.recording import Recording
from scrubjay.memories.workspace.samples import SAMPLES, SHOP
from scrubjay.model import Where
from scrubjay.model.workspace_answers import Backfilled, RejectedArtifact, StoredCompletion


class Backfilling(Recording):
    """Completions from what is there already."""

    async def backfill(
        self,
        directory: str | Path,
        *,
        repo_path: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        **where: Unpack[Where],
    ) -> Backfilled:
        """Remember the jobs whose artifacts lie in a directory: each folder and each zip file in it is one.

        A `completion.json` in it says what it was (see `record_completion`); without one, the goal is the heading of
        its README, or its name. They belong to `repo_path`, or to the directory. What cannot be read is reported, and
        the rest is stored. Safe to repeat: what is known already is left alone.
        """
        self._check_enabled()
        self._core.scoped(where)
        found = await asyncio.to_thread(jobs_in, Path(directory))
        counts: Counter[str] = Counter()
        rejected: list[RejectedArtifact] = []
        for done, place in enumerate(found, 1):
            try:
                job = await asyncio.to_thread(read_job, place, Path(directory), repo_path)
                stored = await self._stored(job.goal, job.repo_path, {**job.details, **where})
                counts[stored.outcome] += 1
            except Unavailable:
                raise
            except ScrubjayError as error:
                rejected.append(RejectedArtifact(path=str(place), reason=str(error)))
            if progress is not None:
                progress(done, len(found))
        return Backfilled(
            stored=counts["stored"],
            unchanged=counts["unchanged"],
            corrected=counts["superseded"],
            skipped=counts["skipped"],
            rejected=tuple(rejected),
        )

    async def seed(self, repo_path: str | Path | None = None, **where: Unpack[Where]) -> list[StoredCompletion]:
        """Remember a few sample jobs of a small web shop, to try things out with. Safe to repeat."""
        self._check_enabled()
        done: list[StoredCompletion] = []
        for sample in SAMPLES:
            details = {name: value for name, value in sample.items() if name != "goal"}
            goal = sample["goal"]
            if not isinstance(goal, str):
                raise InvalidInput(f"goal is {goal!r}: a sample has a text")
            done.append(await self._stored(goal, repo_path or SHOP, {**details, **where}))
        return done
