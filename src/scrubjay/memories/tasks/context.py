"""Task context: what past tasks say about the one at hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from scrubjay.model.checks import check_content, check_name
from scrubjay.model.patterns import PATTERN_KIND, PatternMatch
from scrubjay.model.similar import SimilarTask, SimilarTasks, TaskContext
from scrubjay.model.tasks import TASK_KIND, Execution, check_names, task_key
from scrubjay.read.likes import Alike, counted, done_in, gathered
from scrubjay.write.announce import offered


@dataclass(frozen=True, slots=True, kw_only=True)
class AtHand:
    """The task at hand, and how far it has come."""

    description: str
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
    scope, patterns = core.scoped(where), Patterns(core)
    likes, degraded = await _similar(core, task.description, scope, top_k)
    matched = await patterns.find_matching_patterns(task.said, **where)
    brief = write_brief(
        prediction=await patterns.predict(task.said, tools=task.tools, errors=task.errors, model=task.model, **where),
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
        prediction=brief.prediction,
        text=brief.text,
        tokens=brief.tokens,
        budget=budget,
        left_out=brief.left_out,
        receipt=receipt_for(ids, core.tenant) if ids else None,
        degraded=degraded,
    )


async def _similar(
    core: Core, description: str, scope: Scope, top_k: int
) -> tuple[list[tuple[SimilarTask, Alike]], tuple[str, ...]]:
    """The past tasks that are nearest, each for all that were nearly the same and ended alike; and what was away."""
    wanted = Wanted(
        description=description, top_k=top_k, threshold=None, success_only=False, mode="hybrid", memory_types=()
    )
    similar, memories = await search_memories(core, wanted, Filter(scope=scope))
    groups = _one_for_all(similar, memories)
    if len(groups) < top_k == len(similar):
        # Some stand for others, so that there is room for more.
        wider = replace(wanted, top_k=min(MOST_TASKS, WIDER * top_k))
        similar, memories = await search_memories(core, wider, Filter(scope=scope))
        groups = _one_for_all(similar, memories)
    return groups[:top_k], similar.degraded


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
