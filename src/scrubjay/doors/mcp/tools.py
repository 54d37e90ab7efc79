"""The tools: few, each a verb of the library. A function's docstring is what a model reads before it chooses one."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_type_hints

from scrubjay.doors.mcp import answered, asked
from scrubjay.errors import InvalidInput
from scrubjay.model import Where

if TYPE_CHECKING:
    # Loading the service takes longer than a handshake may: whoever calls a tool brings it along.
    from scrubjay.service import Scrubjay

A = TypeVar("A", bound=asked.Place)
R = TypeVar("R", bound=answered.Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose memory a tool works with, and where."""

    jay: "Scrubjay"
    where: Where
    """The place that the call names, with what it left out filled in."""
    shares_files: bool
    """Whether a path means the same file to the caller and to us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A verb that a model can call."""

    name: str
    title: str
    description: str
    asks: type[asked.Place]
    answers: type[answered.Answer]
    run: Callable[[Caller, Any], Awaitable[answered.Answer]]
    reads: bool
    destroys: bool


TOOLS: Final[dict[str, Tool]] = {}


def _tool(
    title: str, *, reads: bool = False, destroys: bool = False
) -> Callable[[Callable[[Caller, A], Awaitable[R]]], Callable[[Caller, A], Awaitable[R]]]:
    """Offer a function as a tool: what it asks for and answers is what its annotations say."""

    def offered(function: Callable[[Caller, A], Awaitable[R]]) -> Callable[[Caller, A], Awaitable[R]]:
        hints = get_type_hints(function)
        TOOLS[function.__name__] = Tool(
            name=function.__name__,
            title=title,
            description=inspect.getdoc(function) or "",
            asks=hints["told"],
            answers=hints["return"],
            run=function,
            reads=reads,
            destroys=destroys,
        )
        return function

    return offered


@_tool("Remember something")
async def remember(caller: Caller, told: asked.Remember) -> answered.Remembered:
    """Remember something that will be useful in later conversations: a preference, a decision, a fact, a lesson.

    Call it as soon as you learn such a thing. Saying the same thing again changes nothing. Give a `key` to what has one
    value at a time. Do not store what you just recalled, nor passwords or keys: these are taken out.
    """
    given = told.model_dump(exclude_unset=True, exclude=set(asked.Place.model_fields) | {"content"})
    given.setdefault("trust", told.trust)
    return answered.Remembered.of(await caller.jay.remember(told.content, **given, **caller.where))


@_tool("Recall what is known", reads=True)
async def recall(caller: Caller, told: asked.Recall) -> answered.Hits:
    """Find what is remembered about something, by meaning and by words, best first, each with the reason.

    Call it before you ask the user something that they may have told already.
    """
    given = told.model_dump(exclude_unset=True, exclude={*asked.Place.model_fields, "query", "limit"})
    return answered.Hits.of(await caller.jay.recall(told.query, limit=told.limit, **given, **caller.where))


@_tool("What to know before acting", reads=True)
async def context(caller: Caller, told: asked.Context) -> answered.Context:
    """Write down what you should know for what you are about to do, within a budget of tokens.

    It holds the standing instructions, rules and preferences, what fits the question, and what just happened. Call it
    at the beginning of every task.
    """
    written = await caller.jay.context(told.query, budget=told.budget, sections=told.sections, **caller.where)
    return answered.Context.of(written)


@_tool("Forget something", destroys=True)
async def forget(caller: Caller, told: asked.Forget) -> answered.Forgotten:
    """Stop believing a memory that is wrong or not wanted any more, by its id or its key.

    It stays in the history unless `purge` deletes it for good. To change a value, `remember` it anew under its key
    instead.
    """
    if (told.id is None) == (told.key is None):
        raise InvalidInput("say what to forget: an id or a key, and just one of them")
    receipt = await caller.jay.forget(told.id, key=told.key, purge=told.purge, reason=told.reason, **caller.where)
    return answered.Forgotten.of(receipt)


@_tool("How a memory came about", reads=True)
async def history(caller: Caller, told: asked.History) -> answered.Versions:
    """Show every version of a memory, oldest first: what was believed when, and why it was replaced."""
    return answered.Versions.of(await caller.jay.history(told.id, key=told.key, **caller.where))


@_tool("Tasks like this one", reads=True)
async def similar_tasks(caller: Caller, told: asked.SimilarTasks) -> answered.SimilarTasks:
    """Find past tasks like the one at hand: what was done, what worked, what failed, and what to do or to avoid.

    Call it before you begin. If the answer was of use, give its receipt to `task_done`.
    """
    written = await caller.jay.tasks.get_task_context(
        told.description, top_k=told.limit, budget=told.budget, task_type=told.task_type, **caller.where
    )
    return answered.SimilarTasks.of(written)


@_tool("Report a task that ended")
async def task_done(caller: Caller, told: asked.TaskDone) -> answered.TaskDone:
    """Remember how a task went, whether it worked or not, so that the next one like it goes better.

    Failures teach as much as successes: name the errors. With the receipt of `similar_tasks` and `used`, the memories
    that helped or hurt are credited.
    """
    if (told.receipt is None) != (told.used is None):
        raise InvalidInput("receipt and used belong together: give both, or neither")
    tasks = caller.jay.tasks
    done = await tasks.store_execution(
        told.task_id,
        told.summary,
        told.success,
        attempt=told.attempt,
        task_description=told.description,
        task_type=told.task_type,
        error_patterns=cast("Any", told.errors),
        tools=told.tools,
        files=told.files,
        **caller.where,
    )
    credited = None
    if told.receipt is not None and told.used is not None:
        used = await tasks.used(told.receipt, told.used, task_id=told.task_id, **caller.where)
        credited = len(used.memories)
    return answered.TaskDone(outcome=done.outcome, id=str(done.memory.id), credited=credited)


@_tool("Search the code", reads=True)
async def search_code(caller: Caller, told: asked.SearchCode) -> answered.CodeFound:
    """Find pieces of the project's code by what they do or what they are called, each with its path and lines.

    A warning says when the code has changed since it was read.
    """
    found = await caller.jay.workspace.search_code(told.query, limit=told.limit, language=told.language, **caller.where)
    return answered.CodeFound.of(found)


@_tool("Report a job on a repository")
async def remember_job(caller: Caller, told: asked.RememberJob) -> answered.Job:
    """Remember a finished piece of work on a repository: what was asked for, what was done, and the files it made.

    Call it when a change is complete and its tests pass.
    """
    if isinstance(told.files, list) and told.files and not caller.shares_files:
        raise InvalidInput(
            f"files is a list of {len(told.files)} paths, which this server cannot read: give their texts by path"
        )
    kept = await caller.jay.workspace.store_completion(
        goal=told.goal,
        repo_path=told.repo_path,
        summary=told.summary,
        files=cast("Any", told.files),
        tests=cast("Any", told.tests),
        task_id=told.task_id,
        model=told.model,
        status=told.status,
        **caller.where,
    )
    return answered.Job.of(kept)
