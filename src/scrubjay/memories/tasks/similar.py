"""Similar tasks: past executions like the one at hand, cut by calibrated similarity and never by a fused rank."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, Unavailable
from scrubjay.memories.tasks.credit import credits_of
from scrubjay.memories.tasks.receipts import receipt_for
from scrubjay.model import Filter, Hit, Memory, Mode, Query
from scrubjay.model.checks import check_flag, check_fraction, check_whole, shown
from scrubjay.model.similar import SIMILAR_MODES, Credit, SimilarMode, SimilarTask, SimilarTasks
from scrubjay.model.tasks import MEMORY_TYPES, TASK_KIND, Execution, MemoryType
from scrubjay.ports import Calibrated, Serving
from scrubjay.read.nearest import nearest
from scrubjay.read.recall import recall
from scrubjay.read.understand import opening

LEAST_SIMILARITY: Final = 0.35
"""The threshold unless another is asked for, on the scale that calibrated models share.

Measured on duplicate issues and past tasks with both models, it is the highest that keeps four of five of the right
ones everywhere: docs/decisions/0013-similar-tasks.md. A model that nobody has calibrated has no default, for nobody
knows what its numbers mean.
"""

CREDIT_WEIGHT: Final = 0.25
"""How far reports can move a result, in log-odds of its score: enough to decide between near-equals, and no more."""

RIVALS: Final = 10
"""Results beyond those wanted whose credit is looked up."""

WIDER: Final = 4
LEAST_ASKED: Final = 20
"""More is asked for than is wanted, since a threshold, a filter and credit choose among what was found."""

FILTERED_ASKED: Final = 100
"""With a filter on outcomes or types, this much is asked for first. Most often it holds enough that pass."""

MOST_TASKS: Final = 200

_MODES: Final[dict[SimilarMode, Mode]] = {"hybrid": "hybrid", "semantic": "meaning", "keyword": "words"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which past executions are wanted."""

    description: str
    top_k: int
    threshold: float | None
    success_only: bool
    mode: SimilarMode
    memory_types: tuple[MemoryType, ...]
    other_than: str | None = None
    """The id of the task at hand, which is no past task like itself."""

    def __post_init__(self) -> None:
        if not isinstance(self.description, str) or not self.description.strip():
            raise InvalidInput(f"task_description is {shown(self.description)}: say what is to be done")
        check_whole("top_k", self.top_k, least=1, most=MOST_TASKS)
        check_flag("success_only", self.success_only)
        if self.mode not in SIMILAR_MODES:
            raise InvalidInput(f"mode is {shown(self.mode)}: use one of {', '.join(SIMILAR_MODES)}")
        for one in self.memory_types:
            if one not in MEMORY_TYPES:
                raise InvalidInput(f"memory_types holds {shown(one)}: use one of {', '.join(MEMORY_TYPES)}")
        if self.threshold is not None:
            check_fraction("similarity_threshold", self.threshold)
            if self.mode == "keyword":
                raise InvalidInput(
                    f"similarity_threshold is {self.threshold}, but mode 'keyword' compares words and has no "
                    "similarity: leave the threshold out, or use mode 'hybrid'"
                )

    @property
    def is_filtered(self) -> bool:
        """Whether not every execution may answer."""
        return self.success_only or bool(self.memory_types) or self.other_than is not None

    def admits(self, memory: Memory) -> bool:
        """Whether this memory may answer: it is an execution, and one of those that are wanted."""
        return (
            (not self.success_only or memory.data.get("success") is True)
            and (not self.memory_types or memory.data.get("memory_type") in self.memory_types)
            and (self.other_than is None or memory.data.get("task_id") != self.other_than)
            and _holds_execution(memory)
        )

    def narrowed(self, filter: Filter) -> Filter:
        """The filter, also saying what `admits` says."""
        data = dict(filter.data)
        if self.success_only:
            data["success"] = True
        if self.memory_types:
            data["memory_type"] = list(self.memory_types)
        if self.other_than is not None:
            data["task_id"] = {"ne": self.other_than}
        return replace(filter, data=data)


def _holds_execution(memory: Memory) -> bool:
    """False for a memory of this kind that was told by hand, and is no execution."""
    try:
        Execution.of(memory)
    except InvalidInput:
        return False
    return True


async def search(core: Core, wanted: Wanted, filter: Filter) -> SimilarTasks:
    """The executions that the filter admits and that are wanted, best first."""
    found, _ = await search_memories(core, wanted, filter)
    return found


async def search_memories(core: Core, wanted: Wanted, filter: Filter) -> tuple[SimilarTasks, dict[UUID, Memory]]:
    """The same, and the memories that hold them by their ids."""
    serving = await _serving(core, wanted)
    threshold = wanted.threshold
    if threshold is None and serving is not None and isinstance(serving.embedder, Calibrated):
        threshold = LEAST_SIMILARITY
    tasks_only = replace(filter, kinds=(TASK_KIND,))
    hits, degraded = await _found(core, wanted, tasks_only)
    if serving is not None and "vectors" not in degraded:
        hits = await _all_compared(core, wanted, tasks_only, hits, serving)
    if threshold is not None:
        # What waits to be indexed was not compared, and stays: it may be just what is looked for.
        hits = [hit for hit in hits if hit.similarity is None or hit.similarity >= threshold]
    hits = _within_reach(hits, wanted.top_k)
    earned = await credits_of([hit.memory for hit in hits], core.parts.stores.records, core.parts.clock())
    tasks = [_similar(hit, credit, core.tenant) for hit, credit in zip(hits, earned, strict=True)]
    tasks.sort(key=lambda task: task.score, reverse=True)
    found = SimilarTasks(tasks=tuple(tasks[: wanted.top_k]), threshold=threshold, degraded=degraded)
    return found, {hit.memory.id: hit.memory for hit in hits}


