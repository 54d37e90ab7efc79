"""Retention: how much is kept for a repository, for how long, and what goes when it is too much."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Unpack

from scrubjay.errors import InvalidInput
from scrubjay.logs import logger
from scrubjay.memories.workspace.repository import repository_of
from scrubjay.memories.workspace.room import Room
from scrubjay.model import Filter, Memory, Scope, Where
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.work import is_spared
from scrubjay.model.workspace import COMPLETION_KIND, REJECTED_KIND, WorkspaceRules, completion_keys
from scrubjay.model.workspace_answers import Prunable, Pruned, StoredCompletion, WorkspaceSize, WorkspaceStats
from scrubjay.write.audit import audited
from scrubjay.write.forget import purge

log = logger("workspace")

COUNT_AGAIN: Final = timedelta(hours=1)
"""How long the count of a repository's bytes is trusted: other processes write there too, and completions grow old."""

BATCH: Final = 500
"""Completions that are deleted in one go."""

_Workspace = tuple[Scope, str]


class Retention(Room):
    """How much is kept, and what goes."""

    async def prune(
        self,
        repo_path: str | Path | None = None,
        *,
        keep_for: timedelta | None = None,
        most_bytes: int | None = None,
        dry_run: bool = False,
        **where: Unpack[Where],
    ) -> Pruned:
        """Delete what is too old, or too much for its repository, for good and with its files; the oldest first.

        Versions that were corrected go before completions that stand, and pinned ones (importance 1) stay. `keep_for`
        and `most_bytes` take the place of what is configured. With `dry_run` nothing is deleted, and `gone` says what
        would be and why.
        """
        self._check_enabled()
        rules = _with(self._rules, keep_for, most_bytes)
        scope, now = self._core.scoped(where), self._core.parts.clock()
        kept = 0
        gone: list[tuple[Memory, str]] = []
        for memories in (await self._workspaces(scope, repo_path)).values():
            doomed = chosen(memories, rules, now)
            gone += doomed
            kept += len(memories) - len(doomed)
        if not dry_run:
            await self._delete(scope, [memory for memory, _ in gone])
        return Pruned(gone=tuple(_prunable(memory, why) for memory, why in gone), kept=kept, dry_run=dry_run)

    async def stats(self, repo_path: str | Path | None = None, **where: Unpack[Where]) -> WorkspaceStats:
        """Say how much is kept for each repository in the scope, and how recording is doing in this process."""
        self._check_enabled()
        scope, parts = self._core.scoped(where), self._core.parts
        by_repo: defaultdict[str, list[Memory]] = defaultdict(list)
        for (_, repo), memories in (await self._workspaces(scope, repo_path)).items():
            by_repo[repo] += memories
        sizes = [_size(repo, memories) for repo, memories in by_repo.items()]
        room = await parts.stores.blobs.room(scope)
        return WorkspaceStats(
            workspaces=tuple(sorted(sizes, key=lambda one: one.bytes, reverse=True)),
            blobs=room.blobs,
            blob_bytes=room.bytes,
            stored_bytes=room.stored,
            waiting=parts.later.waiting,
            counts={name: parts.later.counts[name] for name in ("queued", "written", "skipped", "failed", "dropped")},
        )

    async def _keep_within(self, done: StoredCompletion, scope: Scope) -> None:
        """Count what was just stored, and prune its repository when that is over a cap. Most calls only add."""
        if done.completion is None or done.outcome == "unchanged":
            return
        rules, grown, now = self._rules, self._core.parts.grown, self._core.parts.clock()
        place = (scope, done.completion.repo)
        known = grown.get(place)
        if known is not None and now - known[1] < COUNT_AGAIN:
            total = known[0] + done.completion.bytes
            grown[place] = (total, known[1])
            if rules.workspace_bytes is None or total <= rules.workspace_bytes:
                return
        memories = [one async for one in self._scan(scope, done.completion.repo) if one.scope == scope]
        doomed = [memory for memory, _ in chosen(memories, rules, now)]
        await self._delete(scope, doomed)
        if doomed:
            log.info("pruned", completions=len(doomed), bytes=_bytes(doomed))
        grown[place] = (_bytes(memories) - _bytes(doomed), now)

    async def _workspaces(self, scope: Scope, repo_path: str | Path | None) -> dict[_Workspace, list[Memory]]:
        """Every version of every completion in the scope, by where it lies and its repository."""
        repo = repository_of(repo_path).name if repo_path is not None else None
        found: defaultdict[_Workspace, list[Memory]] = defaultdict(list)
        async for memory in self._scan(scope, repo):
            found[memory.scope, str(memory.data.get("repo"))].append(memory)
        return found

    async def _scan(self, scope: Scope, repo: str | None) -> AsyncIterator[Memory]:
        meant = Filter(
            scope=scope,
            reach="holds",
            kinds=(COMPLETION_KIND, REJECTED_KIND),
            key_prefix=completion_keys(repo),
            history=True,
        )
        async for batch in self._core.parts.stores.records.scan(meant, now=self._core.parts.clock()):
            for memory in batch:
                yield memory

    async def _delete(self, scope: Scope, memories: Sequence[Memory]) -> None:
        parts = self._core.parts
        for start in range(0, len(memories), BATCH):
            ids = [memory.id for memory in memories[start : start + BATCH]]
            await audited(parts.access, self._core.caller, scope, ids, at=parts.clock(), purge=True, how="pruned")
            # Each version for itself: the one that stands stays when an older one goes.
            await purge(
                scope,
                ids,
                stores=parts.stores,
                index=parts.index,
                events=parts.events,
                at=parts.clock(),
                versions=False,
            )


