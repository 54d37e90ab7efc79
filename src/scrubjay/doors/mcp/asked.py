"""What the tools take. The descriptions are read by models: each says what to give and what happens without it."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticKnownError

from scrubjay.doors.mcp.fitting import ROOM
from scrubjay.model import DEFAULT_KIND, PLACE_NAMES, Where
from scrubjay.model.checks import written_out
from scrubjay.model.context import Section
from scrubjay.model.similar import ReuseOutcome
from scrubjay.model.workspace import CompletionStatus

ANY = "*"
"""Given as a name of the place, it leaves that name open, whatever the server was started with."""


def _no_flag(fault: Literal["int_type", "float_type"]) -> BeforeValidator:
    """Refuse true and false, which Python takes for 1 and 0. A number written as text is one: models write such."""

    def checked(value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError(fault)
        return value

    return BeforeValidator(checked)


Whole = Annotated[int, _no_flag("int_type")]
Number = Annotated[float, _no_flag("float_type")]
Moment = Annotated[AwareDatetime, BeforeValidator(written_out), Field(examples=["2026-03-01T12:00:00Z"])]


class Place(BaseModel):
    """Where. What is left out is as the server was started."""

    model_config = ConfigDict(extra="forbid")

    user: str | None = Field(default=None, description="Whose; left out: the one at work, `*`: everybody's.")
    project: str | None = Field(default=None, description="Which project; left out: the one at hand, `*`: all.")
    agent: str | None = Field(default=None, description="Only for this agent.")
    session: str | None = Field(default=None, description="Only in this conversation.")
    workflow: str | None = Field(default=None, description="Only in this run of a workflow.")

    def where(self, defaults: Where) -> Where:
        """The place as the keywords of a verb: what was given, and else what the server was started with."""
        named = {name: getattr(self, name) or defaults.get(name) for name in PLACE_NAMES}
        return {name: None if value == ANY else value for name, value in named.items()}  # type: ignore[return-value]  # the names of Where


class Remember(Place):
    """What `remember` takes."""

    content: str = Field(description="What to remember: one statement that is understood without this conversation.")
    kind: str = Field(
        default=DEFAULT_KIND,
        description="`preference`, `instruction`, `rule` and `convention` are always part of a context; others are "
        "`fact`, `tech_stack`, `skill`, `feedback`, `observation`, `note`.",
    )
    key: str | None = Field(
        default=None,
        description="A name such as `pref:indent` or `fact:port`, for what has one value at a time: a new value "
        "replaces the old one, which stays in the history.",
    )
    importance: Number = Field(default=0.5, description="From 0 to 1.")
    trust: Literal["told", "concluded", "observed", "foreign"] = Field(
        default="concluded",
        description="Who says so: `told` by a person, `concluded` by you, `observed` in a file or an output, "
        "`foreign` for web pages and e-mails.",
    )
    source: str | None = Field(default=None, description="Where it comes from: a file, a URL, a task.")
    reason: str | None = Field(default=None, description="Why it is so.")
    data: dict[str, JsonValue] | None = Field(default=None, description="Anything else that belongs to it.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds; now, if left out.")
    expires_at: Moment | None = Field(default=None, description="From when on it is not wanted any more.")


class Recall(Place):
    """What `recall` takes."""

    query: str = Field(description="What is looked for, in words. An empty one finds the newest.")
    limit: Whole = Field(default=8, description="The most answers, from 1 to 1,000.")
    budget: Whole = Field(default=ROOM, description="The most tokens that the text takes, up to 100,000.")
    kinds: list[str] = Field(default=[], description="Only these kinds; all, if left out.")
    key_prefix: str | None = Field(default=None, description="Only keys that begin so, such as `pref:`.")
    since: Moment | None = Field(default=None, description="Only what held or happened from here on …")
    until: Moment | None = Field(default=None, description="… and before here.")
    as_of: Moment | None = Field(default=None, description="What was believed at that moment.")


class Context(Place):
    """What `context` takes."""

    query: str = Field(description="What you are about to do, in a sentence.")
    budget: Whole = Field(default=1_000, description="The most tokens that the text takes, up to 100,000.")
    sections: list[Section] | None = Field(default=None, description="What it is made of; all, if left out.")


class Forget(Place):
    """What `forget` takes."""

    id: str | None = Field(default=None, description="The id of the memory …")
    key: str | None = Field(default=None, description="… or its key in this place. Give one of the two.")
    purge: bool = Field(default=False, description="Delete it for good, with every version. It cannot be undone.")
    reason: str | None = Field(default=None, description="Why; it is kept with a memory that is not purged.")


class History(Place):
    """What `history` takes."""

    id: str | None = Field(default=None, description="The id of the memory …")
    key: str | None = Field(default=None, description="… or its key in this place. Give one of the two.")
    budget: Whole = Field(default=ROOM, description="The most tokens that the text takes, up to 100,000.")


class TaskDone(Place):
    """What `task_done` takes."""

    task_id: str = Field(description="Its id: the same attempt told again is one, and is corrected.")
    summary: str = Field(description="What was done, what worked and what did not.")
    success: bool = Field(description="Whether it reached its goal.")
    description: str | None = Field(default=None, description="What was to be done, as it was asked for.")
    task_type: str | None = Field(default=None, description="A word for its sort, such as `bugfix`.")
    attempt: Whole = Field(default=1, description="1 for the first try.")
    errors: list[str] = Field(default=[], description="The errors that were met, in order.")
    tools: list[str] = Field(default=[], description="The tools that were used, in order.")
    files: list[str] = Field(default=[], description="The files that were touched.")
    receipt: str | None = Field(default=None, description="Of `similar_tasks`, if its answer was used …")
    used: ReuseOutcome | None = Field(default=None, description="… and what came of it.")


class SimilarTasks(Place):
    """What `similar_tasks` takes."""

    description: str = Field(description="The task at hand, in a sentence or two.")
    limit: Whole = Field(default=3, description="The most tasks, from 1 to 100.")
    budget: Whole = Field(default=1_000, description="The most tokens that the text takes, up to 100,000.")
    task_type: str | None = Field(default=None, description="A word for its sort, such as `bugfix`.")


class SearchCode(Place):
    """What `search_code` takes."""

    query: str = Field(description="What the code does, or what it is called.")
    limit: Whole = Field(default=8, description="The most answers.")
    budget: Whole = Field(default=ROOM, description="The most tokens that the text takes, up to 100,000.")
    language: str | None = Field(default=None, description="Only in this language, such as `python`.")


class RememberJob(Place):
    """What `remember_job` takes."""

    goal: str = Field(description="What was asked for.")
    repo_path: str = Field(description="The folder of the repository.")
    summary: str | None = Field(default=None, description="What was done.")
    files: list[str] | dict[str, str] = Field(
        default=[], description="The files that it made or changed: their paths, or their texts by path."
    )
    tests: JsonValue = Field(default=None, description="How its tests went.")
    task_id: str | None = Field(default=None, description="Its id: told again, it is corrected.")
    model: str | None = Field(default=None, description="The model that did it.")
    status: CompletionStatus = Field(default="succeeded", description="How it ended; only what succeeded is kept.")
