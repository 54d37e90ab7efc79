"""The verbs about the code of a repository: read it in, search it, cite it, and find the files that matter."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Unpack

from scrubjay.core import Id
from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.code import relevant, secrets
from scrubjay.memories.workspace.code.citing import cited
from scrubjay.memories.workspace.code.roots import trees_of
from scrubjay.memories.workspace.ingest import ingesting, watching
from scrubjay.memories.workspace.ingest.storing import Progress
from scrubjay.memories.workspace.repository import repository_of
from scrubjay.memories.workspace.room import Room
from scrubjay.model import Json, Mode, Remembered, Where
from scrubjay.model.checks import check_name, check_whole
from scrubjay.model.citations import CITED_FROM, CITES, CODE_KIND, CheckedCitation
from scrubjay.model.code import CodeHit, CodeHits, IngestReport, RelevantFiles, SecretScan
from scrubjay.read.narrow import Narrow, places
from scrubjay.write.prepare import Told

MOST_FILES = 200


class Code(Room):
    """What is known about the code itself."""

    # Reading it in

    async def ingest(
        self,
        path: str | Path,
        *,
        history: int = ingesting.COMMITS,
        since: str | None = None,
        progress: Progress | None = None,
        **where: Unpack[Where],
    ) -> IngestReport:
        """Read a repository, or one folder of it: its files in pieces, and its newest commits. Say what was done.

        It becomes a project, named after its folder unless `project` names it. Run again, it touches only what
        changed and closes what is gone; stopped half-way, it goes on where it was. `since` reads only what differs
        from a commit, and only the history after it. Secrets are replaced before anything is stored.
        Raises Conflict when the project holds another repository.
        """
        self._check_enabled()
        return await ingesting.ingest(self._core, path, history=history, since=since, progress=progress, **where)

    async def watch(
        self,
        path: str | Path,
        *,
        every: float = watching.EVERY,
        history: int = ingesting.COMMITS,
        report: watching.Report = lambda _report: None,
        stop: Event | None = None,
        **where: Unpack[Where],
    ) -> None:
        """Ingest, and again whatever changes, until `stop` is set, by any thread. `report` hears of each run."""
        self._check_enabled()
        await watching.watch(self._core, path, every=every, history=history, report=report, stop=stop, **where)

    # Searching it

    async def search_code(
        self,
        query: str,
        *,
        limit: int = 10,
        language: str | None = None,
        **where: Unpack[Where],
    ) -> CodeHits:
        """Find pieces of code that fit, best first, each compared with the working tree: fresh, drifted or orphaned."""
        check_name("language", language)
        data: dict[str, Json] = {"language": language} if language is not None else {}
        return await self.recall(query, limit=limit, kinds=(CODE_KIND,), data=data, **where)

    async def recall(self, query: str, *, limit: int = 10, **narrow: Unpack[Narrow]) -> CodeHits:
        """Recall as ever, and compare the code that the answers cite with the working tree.

        What is drifted or orphaned says so in `warning`: advice about code that has changed may be stale.
        """
        self._check_enabled()
        began = time.perf_counter()
        mode: Mode = "hybrid" if self._rules.embeddings else "words"
        hits = await self._core.recall(query, limit=limit, mode=mode, **narrow)
        found = [CodeHit(hit=hit, cited=hit.cited) for hit in hits]
        return CodeHits(hits=tuple(found), degraded=hits.degraded, milliseconds=(time.perf_counter() - began) * 1_000)

    # Citing it

    async def cite(
        self, content: str, cites: Sequence[str], *, repo_path: str | Path | None = None, **told: Unpack[Told]
    ) -> Remembered:
        """Remember something about code: `cites` are paths, `path:10-20` or `path#symbol`, as they are right now.

        They are kept with their hashes, so that `recall` and `check` say when the code has changed since. The
        repository is the one at `repo_path`, or the one that the scope holds.
        """
        self._check_enabled()
        if isinstance(cites, str) or not cites:
            raise InvalidInput(f"cites is {cites!r}: give a list, such as ['src/app.py#load']")
        where = places(told)
        root = repo_path if repo_path is not None else await trees_of(self._core).root(self._core.scoped(where))
        if root is None:
            raise InvalidInput("repo_path is missing, and the scope does not hold just one repository: name it")
        repository = repository_of(root)
        found = await asyncio.to_thread(cited, list(cites), repository, self._core.parts.redactor)
        named: dict[str, Json] = {CITED_FROM: str(repository.root)} if repo_path is not None else {}
        told["data"] = {**(told.get("data") or {}), CITES: [one.data for one in found], **named}
        return await self._core.remember(content, **told)

    async def check(self, id: Id, **where: Unpack[Where]) -> tuple[CheckedCitation, ...]:
        """Compare what one memory cites with the working tree. Empty when it cites nothing, or the tree is not here."""
        self._check_enabled()
        memory = await self._core.get(id, **where)
        scope = self._core.scoped(where)
        return (await trees_of(self._core).compare(scope, [memory]))[0] if self._core.caller.is_here else ()

    # Files that matter

    async def relevant_files(self, task_description: str, *, limit: int = 10, **where: Unpack[Where]) -> RelevantFiles:
        """Say which files most likely matter for a task, best first, each with the reason.

        From what the files say and define, from the paths and names that the task mentions, and from the files that
        similar tasks, completed jobs and commits have touched.
        """
        self._check_enabled()
        check_whole("limit", limit, least=1, most=MOST_FILES)
        return await relevant.relevant_files(
            self._core, task_description, limit=limit, by_meaning=self._rules.embeddings, scope=self._core.scoped(where)
        )

    # Secrets

    async def scan_secrets(
        self, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> SecretScan:
        """Look for secrets in everything that is stored inside the scope, every kind of memory and every version."""
        self._check_enabled()
        return await secrets.scan(self._core, self._core.scoped(where), progress)