def chosen(memories: Iterable[Memory], rules: WorkspaceRules, now: datetime) -> list[tuple[Memory, str]]:
    """Which completions of one repository have to go, and why, in the order they go."""
    # What no longer stands goes first, then what was done longest ago.
    ordered = sorted(memories, key=lambda one: (one.superseded_at is None, one.valid_from, one.id))
    total, gone = _bytes(ordered), list[tuple[Memory, str]]()
    for memory in ordered:
        if is_spared(memory):
            continue
        if rules.keep_for is not None and memory.valid_from < now - rules.keep_for:
            why = f"done {(now - memory.valid_from).days:,} days ago, kept for {rules.keep_for.days:,}"
        elif rules.workspace_bytes is not None and total > rules.workspace_bytes:
            why = f"the repository takes {total:,} bytes, and may take {rules.workspace_bytes:,}"
        else:
            continue
        total -= _bytes([memory])
        gone.append((memory, why))
    return gone


def _with(rules: WorkspaceRules, keep_for: timedelta | None, most_bytes: int | None) -> WorkspaceRules:
    if keep_for is not None:
        if not isinstance(keep_for, timedelta):
            raise InvalidInput(f"keep_for is {shown(keep_for)}: use a timedelta")
        rules = replace(rules, keep_for=keep_for)
    if most_bytes is not None:
        check_whole("most_bytes", most_bytes, least=1, most=2**53)
        rules = replace(rules, workspace_bytes=most_bytes)
    return rules


def _bytes(memories: Iterable[Memory]) -> int:
    sizes = (memory.data.get("bytes") for memory in memories)
    return sum(size for size in sizes if isinstance(size, int))


def _files(memory: Memory) -> int:
    files = memory.data.get("files")
    return len(files) if isinstance(files, list) else 0


def _size(repo: str, memories: Sequence[Memory]) -> WorkspaceSize:
    """How much a repository takes, with the versions that were corrected; only those that stand are counted as one."""
    return WorkspaceSize(
        repo=repo,
        completions=sum(memory.superseded_at is None for memory in memories),
        files=sum(_files(memory) for memory in memories if memory.superseded_at is None),
        bytes=_bytes(memories),
        oldest=min(memory.valid_from for memory in memories),
        newest=max(memory.valid_from for memory in memories),
    )


def _prunable(memory: Memory, why: str) -> Prunable:
    return Prunable(
        id=memory.id,
        goal=str(memory.data.get("goal", "")),
        repo=str(memory.data.get("repo", "")),
        at=memory.valid_from,
        bytes=_bytes([memory]),
        why=why,
    )
