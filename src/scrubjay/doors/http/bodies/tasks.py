"""What task memory and pattern memory are told and asked."""

from typing import Any

from pydantic import Field, JsonValue

from scrubjay.doors.http.bodies.body import Body, Moment, Place, Values, Words, one_or_many, shaped
from scrubjay.model.patterns import PatternType
from scrubjay.model.query import MOST_KINDS
from scrubjay.model.similar import ReuseOutcome, SimilarMode
from scrubjay.model.tasks import MemoryType


class Execution(Place):
    """One attempt at a task, and how it ended."""

    model_config = shaped(
        {
            "task_id": "SHOP-17",
            "execution_summary": "Ran the migration first, then deployed",
            "success": True,
            "error_patterns": [],
            "auto_extract_patterns": False,
            "task_description": "Deploy the shop",
            "task_type": "deploy",
            "tools": ["migrate", "deploy"],
            "project": "shop",
        }
    )

    task_id: str
    execution_summary: str = Field(description="What was done, and what came of it.")
    success: bool
    attempt: int = Field(default=1, description="Which attempt at the task it was, counted from 1.")
    task_description: str | None = Field(default=None, description="What was to be done.")
    task_type: str | None = Field(default=None, description="Such as `deploy` or `bugfix`.")
    goal: str | None = None
    error_patterns: Values | dict[str, JsonValue] | str = Field(
        default=[], description="Errors that were met: texts, or objects; one by itself will do."
    )
    tools: Words = Field(default=[], description="Tools that were used, in their order.")
    files: Words = Field(default=[], description="Files that were touched.")
    model: str | None = Field(default=None, description="The language model that did it.")
    duration: float | None = Field(default=None, description="Seconds.")
    tokens: int | None = None
    cost: float | None = None
    parent: str | None = Field(default=None, description="The task that this one is a part of.")
    memory_type: MemoryType | None = Field(default=None, description="What it is remembered as; found out otherwise.")
    at: Moment | None = Field(default=None, description="When it ended; now, if left out.")


class ToldExecution(Execution):
    """One attempt at a task, and whether to learn from it at once."""

    auto_extract_patterns: bool = Field(
        default=False, description="Learn patterns in its place at once. Left out, they are learned a little later."
    )


ToldExecutions: Any = one_or_many(ToldExecution)
"""One execution, or a list of them."""


class SimilarSearch(Place):
    """A task at hand."""

    model_config = shaped(
        {
            "task_description": "deploy the shop",
            "top_k": 5,
            "similarity_threshold": 0.4,
            "success_only": True,
            "project": "shop",
        }
    )

    task_description: str
    top_k: int = Field(default=5, description="From 1 to 1,000.")
    similarity_threshold: float | None = Field(
        default=None, description="From 0 to 1. Left out, the one that was measured for the embedding model."
    )
    success_only: bool = Field(default=False, description="Only what succeeded.")
    mode: SimilarMode = "hybrid"
    memory_types: list[MemoryType] = Field(
        default=[], max_length=MOST_KINDS, description="Only these; all, if left out."
    )


class RunSoFar(Place):
    """How much to say about a task, and what is known of the run so far."""

    top_k: int = Field(default=3, description="Similar tasks, at most.")
    budget: int = Field(default=1_000, description="Tokens that the text may take.")
    task_type: str | None = None
    tools: Words = Field(default=[], description="Tools that the run has used so far.")
    model: str | None = None


class TaskContextRequest(RunSoFar):
    """A task at hand, by its description or by the id of one that was tried before."""

    model_config = shaped({"task_description": "deploy the shop", "top_k": 3, "project": "shop"})

    task_description: str | None = None
    description: str | None = Field(default=None, description="Another name of `task_description`.")
    task_id: str | None = None
    error_patterns: Values = Field(default=[], description="Errors that the run has met so far.")


class Report(Place):
    """What came of using a result."""

    model_config = shaped({"receipt": "…", "outcome": "helped", "note": "the order of the steps"})

    receipt: str = Field(description="Of a similar task, or of a context.")
    outcome: ReuseOutcome
    note: str | None = Field(default=None, description="How.")
    task_id: str | None = Field(default=None, description="In which task.")


class PatternListing(Place):
    """Which patterns."""

    task_type: str | None = Field(default=None, description="About this type of task; all, if left out.")
    pattern_type: PatternType | None = None
    limit: int = Field(default=10, description="From 1 to 10,000.")


class Extraction(Place):
    """Which executions to learn from, and what."""

    model_config = shaped(
        {"task_type_pattern": "deploy|release", "pattern_type": "success", "min_samples": 3, "project": "shop"}
    )

    task_type_pattern: str = Field(description="A regular expression (RE2) on task types and descriptions.")
    pattern_type: PatternType = "success"
    min_samples: int = Field(default=3, description="Executions that have to have ended so.")
    across_projects: bool = Field(default=False, description="Also executions of other projects.")


class Learning(Place):
    """Where to learn, and from whom."""

    model_config = shaped({"project": "shop"})

    across_projects: bool = Field(default=False, description="Also from executions of other projects.")
    across_users: bool = Field(default=False, description="Also from executions of other users and agents.")
    quick: bool = Field(default=False, description="What was forgotten in the last minute may still count.")


class Feedback(Body):
    """Whether following a pattern helped."""

    model_config = shaped({"helpful": True, "confidence_adjustment": 0.1})

    helpful: bool
    confidence_adjustment: float = Field(default=0.1, description="From 0 to 1; 0.1 weighs as much as one execution.")


class Concerning(Place):
    """A task at hand."""

    model_config = shaped({"description": "deploy the shop", "min_confidence": 0.3, "project": "shop"})

    description: str
    min_confidence: float = Field(default=0.3, description="From 0 to 1.")
    limit: int = Field(default=10, description="From 1 to 1,000.")


class Advice(Concerning):
    """A task at hand."""

    limit: int = Field(default=5, description="From 1 to 1,000.")


class Forecast(Place):
    """A task at hand, and what is known of the run so far."""

    model_config = shaped({"description": "deploy the shop", "tools": ["migrate"], "project": "shop"})

    description: str
    tools: Words = Field(default=[], description="Tools that the run has used so far.")
    errors: Words = Field(default=[], description="Errors that it has met so far.")
    model: str | None = None
    across_projects: bool = Field(default=False, description="Also from executions of other projects.")


class Kinship(Place):
    """Which families of tasks."""

    min_size: int = Field(default=2, description="Executions that a family has at least.")
    across_projects: bool = Field(default=False, description="Also executions of other projects.")
