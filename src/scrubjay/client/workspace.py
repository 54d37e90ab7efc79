"""Workspaces of a server. Files are read here, where the job was done, and sent as texts."""

import asyncio
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, Unpack, get_args

from scrubjay.client.connection import Connection
from scrubjay.client.verb import Remote, Route, elsewhere, like, verb
from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.capture import Capture
from scrubjay.memories.workspace.files import Given, each
from scrubjay.memories.workspace.repository import Repository, repository_of
from scrubjay.memories.workspace.storing import CompletionDetails, skipped
from scrubjay.memories.workspace.verbs import Workspace
from scrubjay.model.workspace import WorkspaceRules
from scrubjay.model.workspace_answers import StoredCompletion, WorkspaceHits, WorkspaceStats
from scrubjay.write.later import Later, Outcome

MOST_SENT: Final = 4 * 1024 * 1024
"""Bytes of one file. Servers keep far less of it."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

_STORE: Final = Route(method="POST", path="/workspace/completions")
_SEARCH: Final = Route(method="GET", path="/memory/search", names=(("repo_path", "repo"), ("query", "q")))
_STATS: Final = Route(method="GET", path="/workspace/stats")
_PATIENT: Final = WorkspaceRules(keep_rejected=True)
"""Whether losers of a duel are kept is for the server to say."""


class RemoteWorkspace(Remote, memory="workspace"):
    """What do we know about this code? See `Workspace`: the verbs and their keywords are the same.

    `ingest`, `backfill` and `cite` read folders of the server, and need a key with the right `admin`.
    """

    def __init__(self, connection: Connection, tenant: str, later: Later) -> None:
        super().__init__(connection, tenant)
        self._later = later

    # Jobs

    @like(Workspace.store_completion, _STORE)
    async def store_completion(
        self, *, goal: str, repo_path: str | Path, **details: Unpack[CompletionDetails]
    ) -> StoredCompletion:
        """Files are read here; what cannot be sent is among the cuts."""
        repository, files, unsent = await asyncio.to_thread(_gathered, repo_path, details.get("files") or ())
        given = {**details, "goal": goal, "repo_path": repository.name, "files": files}
        told = {name: value for name, value in given.items() if value is not None}
        stored: StoredCompletion = self._read(StoredCompletion, await self._ask(_STORE, told))
        if stored.completion is None or not unsent:
            return stored
        return replace(stored, completion=replace(stored.completion, cuts=(*stored.completion.cuts, *unsent)))

    @like(Workspace.record_completion)
    def record_completion(self, *, goal: str, repo_path: str | Path, **details: Unpack[CompletionDetails]) -> bool:
        """It waits here, and is sent a little later."""
        try:
            if skipped(details.get("status", "succeeded"), _PATIENT):
                self._later.count("skipped")
                return False
        except InvalidInput:
            self._later.count("failed")
            return False
        # When it was done is now, and what it made is as it is now: the job may go on.
        told: Any = {**details, "at": details.get("at") or datetime.now(UTC), "files": copy(details.get("files"))}

        async def write() -> bool:
            stored = await self.store_completion(goal=goal, repo_path=repo_path, **told)
            return stored.outcome != "skipped"

        return self._later.put(f"completion in {str(repo_path)[-60:]}", write)

    @like(Workspace.capture)
    def capture(
        self, *, goal: str | Callable[..., str], repo: str | Path, **details: Unpack[CompletionDetails]
    ) -> Capture:
        """The job is recorded from here."""
        return Capture(self.record_completion, goal=goal, repo=repo, details=details)

    @like(Workspace.flush)
    async def flush(self) -> None:
        """Wait for what waits here."""
        await self._later.flush()

    @like(Workspace.search_memories, _SEARCH)
    async def search_memories(
        self,
        repo_path: str | Path | None = None,
        language: str | None = None,
        query: str = "",
        limit: int = 5,
        **narrow: Any,  # noqa: ANN401 -- as the verb takes them
    ) -> WorkspaceHits:
        """The repository is named as it is called here."""
        given = {"repo_path": _name(repo_path), "language": language, "query": query, "limit": limit, **narrow}
        asked = {name: value for name, value in given.items() if value is not None}
        found: WorkspaceHits = self._read(WorkspaceHits, await self._ask(_SEARCH, asked))
        return found

    get = verb(Workspace.get, "GET", "/workspace/completions/{id}")
    seed = verb(Workspace.seed, "POST", "/workspace/seed")
    prune = verb(Workspace.prune, "POST", "/workspace/prune")
    backfill = verb(Workspace.backfill, "POST", "/workspace/backfill")

    @like(Workspace.stats, _STATS)
    async def stats(self, repo_path: str | Path | None = None, **where: Any) -> WorkspaceStats:  # noqa: ANN401 -- a place
        """The repository is named as it is called here, and the queue is that of this process."""
        asked = {name: value for name, value in {"repo_path": _name(repo_path), **where}.items() if value is not None}
        found: WorkspaceStats = self._read(WorkspaceStats, await self._ask(_STATS, asked))
        # What waits, waits here.
        return replace(found, waiting=self._later.waiting, counts={name: self._later.counts[name] for name in OUTCOMES})

    # Code

    ingest = verb(Workspace.ingest, "POST", "/workspace/ingest")
    watch = elsewhere(Workspace.watch, "run `scrubjay workspace ingest --watch` where the repository lies")
    search_code = verb(Workspace.search_code, "POST", "/workspace/code/search", reads=True)
    recall = verb(Workspace.recall, "POST", "/workspace/recall", reads=True)
    cite = verb(Workspace.cite, "POST", "/workspace/cite")
    check = verb(Workspace.check, "GET", "/workspace/check/{id}")
    relevant_files = verb(Workspace.relevant_files, "GET", "/workspace/files")
    scan_secrets = verb(Workspace.scan_secrets, "GET", "/workspace/secrets")


def _name(repo_path: str | Path | None) -> str | None:
    """The name of the repository, which is found out here: the server may have another one at the same path."""
    return repository_of(repo_path).name if repo_path is not None else None


def _gathered(repo_path: str | Path, files: Any) -> tuple[Repository, list[dict[str, str]], list[str]]:  # noqa: ANN401 -- as the verb takes them
    """The repository, what is in the files of a job, and a sentence for each that cannot be sent. Reads the disk."""
    repository = repository_of(repo_path)
    sent: list[dict[str, str]] = []
    unsent: list[str] = []
    for one in each(files):
        try:
            sent.append(_sent(one, repository))
        except InvalidInput as error:
            unsent.append(f"{one.path}: left out, {error}")
        except OSError as error:
            unsent.append(f"{one.path}: left out, {error.strerror or error}")
        except UnicodeDecodeError:
            unsent.append(f"{one.path}: not text, it was not sent")
    return repository, sent, unsent


def _sent(file: Given, repository: Repository) -> dict[str, str]:
    path = repository.relative(file.path)
    content = file.content if file.content is not None else _read(file.source or repository.root / path)
    if len(content) > MOST_SENT:
        raise InvalidInput(f"it has more than {MOST_SENT:,} bytes")
    return {"path": path, "content": content.decode(), **({"language": file.language} if file.language else {})}


def _read(place: Path) -> bytes:
    # A link may lead anywhere, also out of the repository: it is not followed.
    if not S_ISREG(place.lstat().st_mode):
        raise OSError(0, "it is no plain file")
    with place.open("rb") as file:
        return file.read(MOST_SENT + 1)