async def _serving(core: Core, wanted: Wanted) -> Serving | None:
    """Who answers by meaning, if anybody is to. Raises InvalidInput when that was asked for and there is no model."""
    if wanted.mode == "keyword":
        return None
    ask = core.parts.serving
    if ask is None:
        if wanted.mode == "semantic" or wanted.threshold is not None:
            asked = "mode is 'semantic'" if wanted.mode == "semantic" else f"similarity_threshold is {wanted.threshold}"
            raise InvalidInput(f"{asked}, but no embedding model is configured: use mode 'keyword', or set one")
        return None
    try:
        return await ask()
    except Unavailable:
        return None


async def _found(core: Core, wanted: Wanted, filter: Filter) -> tuple[list[Hit], tuple[str, ...]]:
    """What the read path finds. A filter on data makes a store look at every row, so it is asked for only at need."""
    limit = max(FILTERED_ASKED if wanted.is_filtered else LEAST_ASKED, WIDER * wanted.top_k)
    hits, degraded = await _recalled(core, wanted, filter, limit)
    admitted = [hit for hit in hits if wanted.admits(hit.memory)]
    if len(admitted) < wanted.top_k and wanted.is_filtered and len(hits) >= limit:
        hits, degraded = await _recalled(core, wanted, wanted.narrowed(filter), limit)
        admitted = [hit for hit in hits if wanted.admits(hit.memory)]
    return admitted, degraded


async def _recalled(core: Core, wanted: Wanted, filter: Filter, limit: int) -> tuple[list[Hit], tuple[str, ...]]:
    query = Query(text=wanted.description, filter=filter, limit=limit, mode=_MODES[wanted.mode], explain=True)
    hits = await recall(query, stores=core.parts.stores, serving=core.parts.serving, now=core.parts.clock())
    return list(hits), hits.degraded


async def _all_compared(core: Core, wanted: Wanted, filter: Filter, hits: Sequence[Hit], serving: Serving) -> list[Hit]:
    """The hits, those with a similarity too that only their words found: a threshold has to mean the same for all."""
    missing = [hit.memory.id for hit in hits if hit.similarity is None]
    if not missing:
        return list(hits)
    cosines = await _cosines(core, wanted.description, filter, missing, serving)
    scale = _scale(serving)
    return [
        replace(
            hit, similarity=scale(cosines[hit.memory.id]), signals={**hit.signals, "meaning": cosines[hit.memory.id]}
        )
        if hit.memory.id in cosines
        else hit
        for hit in hits
    ]


async def _cosines(
    core: Core, description: str, filter: Filter, ids: Sequence[UUID], serving: Serving
) -> dict[UUID, float]:
    embedder = serving.embedder
    text = opening(description.strip(), window=embedder.window, count=embedder.count)
    try:
        vector = (await embedder.embed([text], question=True))[0]
        vectors, now = core.parts.stores.vectors, core.parts.clock()
        found = await nearest(serving, vector, filter, vectors=vectors, now=now, limit=len(ids), among=ids)
    except Unavailable:
        return {}
    return {match.id: match.score for match in found.matches}


def _scale(serving: Serving) -> Callable[[float], float]:
    embedder = serving.embedder
    return embedder.calibrate if isinstance(embedder, Calibrated) else lambda cosine: max(0.0, cosine)


def _within_reach(hits: Sequence[Hit], top_k: int) -> list[Hit]:
    """Those that could be among the best when credit is counted: each look-up costs, and most hits are out of reach."""
    if len(hits) <= top_k:
        return list(hits)
    last = _moved(hits[top_k - 1].score, -CREDIT_WEIGHT)
    return [hit for hit in hits[: top_k + RIVALS] if _moved(hit.score, CREDIT_WEIGHT) >= last]


def _similar(hit: Hit, credit: Credit, tenant: str) -> SimilarTask:
    execution = Execution.of(hit.memory)
    return SimilarTask(
        task_id=execution.task_id,
        attempt=execution.attempt,
        memory_id=hit.memory.id,
        summary=execution.execution_summary,
        success=execution.success,
        memory_type=execution.learned_as,
        score=_moved(hit.score, CREDIT_WEIGHT * credit.balance),
        similarity=hit.similarity,
        semantic_score=hit.signals.get("meaning"),
        keyword_score=hit.signals.get("words"),
        credit=credit,
        receipt=receipt_for([hit.memory.id], tenant),
        why=hit.why,
        execution=execution,
    )


def _moved(score: float, step: float) -> float:
    """The score, moved by so much in log-odds."""
    return 1 / (1 + exp(-(log(score / (1 - score)) + step))) if step and 0 < score < 1 else score
