"""The tools: few, each a verb of the library. A function's docstring is what a model reads before it chooses one."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_type_hints

from scrubjay.doors.mcp import answered, answered_work, asked
from scrubjay.doors.mcp.fitting import ECHO, Room
from scrubjay.doors.shown import Showing
from scrubjay.errors import Forbidden, InvalidInput, NotFound
from scrubjay.model import Where
from scrubjay.model.checks import shown
from scrubjay.model.tasks import Execution

if TYPE_CHECKING:
    # Loading the service takes longer than a handshake may: whoever calls a tool brings it along.
    from scrubjay.service import Scrubjay

A = TypeVar("A", bound=asked.Place)
R = TypeVar("R", bound=answered.Answer)
F = TypeVar("F")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose memory a tool works with, and where."""

    jay: "Scrubjay"
    where: Where
    """The place that the call names, with what it left out filled in."""
    said: Where
    """The same with what it left out left open."""
    shares_files: bool
    """Whether a path means the same file to the caller and to us."""
    showing: Showing
    """What the answer to a write may show of what others told."""
    count: Callable[[str], int]
    """How many tokens a text has."""

    def room(self, budget: int) -> Room:
        """So many tokens for an answer. Raises InvalidInput for a number that cannot be meant."""
        return Room(budget=budget, count=self.count)

    async def by_id(self, find: Callable[..., Awaitable[F]], id: str) -> F:
        """What a verb finds under an id, as far as `recall` can be pointed: also where the server was not started."""
        try:
            return await find(id, **self.said)
        except Forbidden:
            # A key that is bound to several wants to be told for which of them it is asked, and an id does not say it.
            bounds = self.jay.caller.bounds
            for where in islice(bounds.choices(self.said), _CHOICES):
                with suppress(NotFound):
                    return await find(id, **where)
            raise NotFound(f"there is no memory {shown(id)} for {bounds}, which this key is bound to") from None


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


_CHOICES: Final = 100
"""For how many users, projects and agents that a key is bound to a memory is looked for."""

TOOLS: Final[dict[str, Tool]] = {}


async def counted(fitted: Callable[[T, Room], R], found: T, room: Room) -> R:
    """The answer that fits. Counting a long one takes a second, in which everybody else is answered, too."""
    return await asyncio.to_thread(fitted, found, room)


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
    done = await caller.jay.remember(told.content, **given, **caller.where)
    return answered.Remembered.of(caller.showing.of(done, told), caller.room(ECHO))


@_tool("Recall what is known", reads=True)
async def recall(caller: Caller, told: asked.Recall) -> answered.Hits:
    """Find what is remembered about something, by meaning and by words, best first, each with the reason.

    Call it before you ask the user something that they may have told already.
    """
    room = caller.room(told.budget)
    given = told.model_dump(exclude_unset=True, exclude={*asked.Place.model_fields, "query", "limit", "budget"})
    found = await caller.jay.recall(told.query, limit=told.limit, **given, **caller.where)
    return await counted(answered.Hits.of, found, room)


@_tool("What to know before acting", reads=True)
async def context(caller: Caller, told: asked.Context) -> answered.Context:
    """Write down what you should know for what you are about to do, within a budget of tokens.

    It holds the standing instructions, rules and preferences, what fits the question, and what just happened. Call it
    at the beginning of every task.
    """
    budget = caller.room(told.budget).budget
    written = await caller.jay.context(told.query, budget=budget, sections=told.sections, **caller.where)
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
    room = caller.room(told.budget)
    if told.id is not None and told.key is None:
        versions = await caller.by_id(caller.jay.history, told.id)
    else:
        versions = await caller.jay.history(told.id, key=told.key, **caller.where)
    return await counted(answered.Versions.of, versions, room)


@_tool("Tasks like this one", reads=True)
async def similar_tasks(caller: Caller, told: asked.SimilarTasks) -> answered_work.SimilarTasks:
    """Find past tasks like the one at hand: what was done, what worked, what failed, and what to do or to avoid.

    Call it before you begin. If the answer was of use, give its receipt to `task_done`.
    """
    room = caller.room(told.budget)
    written = await caller.jay.tasks.get_task_context(
        told.description, top_k=told.limit, budget=room.budget, task_type=told.task_type, **caller.where
    )
    return await counted(answered_work.SimilarTasks.of, written, room)


@_tool("Report a task that ended")
async def task_done(caller: Caller, told: asked.TaskDone) -> answered_work.TaskDone:
    """Remember how a task went, whether it worked or not, so that the next one like it goes better.

    Failures teach as much as successes: name the errors. With the receipt of `similar_tasks` and `used`, the memories
    that helped or hurt are credited.
    """
    if (told.receipt is None) != (told.used is None):
        raise InvalidInput("receipt and used belong together: give both, or neither")
    # It checks itself, and the receipt is checked where it counts: what is refused has stored nothing.
    execution = Execution(
        task_id=told.task_id,
        execution_summary=told.summary,
        success=told.success,
        attempt=told.attempt,
        task_description=told.description,
        task_type=told.task_type,
        error_patterns=tuple(told.errors),
        tools=tuple(told.tools),
        files=tuple(told.files),
    )
    tasks = caller.jay.tasks
    credited = None
    if told.receipt is not None and told.used is not None:
        used = await tasks.used(told.receipt, told.used, task_id=told.task_id, **caller.where)
        credited = len(used.memories)
    [done] = await tasks.store_many([execution], **caller.where)
    return answered_work.TaskDone(outcome=done.outcome, id=str(done.memory.id), credited=credited)


@_tool("Search the code", reads=True)
async def search_code(caller: Caller, told: asked.SearchCode) -> answered_work.CodeFound:
    """Find pieces of the project's code by what they do or what they are called, each with its path and lines.

    A warning says when the code has changed since it was read.
    """
    room = caller.room(told.budget)
    found = await caller.jay.workspace.search_code(told.query, limit=told.limit, language=told.language, **caller.where)
    return await counted(answered_work.CodeFound.of, found, room)


@_tool("Report a job on a repository")
async def remember_job(caller: Caller, told: asked.RememberJob) -> answered_work.Job:
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
    return answered_work.Job.of(kept)
