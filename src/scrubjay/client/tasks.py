"""Tasks and patterns of a server: a line for each verb, where its answer is the value itself."""

from typing import Any, Final, Unpack

from scrubjay.client.verb import Remote, Route, arguments_of, like, verb
from scrubjay.memories.patterns import Patterns
from scrubjay.memories.tasks import Tasks
from scrubjay.memories.tasks.verbs import Progress
from scrubjay.model import PLACE_NAMES, Where
from scrubjay.model.similar import SimilarTask, SimilarTasks
from scrubjay.model.tasks import ImportReport
from scrubjay.write.lines import Lines

_SEARCH: Final = Route(method="POST", path="/memory/search", reads=True)
_IMPORT: Final = Route(method="POST", path="/memory/tasks/import", query=PLACE_NAMES)

DEGRADED: Final = "Scrubjay-Degraded"
"""The header that names the parts of a search that could not take part."""


class RemoteTasks(Remote, memory="tasks"):
    """Have we done this before, and what worked? See `Tasks`: the verbs and their keywords are the same."""

    store_execution = verb(Tasks.store_execution, "POST", "/memory/store")
    store_many = verb(Tasks.store_many, "POST", "/memory/store", many="executions", inside=True)
    used = verb(Tasks.used, "POST", "/memory/tasks/used")
    get_task_context = verb(Tasks.get_task_context, "POST", "/memory/tasks/context", reads=True)

    @like(Tasks.search_similar, _SEARCH)
    async def search_similar(self, task_description: str, **asked: Any) -> SimilarTasks:  # noqa: ANN401 -- as the verb takes them
        """The answer is a list, and what could not take part stands in a header."""
        given = arguments_of({"task_description": task_description, **asked})
        answer, headers = await self._connection.ask_in_full(_SEARCH.request(given))
        return SimilarTasks(
            tasks=tuple(self._read(list[SimilarTask], answer)),
            threshold=asked.get("similarity_threshold"),
            degraded=tuple(part for part in headers.get(DEGRADED, "").split(", ") if part),
        )

    @like(Tasks.import_lines, _IMPORT)
    async def import_lines(
        self, lines: Lines, *, progress: Progress | None = None, **where: Unpack[Where]
    ) -> ImportReport:
        """The lines are sent as they are read here."""
        report: ImportReport = self._read(ImportReport, await self._send_lines(_IMPORT, lines, where))
        if progress is not None:
            progress(report.stored + report.unchanged + report.corrected + len(report.rejected))
        return report


class RemotePatterns(Remote, memory="patterns"):
    """What went with success and failure. See `Patterns`: the verbs and their keywords are the same."""

    extract_pattern = verb(Patterns.extract_pattern, "POST", "/memory/patterns/extract")
    learn = verb(Patterns.learn, "POST", "/memory/patterns/learn")
    feedback = verb(Patterns.feedback, "POST", "/memory/patterns/{pattern_id}/feedback", query=PLACE_NAMES)
    get = verb(Patterns.get, "GET", "/memory/patterns/{pattern_id}")
    history = verb(Patterns.history, "GET", "/memory/patterns/{pattern_id}/history")
    search_patterns = verb(Patterns.search_patterns, "GET", "/memory/patterns")
    find_matching_patterns = verb(Patterns.find_matching_patterns, "POST", "/memory/patterns/match", reads=True)
    recommend = verb(Patterns.recommend, "POST", "/memory/patterns/recommend", reads=True)
    predict = verb(Patterns.predict, "POST", "/memory/patterns/predict", reads=True)
    families = verb(Patterns.families, "GET", "/memory/patterns/families")
