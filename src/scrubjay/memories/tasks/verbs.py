"""The verbs of task memory, each a few lines over the write path, the read path and the patterns learned from both."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final, Unpack

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.memories.patterns import Patterns
from scrubjay.memories.tasks.context import AtHand, latest, task_context
from scrubjay.memories.tasks.credit import counted, report
from scrubjay.memories.tasks.receipts import memories_of
from scrubjay.memories.tasks.similar import Wanted, search
from scrubjay.memories.tasks.storing import Told, draft_of, learning_of, read_lines, settled
from scrubjay.model import Filter, Json, Memory, Remembered, Scope, Where
from scrubjay.model.checks import check_content, check_data, check_name, check_several, check_whole, shown
from scrubjay.model.context import MOST_BUDGET
from scrubjay.model.patterns import PATTERN_KIND
from scrubjay.model.similar import (
    REUSE_OUTCOMES,
    Credit,
    ReuseOutcome,
    SimilarMode,
    SimilarTasks,
    StoredExecution,
    TaskContext,
    Used,
)
from scrubjay.model.tasks import ImportReport, MemoryType, RejectedLine, error_text
from scrubjay.off_loop import off_loop, weight
from scrubjay.write.lines import Lines, batches, numbered
from scrubjay.write.remember import BATCH

Progress = Callable[[int], None]

MOST_REJECTED: Final = 10_000
"""Lines of one import that a report names. A file with more of them is no file of executions."""

NO_OUTCOME: Final = "use one of " + ", ".join(REUSE_OUTCOMES)


class ExecutionDetails(Where, total=False):
    """What may be told of an execution beside its id, summary and success, and where it belongs. See `Execution`."""

    attempt: int
    task_description: str | None
    task_type: str | None
    goal: str | None
    error_patterns: "Sequence[Json] | Json"
    tools: Sequence[str]
    files: Sequence[str]
    model: str | None
    duration: float | None
    tokens: int | None
    cost: float | None
    parent: str | None
    memory_type: MemoryType | None
    at: datetime | None
    auto_extract_patterns: bool | None


class Tasks:
    """Task memory: have we done this before, and what worked?"""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Writing

    async def store_execution(
        self,
        task_id: str,
        execution_summary: str,
        success: bool,  # noqa: FBT001 -- the three that every execution has, in this order
        **details: Unpack[ExecutionDetails],
    ) -> StoredExecution:
        """Remember one attempt at a task. Told again it is the same memory; told otherwise, it is corrected.

        With `auto_extract_patterns`, patterns are learned in its place at once, and the answer has those that changed.
        """
        fields = {"task_id": task_id, "execution_summary": execution_summary, "success": success, **details}
        return (await self.store_many([fields]))[0]

    async def store_many(
        self, executions: Iterable[Told], *, progress: Progress | None = None, **where: Unpack[Where]
    ) -> list[StoredExecution]:
        """Remember many: `Execution` values, or dicts of the same fields. All are checked before any is written.

        A dict may say `auto_extract_patterns`, too.
        """
        scope, parts = self._core.scoped(where), self._core.parts
        check_several("executions", executions)
        given = [learning_of(one) for one in executions]
        told, learns = [one for one, _ in given], [learn for _, learn in given]
        drafts = await off_loop(weight(told), self._drafts, told, scope)
        done: list[Remembered] = []
        for start in range(0, len(drafts), BATCH):
            done += await parts.writer.write(drafts[start : start + BATCH], settled)
            if progress is not None:
                progress(len(done))
        places = dict.fromkeys(one.memory.scope for one, learn in zip(done, learns, strict=True) if learn)
        learned = {scope: tuple(await Patterns(self._core).learn(quick=True, **scope.where)) for scope in places}
        return [
            StoredExecution(
                memory=one.memory,
                outcome=one.outcome,
                replaced=one.replaced,
                patterns=learned[one.memory.scope] if learn else None,
            )
            for one, learn in zip(done, learns, strict=True)
        ]

    def _drafts(self, told: Sequence[Told], scope: Scope) -> list[Memory]:
        parts = self._core.parts
        drafts: list[Memory] = []
        for place, one in enumerate(told):
            try:
                drafts.append(draft_of(one, scope, now=parts.clock(), redactor=parts.redactor))
            except ScrubjayError as error:
                if len(told) == 1:
                    raise
                raise type(error)(f"execution {place}: {error}") from error
        return drafts

    async def import_lines(
        self, lines: Lines, *, progress: Progress | None = None, **where: Unpack[Where]
    ) -> ImportReport:
        """Remember executions from lines of JSON. A line that cannot be one is reported and left out, all of it.

        Safe to repeat: what is known already is left alone.
        """
        scope, parts = self._core.scoped(where), self._core.parts
        counts = {"stored": 0, "unchanged": 0, "superseded": 0}
        rejected: list[RejectedLine] = []
        async for batch in batches(numbered(lines), BATCH):
            reading = partial(read_lines, batch, scope, now=parts.clock(), redactor=parts.redactor)
            drafts, wrong = await off_loop(weight(batch), reading)
            rejected += wrong
            if len(rejected) > MOST_REJECTED:
                first = rejected[0]
                raise InvalidInput(
                    f"more than {MOST_REJECTED:,} lines are no executions, the first of them line {first.line}: "
                    f"{first.reason}. What was read before is stored. Correct the file, and import it again"
                )
            for one in await parts.writer.write(drafts, settled) if drafts else ():
                counts[one.outcome] += 1
            if progress is not None:
                progress(sum(counts.values()) + len(rejected))
        return ImportReport(
            stored=counts["stored"],
            unchanged=counts["unchanged"],
            corrected=counts["superseded"],
            rejected=tuple(rejected),
        )

    async def used(
        self,
        receipt: str,
        outcome: ReuseOutcome,
        *,
        note: str | None = None,
        task_id: str | None = None,
        **where: Unpack[Where],
    ) -> Used:
        """Report what came of using a result: `helped`, `hurt` or `neutral`. A receipt counts once.

        `note` says how, and `task_id` in which task. Raises InvalidInput for a receipt that is not of this tenant,
        NotFound when the scope sees none of its memories, and Conflict when it was reported otherwise before.
        """
        if outcome not in REUSE_OUTCOMES:
            raise InvalidInput(f"outcome is {shown(outcome)}: {NO_OUTCOME}")
        check_name("task_id", task_id)
        if note is not None:
            check_content(note, "note")
        scope, parts = self._core.scoped(where), self._core.parts
        ids = memories_of(receipt, self._core.tenant)
        # Of what was forgotten since, nobody is told any more how it was used.
        memories = [memory for memory in await parts.stores.records.get(scope, ids) if not memory.is_forgotten]
        if not memories:
            raise NotFound(
                f"the memories behind this receipt are not in {scope}: forgotten, purged, or of another place"
            )
        drafts = [
            report(
                memory,
                receipt.strip(),
                outcome,
                note=note,
                task_id=task_id,
                now=parts.clock(),
                redactor=parts.redactor,
            )
            for memory in memories
        ]
        done = await parts.writer.write(drafts, counted)
        await self._teach(memories, done, outcome, where)
        return Used(
            outcome=outcome,
            memories=tuple(memory.id for memory in memories),
            credits=tuple(Credit.of(one.memory.data) for one in done),
            counted=any(one.outcome != "unchanged" for one in done),
        )

    async def _teach(
        self, memories: Sequence[Memory], done: Sequence[Remembered], outcome: ReuseOutcome, where: Where
    ) -> None:
        """Let the patterns among these hear whether following them helped, once for each report that is new."""
        patterns = Patterns(self._core)
        for memory, one in zip(memories, done, strict=True):
            # A fact may be of this kind, too, and has no id of a pattern.
            pattern = memory.data.get("id") if memory.kind == PATTERN_KIND else None
            if isinstance(pattern, str) and one.outcome != "unchanged" and outcome != "neutral":
                # A pattern that was closed since has nobody left to teach.
                with suppress(NotFound):
                    await patterns.feedback(pattern, outcome == "helped", **where)

    # Reading

    async def search_similar(
        self,
        task_description: str,
        *,
        top_k: int = 5,
        similarity_threshold: float | None = None,
        success_only: bool = False,
        mode: SimilarMode = "hybrid",
        memory_types: Sequence[MemoryType] = (),
        **where: Unpack[Where],
    ) -> SimilarTasks:
        """Find past executions like this task, best first, each with a receipt to report what came of using it.

        Without a threshold, the one that was measured for calibrated models applies. Listing counts as no use.
        """
        check_several("memory_types", memory_types)
        wanted = Wanted(
            description=task_description,
            top_k=top_k,
            threshold=similarity_threshold,
            success_only=success_only,
            mode=mode,
            memory_types=tuple(memory_types),
        )
        return await search(self._core, wanted, Filter(scope=self._core.scoped(where)))

    async def get_task_context(
        self,
        task_description: str | None = None,
        *,
        description: str | None = None,
        task_id: str | None = None,
        top_k: int = 3,
        budget: int = 1_000,
        task_type: str | None = None,
        tools: Sequence[str] = (),
        error_patterns: Sequence[Json] = (),
        model: str | None = None,
        **where: Unpack[Where],
    ) -> TaskContext:
        """Say what to know about a task: similar ones, what worked and what failed, and its chances if they are known.

        By its description, or by the id of a task that was tried before, which is not among the similar ones then.
        `description` is another name of `task_description`. `tools` and `error_patterns` are those of the run so far,
        if it has begun. The text never counts more tokens than the budget. Raises NotFound.
        """
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        check_name("task_id", task_id)
        if task_description is not None and description is not None:
            raise InvalidInput("task_description and description are two names for one thing: give one of them")
        task_description = task_description if task_description is not None else description
        if task_description is None:
            if task_id is None:
                raise InvalidInput("a context of what? Give a description, or the task_id of a known task")
            known = await latest(self._core, task_id, self._core.scoped(where))
            task_description = known.task_description or known.goal or known.execution_summary
            task_type = task_type or known.task_type
        check_several("tools", tools)
        check_several("error_patterns", error_patterns)
        check_data({"error_patterns": [*error_patterns]})
        errors = tuple(error_text(one) for one in error_patterns)
        task = AtHand(
            description=task_description,
            task_id=task_id,
            task_type=task_type,
            tools=tuple(tools),
            errors=errors,
            model=model,
        )
        return await task_context(self._core, task, where, top_k=top_k, budget=budget)
