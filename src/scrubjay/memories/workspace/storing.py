"""Storing completions: what was told becomes a draft with its files, and a task that is told again is corrected."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from scrubjay.core import Core
from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.files import Files, Taken, take
from scrubjay.memories.workspace.repository import Repository, repository_of
from scrubjay.model import PLACE_NAMES, Memory, Scope, Trust, Where
from scrubjay.model.checks import Json, check_several, in_utc, shown
from scrubjay.model.remedies import instead
from scrubjay.model.workspace import KEPT_STATUSES, STATUSES, Completion, CompletionStatus, WorkspaceRules
from scrubjay.model.workspace_answers import StoredCompletion
from scrubjay.ports import Blob, Decision, Known
from scrubjay.read.narrow import places
from scrubjay.write.holding import holding, undisturbed
from scrubjay.write.prepare import Telling, prepare
from scrubjay.write.reconcile import correct


class CompletionDetails(Where, total=False):
    """What may be told of a completion beside its goal and repository, and where it belongs. See `Completion`."""

    task_id: str | None
    language: str | None
    model: str | None
    mode: str | None
    status: CompletionStatus
    files: "Files"
    artifact: str | Path | None
    zip: str | Path | None
    summary: str | None
    tests: Json
    include_globs: Sequence[str]
    session_id: str | None
    at: datetime | None


DETAILS: Final = frozenset(CompletionDetails.__annotations__) - set(PLACE_NAMES)
_PLAIN: Final = ("task_id", "language", "model", "mode", "summary", "tests", "session_id")


@dataclass(frozen=True, slots=True)
class Composed:
    """A completion that is ready to be stored, and the texts of its files."""

    completion: Completion
    taken: Taken

    @property
    def blobs(self) -> list[Blob]:
        """The texts to keep, each once."""
        return list({blob.hash: blob for blob in map(Blob, self.taken.texts)}.values())


def skipped(status: object, rules: WorkspaceRules) -> str:
    """Why a job of this status is not kept; empty when it is. Raises InvalidInput for a status that does not exist."""
    if status not in STATUSES:
        raise InvalidInput(f"status is {shown(status)}: use one of {', '.join(STATUSES)}")
    if status not in KEPT_STATUSES:
        return f"the job {'was cancelled' if status == 'cancelled' else 'failed'}: only what succeeded is remembered"
    if status == "rejected" and not rules.keep_rejected:
        return "the job lost its duel: set SCRUBJAY_WORKSPACE_REJECTED=true to keep such examples"
    return ""


async def store(core: Core, goal: str, repo_path: str | Path, details: Mapping[str, Any]) -> StoredCompletion:
    """Keep one completion: its texts first, so that a record never names a text that is not there."""
    if unknown := details.keys() - DETAILS - set(PLACE_NAMES):
        names = instead(min(unknown), ("goal", "repo_path", *sorted(DETAILS)))
        raise InvalidInput(f"{min(unknown)} is not something a completion has: {names}")
    parts, scope = core.parts, core.scoped(places(details))
    if reason := skipped(details.get("status", "succeeded"), parts.workspace):
        return StoredCompletion(outcome="skipped", reason=reason)
    made = await asyncio.to_thread(compose, core, goal, repo_path, details)
    draft = _draft(core, made, scope)
    blobs = made.blobs
    async with holding(parts.stores, scope, [draft.id]):
        await parts.stores.blobs.keep(scope, draft.id, blobs)
        [done] = await undisturbed(parts.writer.write([draft], settled))
    if done.memory.id != draft.id:
        # Known already, and it should have its texts: somebody who was killed may have left it without.
        await parts.stores.blobs.keep(scope, done.memory.id, blobs)
        await parts.stores.blobs.release(scope, [draft.id])
    return StoredCompletion(outcome=done.outcome, id=done.memory.id, completion=Completion.of(done.memory))


def compose(core: Core, goal: str, repo_path: str | Path, details: Mapping[str, Any]) -> Composed:
    """The completion that was told, with what is kept of its files. Reads the disk."""
    repository = repository_of(repo_path)
    parts = core.parts
    taken = take(details.get("files") or (), repository, rules=parts.workspace, redactor=parts.redactor)
    told = {name: details[name] for name in _PLAIN if details.get(name) is not None}
    root = repository.root.as_posix()
    completion = Completion(
        goal=goal,
        repo=repository.name,
        root=root if root != repository.name else None,
        status=details.get("status", "succeeded"),
        artifact=_nearby(repository, "artifact", details),
        zip=_nearby(repository, "zip", details),
        include_globs=_globs(details.get("include_globs")),
        files=taken.files,
        symbols=taken.symbols,
        cuts=taken.cuts,
        at=in_utc("at", details.get("at")),
        **{"language": taken.language, **told},
    )
    return Composed(completion, taken)


def _globs(given: Any) -> tuple[str, ...]:  # noqa: ANN401 -- as a caller gives it
    if given is None:
        return ()
    check_several("include_globs", given)
    return tuple(given)


def _nearby(repository: Repository, name: str, details: Mapping[str, Any]) -> str | None:
    value = details.get(name)
    if value is None:
        return None
    if not isinstance(value, str | Path) or not str(value).strip():
        raise InvalidInput(f"{name} is {shown(value)}: use a path")
    return repository.nearby(value)


def _draft(core: Core, made: Composed, scope: Scope) -> Memory:
    completion = made.completion
    telling: dict[str, Any] = {
        "kind": completion.kind,
        "key": completion.key,
        "content": completion.content,
        "data": completion.data,
        "trust": Trust.CONCLUDED,
        "valid_from": completion.at,
    }
    draft = prepare(cast("Telling", telling), scope, now=core.parts.clock(), redactor=core.parts.redactor)
    found = {kind for file in completion.files for kind in file.redacted}
    return replace(draft, redacted=tuple(sorted({*draft.redacted, *found})))


def settled(draft: Memory, known: Known) -> Decision:
    """New, known, or a correction. A queue may deliver a job twice: the same result again is no new version."""
    if not known.same_key:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    old = known.same_key[-1]
    if (draft.content, draft.data) == (old.content, old.data):
        return Decision(outcome="unchanged", memory=old)
    return correct(draft, known, old=old)
