"""Task context: what past tasks say about the one at hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import NotFound
from scrubjay.memories.patterns import Patterns
from scrubjay.memories.patterns.advising import advice_of
from scrubjay.memories.patterns.keeping import KEY as PATTERN_KEY
from scrubjay.memories.tasks.brief import write_brief
from scrubjay.memories.tasks.receipts import MOST_MEMORIES, receipt_for
from scrubjay.memories.tasks.similar import MOST_TASKS, WIDER, Wanted, search_memories
from scrubjay.model import Filter, Memory, Scope, Where
from scrubjay.model.checks import check_content, check_name, check_whole
from scrubjay.model.patterns import PATTERN_KIND, PatternMatch
from scrubjay.model.similar import RecommendedContext, SimilarTask, SimilarTasks, TaskContext
from scrubjay.model.tasks import TASK_KIND, Execution, check_names, task_key
from scrubjay.read.likes import Alike, counted, done_in, gathered
from scrubjay.write.announce import offered

COUNTED: Final = 20
"""Similar tasks that are looked for at least, to say how such tasks ended."""

LEAST_COUNTED: Final = 5
"""Similar tasks from which on a rate of success says something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtHand:
    """The task at hand, and how far it has come."""

    description: str
    task_id: str | None = None
    task_type: str | None = None
    tools: Sequence[str] = ()
    errors: Sequence[str] = ()
    model: str | None = None

    def __post_init__(self) -> None:
        check_content(self.description, "description")
        check_name("task_type", self.task_type)
        check_names("tools", tuple(self.tools))
        check_name("model", self.model)

    @property
    def said(self) -> str:
        """Its type and description, which is what patterns are learned from."""
        return f"{self.task_type} {self.description}" if self.task_type else self.description


async def latest(core: Core, task_id: str, scope: Scope) -> Execution:
    """The execution of a task that was stored last. Raises NotFound."""
    wanted = Filter(scope=scope, kinds=(TASK_KIND,), key_prefix=task_key(task_id))
    found = await core.parts.stores.records.find(wanted, now=core.parts.clock(), limit=1)
    if not found:
        raise NotFound(f"there is no execution of the task {task_id} in {scope}: describe the task instead")
    return Execution.of(found[0])


async def task_context(core: Core, task: AtHand, where: Where, *, top_k: int, budget: int) -> TaskContext:
    """What to know before the task, as much as fits into the budget."""
    check_whole("top_k", top_k, least=1, most=MOST_TASKS)
    scope, patterns = core.scoped(where), Patterns(core)
    similar, groups = await _similar(core, task, scope, top_k)
    likes, rate = groups[:top_k], success_rate(similar)
    matched = await patterns.find_matching_patterns(task.said, **where)
    brief = write_brief(
        prediction=await patterns.predict(task.said, tools=task.tools, errors=task.errors, model=task.model, **where),
        rate=rate if len(similar) >= LEAST_COUNTED else "",
        recommendations=advice_of(matched),
        similar=[one for one, _ in likes],
        likes={one.memory_id: alike for one, alike in likes if alike.more},
        patterns=matched,
        budget=budget,
        tokens=core.parts.tokens(),
    )
    behind = await _behind(core, brief.similar, brief.patterns, scope)
    ids = [memory.id for memory in behind]
    await core.parts.events.publish(
        offered(
            "memory.context.suggested",
            scope,
            [(str(memory.id), memory.scope) for memory in behind],
            core.parts.clock(),
            called="ids",
            recommendations=len(brief.recommendations),
        )
    )
    return TaskContext(
        description=task.description,
        similar_tasks=brief.similar,
        matching_patterns=brief.patterns,
        recommendations=brief.recommendations,
        recommended_context=RecommendedContext(
            success_rate=rate,
            similar=len(similar),
            succeeded=sum(one.success for one in similar),
            do=tuple(one.text for one in brief.recommendations if one.advice == "do"),
            avoid=tuple(one.text for one in brief.recommendations if one.advice == "avoid"),
        ),
        prediction=brief.prediction,
        text=brief.text,
        tokens=brief.tokens,
        budget=budget,
        left_out=brief.left_out,
        receipt=receipt_for(ids, core.tenant) if ids else None,
        degraded=similar.degraded,
    )


def success_rate(similar: Sequence[SimilarTask]) -> str:
    """How the similar tasks ended, as a sentence."""
    many, succeeded = len(similar), sum(one.success for one in similar)
    if many >= LEAST_COUNTED:
        return f"{succeeded} of {many} similar tasks succeeded ({succeeded / many:.0%})."
    return f"{succeeded} of {many} similar tasks succeeded: too few to say." if many else "No similar task is known."


async def _similar(
    core: Core, task: AtHand, scope: Scope, top_k: int
) -> tuple[SimilarTasks, list[tuple[SimilarTask, Alike]]]:
    """The past tasks that are nearest; and each of these for all that were nearly the same and ended alike."""
    wanted = Wanted(
        description=task.description,
        # Some stand for others, so that there is room for more.
        top_k=min(MOST_TASKS, max(COUNTED, WIDER * top_k)),
        threshold=None,
        success_only=False,
        mode="hybrid",
        memory_types=(),
        other_than=task.task_id,
    )
    similar, memories = await search_memories(core, wanted, Filter(scope=scope))
    return similar, _one_for_all(similar, memories)


def _one_for_all(similar: SimilarTasks, memories: Mapping[UUID, Memory]) -> list[tuple[SimilarTask, Alike]]:
    done = {task.memory_id: done_in(memories[task.memory_id]) for task in similar}
    groups = gathered(similar, lambda task: done[task.memory_id], by_outcome=True)
    return [(one, counted([done[like.memory_id] for like in likes])) for one, likes in groups]


async def _behind(
    core: Core, similar: Sequence[SimilarTask], matched: Sequence[PatternMatch], scope: Scope
) -> list[Memory]:
    """The memories that the context is made of: what its receipt credits."""
    records = core.parts.stores.records
    behind = await records.get(scope, [task.memory_id for task in similar])
    for match in matched:
        wanted = Filter(scope=scope, kinds=(PATTERN_KIND,), key=f"{PATTERN_KEY}{match.pattern.id}")
        behind += await records.find(wanted, now=core.parts.clock(), limit=1)
    return behind[:MOST_MEMORIES]
