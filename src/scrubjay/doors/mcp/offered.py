"""What stands before a model without its asking: resources, and prompts that a person chooses."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from scrubjay.doors.mcp.answered import MEMORY_AT, no_room_for
from scrubjay.doors.mcp.tools import Caller
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.portable import to_json

STANDING_URI: Final = "scrubjay://context"
MEMORY_URI: Final = f"{MEMORY_AT}{{id}}"

MARKDOWN: Final = "text/markdown"
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a resource holds."""

    text: str
    mime_type: str


async def read(caller: Caller, uri: str) -> Read:
    """What is at this address. Raises NotFound when nothing is."""
    if uri == STANDING_URI:
        written = await caller.jay.context("", **caller.where)
        return Read(text=written.text, mime_type=MARKDOWN)
    if uri.startswith(MEMORY_AT):
        memory = await caller.by_id(caller.jay.get, uri.removeprefix(MEMORY_AT))
        return Read(text=json.dumps(to_json(memory), ensure_ascii=False, indent=2), mime_type=JSON)
    raise NotFound(f"there is nothing at {uri[:200]}: use {STANDING_URI} or {MEMORY_URI}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What a person fills in."""

    name: str
    description: str
    needed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A message that a person chooses from a menu."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    write: Callable[[Caller, Mapping[str, str]], Awaitable[str]]

    async def written(self, caller: Caller, given: Mapping[str, str]) -> str:
        """The message. Raises InvalidInput for an argument that is missing or unknown."""
        known = {one.name for one in self.arguments}
        for name in given:
            if name not in known:
                raise InvalidInput(f"{name} is not known here: {self.name} takes {', '.join(sorted(known)) or 'none'}")
        for one in self.arguments:
            if one.needed and not given.get(one.name, "").strip():
                raise InvalidInput(f"{one.name} is missing: {one.description}")
        return await self.write(caller, given)


async def _begin(caller: Caller, given: Mapping[str, str]) -> str:
    task = given["task"]
    written = await caller.jay.context(task, **caller.where)
    before = await caller.jay.tasks.get_task_context(task, **caller.where)
    texts = [text for text in (written.text, before.text) if text]
    texts = texts or no_room_for(len(written.left_out) + before.left_out) or ["Nothing is known about it yet."]
    known = "\n\n".join(texts)
    receipt = f"\n\nreceipt for task_done: {before.receipt}" if before.receipt else ""
    return f"{task}\n\nWhat is remembered about this:\n\n{known}{receipt}"


async def _wrap_up(_caller: Caller, _given: Mapping[str, str]) -> str:
    return (
        "Before we stop: look back over this conversation. Call `remember` for every preference, decision, fact and "
        "lesson that will matter again, one statement each, with a `key` for what has one value at a time. Then call "
        "`task_done` for each task that ended, well or badly, naming the errors that were met. Leave out what is "
        "remembered already, and what only mattered today. Say in one line what you stored."
    )


PROMPTS: Final = {
    one.name: one
    for one in (
        Prompt(
            name="begin",
            title="Begin a task with what is known",
            description="States the task together with standing instructions, what fits it, and past tasks like it.",
            arguments=(Argument(name="task", description="What is to be done, in a sentence or two."),),
            write=_begin,
        ),
        Prompt(
            name="wrap_up",
            title="Remember what was learned",
            description="Asks the model to store what this conversation taught, before it ends.",
            arguments=(),
            write=_wrap_up,
        ),
    )
}
