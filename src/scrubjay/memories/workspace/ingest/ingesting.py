"""Read a repository into memory: its files, its history, and a memory of the repository itself."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Unpack

from scrubjay.core import Core
from scrubjay.errors import Conflict, InvalidInput, Misconfigured
from scrubjay.memories.workspace.ingest.grammars import is_installed
from scrubjay.memories.workspace.ingest.history import MOST_COMMITS, Commit, History
from scrubjay.memories.workspace.ingest.storing import Ingest, Job, Progress, Tally, known_files
from scrubjay.memories.workspace.repository import Repository, repository_of
from scrubjay.model import Filter, Json, Memory, Scope, Trust, Where
from scrubjay.model.checks import check_whole
from scrubjay.model.code import REPOSITORY_KEY, REPOSITORY_KIND, IngestReport
from scrubjay.write.prepare import Telling

COMMITS: Final = 1_000
"""Commits of the past that the first run reads, unless another number is asked for."""

_NO_GRAMMARS: Final = (
    "code is cut into windows of lines: pip install 'scrubjay[code]' to cut it by functions and classes"
)


async def ingest(
    core: Core,
    path: str | Path,
    *,
    history: int = COMMITS,
    since: str | None = None,
    paths: frozenset[str] | None = None,
    progress: Progress | None = None,
    **where: Unpack[Where],
) -> IngestReport:
    """Read the repository, or the folder of it that the path names. See `Code.ingest`."""
    began = time.perf_counter()
    check_whole("history", history, least=0, most=MOST_COMMITS)
    repository = repository_of(path)
    if not repository.base.is_dir():
        raise InvalidInput(f"path is {str(path)!r}: there is no such folder")
    where = placed(repository, where)
    scope = core.scoped(where)
    held = await repository_in(core, scope)
    _check_same(held, repository, scope)
    inside = repository.base.relative_to(repository.root).as_posix()
    commit = await asyncio.to_thread(_resolved, repository.root, since) if since is not None else None
    known: Mapping[str, Json] = held.data if held is not None else {}
    job = Job(
        root=repository.root,
        inside="" if inside == "." else f"{inside}/",
        where=where,
        scope=scope,
        paths=paths,
        since=commit,
        thorough=known.get("complete") is False,
    )
    marked = _Marked(core, repository, scope, known)
    tally = await Ingest(core, job, begin=marked.begin, progress=progress).run()
    notes = [] if is_installed() else [_NO_GRAMMARS]
    commits, head = await _history(core, repository.root, where, known, history=history, since=commit, notes=notes)
    files = await known_files(core, scope)
    languages = dict(Counter(one.language for one in files.values()).most_common())
    await marked.end(files=len(files), languages=languages, head=head)
    return _report(tally, repository, scope, len(files), languages, commits, notes, time.perf_counter() - began)


def placed(repository: Repository, where: Where) -> Where:
    """Where its memories belong: a repository is a project, named after its folder unless the caller names it."""
    return where if where.get("project") is not None else {**where, "project": repository.project}


async def repository_in(core: Core, scope: Scope) -> Memory | None:
    """The memory of the repository that exactly this scope holds."""
    wanted = Filter(scope=scope, reach="holds", kinds=(REPOSITORY_KIND,), key=REPOSITORY_KEY)
    found = await core.parts.stores.records.find(wanted, now=core.parts.clock(), limit=100)
    return next((memory for memory in found if memory.scope == scope), None)


def _check_same(held: Memory | None, repository: Repository, scope: Scope) -> None:
    """Raise Conflict when the scope holds another repository. One whose folder is gone has moved here."""
    root = str(held.data.get("repo", "")) if held is not None else ""
    if root and root != repository.name and Path(root).is_dir():
        raise Conflict(
            f"{scope} holds the repository at {root} already: name another project for {repository.name}, "
            "or forget that one first"
        )


def _resolved(root: Path, revision: str) -> str:
    history = History.of(root)
    if history is None:
        raise InvalidInput(f"since is {revision!r}, but {root} is not a git repository: leave it out")
    with history:
        return history.commit_of(revision)


class _Marked:
    """The memory of the repository: marked as incomplete while files are being written, and complete at the end."""

    def __init__(self, core: Core, repository: Repository, scope: Scope, known: Mapping[str, Json]) -> None:
        self._core = core
        self._repository = repository
        self._scope = scope
        self._known = dict(known)

    async def begin(self) -> None:
        """Note that files are about to be written. Whoever comes after a crash looks twice."""
        await self._tell({**self._known, "complete": False})

    async def end(self, *, files: int, languages: Mapping[str, int], head: str | None) -> None:
        """Note that all is written, and up to which commit history was read."""
        data: dict[str, Json] = {"files": files, "languages": dict(languages), "complete": True}
        read = head or self._known.get("head")
        await self._tell({**data, "head": read} if read else data)

    async def _tell(self, data: dict[str, Json]) -> None:
        name = Path(self._repository.name).name
        languages = data.get("languages")
        most = ", ".join(list(languages)[:5]) if isinstance(languages, dict) else ""
        about = f": {data.get('files', 0)} files, mostly {most}" if most else ""
        told: Telling = {
            "content": f"The repository {name}{about}",
            "kind": REPOSITORY_KIND,
            "key": REPOSITORY_KEY,
            "data": {**data, "repo": self._repository.name, "root": str(self._repository.root)},
            "trust": Trust.OBSERVED,
        }
        await self._core.parts.writer.remember([told], self._scope, own=REPOSITORY_KIND)


async def _history(
    core: Core,
    root: Path,
    where: Where,
    known: Mapping[str, Json],
    *,
    history: int,
    since: str | None,
    notes: list[str],
) -> tuple[int, str | None]:
    """Tell the commits that are new; return how many those were, and the newest that is known now."""
    told = known.get("head")
    after = since or (told if isinstance(told, str) else None)
    if not history:
        return 0, None
    try:
        commits, head = await asyncio.to_thread(_commits, root, history, after)
    except Misconfigured as error:
        notes.append(str(error))
        return 0, None
    tellings = [commit.telling(core.parts.clock()) for commit in commits]
    written = await core.remember_many(tellings, **where) if tellings else []
    return sum(one.outcome != "unchanged" for one in written), head


def _commits(root: Path, limit: int, after: str | None) -> tuple[list[Commit], str | None]:
    history = History.of(root)
    if history is None:
        return [], None
    with history:
        return history.commits(limit=limit, after=after), history.head


def _report(
    tally: Tally,
    repository: Repository,
    scope: Scope,
    files: int,
    languages: Mapping[str, int],
    commits: int,
    notes: list[str],
    seconds: float,
) -> IngestReport:
    return IngestReport(
        root=str(repository.root),
        project=scope.project or "",
        files=files,
        added=tally.added,
        changed=tally.changed,
        unchanged=tally.unchanged,
        removed=tally.removed,
        pieces=tally.pieces,
        closed=tally.closed,
        commits=commits,
        skipped=tuple(tally.skipped),
        redactions=tuple(tally.redactions),
        languages=languages,
        notes=tuple(notes),
        seconds=seconds,
    )
