"""Workspace memory without `await`. Forwards only."""

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from scrubjay.memories.workspace.capture import Capture
from scrubjay.memories.workspace.storing import CompletionDetails
from scrubjay.memories.workspace.verbs import Workspace
from scrubjay.sync.forward import Blocking, forward


class SyncWorkspace(Blocking[Workspace]):
    """Workspace memory, without `await`. See `Workspace`: the verbs and their keywords are the same."""

    def record_completion(self, *, goal: str, repo_path: str | Path, **details: Unpack[CompletionDetails]) -> bool:
        """Leave a job that is done to be remembered, in microseconds. See `Workspace.record_completion`."""
        return self._verbs.record_completion(goal=goal, repo_path=repo_path, **details)

    def capture(
        self, *, goal: str | Callable[..., str], repo: str | Path, **details: Unpack[CompletionDetails]
    ) -> Capture:
        """Record the job that runs inside. See `Workspace.capture`."""
        return self._verbs.capture(goal=goal, repo=repo, **details)

    store_completion = forward(Workspace.store_completion)
    flush = forward(Workspace.flush)
    search_memories = forward(Workspace.search_memories)
    get = forward(Workspace.get)
    backfill = forward(Workspace.backfill)
    seed = forward(Workspace.seed)
    prune = forward(Workspace.prune)
    stats = forward(Workspace.stats)
    ingest = forward(Workspace.ingest)
    watch = forward(Workspace.watch)
    search_code = forward(Workspace.search_code)
    recall = forward(Workspace.recall)
    cite = forward(Workspace.cite)
    check = forward(Workspace.check)
    relevant_files = forward(Workspace.relevant_files)
    scan_secrets = forward(Workspace.scan_secrets)
