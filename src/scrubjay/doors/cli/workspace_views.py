"""What the workspace answers, as JSON documents, as rows of a pipe, and as people like to read it."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from scrubjay.doors.cli import views
from scrubjay.doors.cli.output import local, visible
from scrubjay.errors import NotFound
from scrubjay.model import Json
from scrubjay.model.portable import moment_text
from scrubjay.model.workspace import Completion
from scrubjay.model.workspace_answers import (
    Artifact,
    Backfilled,
    CompletionDetail,
    FileDetail,
    Prunable,
    Pruned,
    StoredCompletion,
    WorkspaceHit,
    WorkspaceHits,
    WorkspaceSize,
    WorkspaceStats,
)

_STATES = {"fresh": "green", "changed": "yellow", "missing": "red", "unknown": "dim"}


def completion(one: Completion) -> dict[str, Json]:
    """A completion, its files without their texts."""
    return {**one.data, "at": moment_text(one.at) if one.at is not None else None}


def stored(done: StoredCompletion) -> dict[str, Json]:
    """What became of a completion that was told."""
    return {
        "outcome": done.outcome,
        "id": str(done.id) if done.id is not None else None,
        "completion": completion(done.completion) if done.completion is not None else None,
        "reason": done.reason or None,
    }


def hits(found: WorkspaceHits) -> dict[str, Json]:
    """The answers to one question."""
    return {
        "hits": [_hit(one) for one in found],
        "degraded": list(found.degraded),
        "milliseconds": round(found.milliseconds, 2),
    }


def _hit(hit: WorkspaceHit) -> dict[str, Json]:
    return {
        "id": str(hit.id),
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4) if hit.similarity is not None else None,
        "why": hit.why,
        "is_advice": hit.is_advice,
        "completion": completion(hit.completion),
    }


def hit_row(hit: WorkspaceHit) -> list[str]:
    """A line of a pipe: score, id, when, language, repository, goal."""
    told = hit.completion
    return [
        f"{hit.score:.2f}",
        str(hit.id),
        moment_text(told.at) if told.at is not None else "",
        told.language or "",
        told.repo,
        told.goal,
    ]


def hit_view(hit: WorkspaceHit, place: int) -> RenderableType:
    """An answer on a terminal."""
    told = hit.completion
    line = Text(f"{place}  ").append(f"{hit.score:.2f}", style="bold green").append(f"  {visible(told.goal)}")
    lines = [Text(visible(told.summary), style="")] if told.summary else []
    about = "  ".join(filter(None, (local(told.at) if told.at else "", told.language, told.model, told.mode)))
    rejected = Text("rejected: not to be followed", style="red")
    return Group(
        line,
        Padding(
            Group(
                *([] if hit.is_advice else [rejected]),
                *lines,
                *([Text(", ".join(file.path for file in told.files[:8]), style=views.KEY)] if told.files else []),
                Text(f"{hit.id}  {about}  {visible(told.repo)}", style=views.BACKGROUND),
                Text(visible(hit.why), style=views.BACKGROUND),
            ),
            (0, 0, 1, 3),
        ),
    )


def detail(found: CompletionDetail) -> dict[str, Json]:
    """A completion in full."""
    return {
        "id": str(found.id),
        "state": found.state,
        "recorded_at": moment_text(found.recorded_at),
        "redacted": list(found.redacted),
        "artifact": _artifact(found.artifact),
        "zip": _artifact(found.zip),
        "completion": completion(found.completion),
        "files": [{**one.file.data, "state": one.state, "text": one.text} for one in found.files],
    }


def _artifact(one: Artifact | None) -> dict[str, Json] | None:
    return {"path": one.path, "location": one.location, "exists": one.exists} if one is not None else None


def detail_view(found: CompletionDetail) -> RenderableType:
    """A completion on a terminal: what was asked for, what was made, and how its files stand now."""
    told = found.completion
    about = (("repository", told.repo), ("task", told.task_id), ("language", told.language), ("model", told.model))
    more = (
        ("mode", told.mode),
        ("given", ", ".join(told.include_globs)),
        ("session", told.session_id),
        ("tests", str(told.tests) if told.tests else None),
    )
    artifacts = [
        Text(f"{name}  {visible(one.location)}{'  (gone)' if one.exists is False else ''}", style=views.BACKGROUND)
        for name, one in (("artifact", found.artifact), ("zip", found.zip))
        if one is not None
    ]
    return Group(
        Text(str(found.id), style=views.ID).append(f"  {told.status}  {local(told.at) if told.at else ''}"),
        Text(visible(told.goal), style="bold"),
        *([Text(visible(told.summary))] if told.summary else []),
        *(Text(f"{name}  {visible(value)}", style=views.BACKGROUND) for name, value in (*about, *more) if value),
        *artifacts,
        *(_file_view(one) for one in found.files),
        *(Text(visible(cut), style=views.BACKGROUND) for cut in told.cuts),
    )


def _file_view(one: FileDetail) -> Text:
    line = Text(f"{one.state:<8}", style=_STATES[one.state]).append(visible(one.path))
    line.append(f"  {one.file.size:,} bytes, {one.file.kept} kept", style=views.BACKGROUND)
    if one.file.redacted:
        line.append(f", without {', '.join(one.file.redacted)}", style=views.BACKGROUND)
    return line


def file_row(one: FileDetail) -> list[str]:
    """A line of a pipe: state, path, language, size, hash, how much is kept."""
    file = one.file
    return [one.state, file.path, file.language or "", str(file.size), file.hash, file.kept]


def text_of(found: CompletionDetail, path: str) -> str:
    """What was kept of one file. Raises NotFound."""
    for one in found.files:
        if one.path == path:
            if one.text is None:
                raise NotFound(f"nothing is kept of {path}: {next(iter(found.completion.cuts), 'it was too large')}")
            return one.text
    raise NotFound(f"the job has no file {path}: it has {', '.join(one.path for one in found.files) or 'none'}")


def backfilled(done: Backfilled) -> dict[str, Json]:
    """What a backfill did."""
    return {
        "stored": done.stored,
        "unchanged": done.unchanged,
        "corrected": done.corrected,
        "skipped": done.skipped,
        "rejected": [{"path": one.path, "reason": one.reason} for one in done.rejected],
    }


def pruned(done: Pruned) -> dict[str, Json]:
    """What a pruning did, or would do."""
    return {
        "dry_run": done.dry_run,
        "kept": done.kept,
        "bytes": done.bytes,
        "gone": [
            {
                "id": str(one.id),
                "goal": one.goal,
                "repo": one.repo,
                "at": moment_text(one.at),
                "bytes": one.bytes,
                "why": one.why,
            }
            for one in done.gone
        ],
    }


def prunable_row(one: Prunable) -> list[str]:
    """One that goes: id, when it was done, bytes, goal, why."""
    return [str(one.id), local(one.at), f"{one.bytes:,}", one.goal, one.why]


def size_row(one: WorkspaceSize) -> list[str]:
    """A repository: its path, jobs, files, bytes, and when the first and the last job were done."""
    return [one.repo, f"{one.completions:,}", f"{one.files:,}", f"{one.bytes:,}", local(one.oldest), local(one.newest)]


def stats(found: WorkspaceStats) -> dict[str, Json]:
    """How much is kept."""
    return {
        "workspaces": [
            {
                "repo": one.repo,
                "completions": one.completions,
                "files": one.files,
                "bytes": one.bytes,
                "oldest": moment_text(one.oldest),
                "newest": moment_text(one.newest),
            }
            for one in found.workspaces
        ],
        "blobs": found.blobs,
        "blob_bytes": found.blob_bytes,
        "stored_bytes": found.stored_bytes,
    }
