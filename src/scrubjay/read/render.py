"""Render: a context written as Markdown, as XML or as chat messages, so that no content can pose as something else."""

import json
import re
from collections.abc import Sequence
from typing import Final, Protocol

from scrubjay.model import Memory, Trust
from scrubjay.model.citations import CODE_KIND, citations_of, listed
from scrubjay.model.context import Form
from scrubjay.model.layout import indented
from scrubjay.model.tasks import TASK_KIND
from scrubjay.read.headings import RECENT

CHAT_ROLES: Final = frozenset({"user", "assistant"})
"""Who can speak in a message of their own. What tools put out needs its call beside it, so it is told by the system."""

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
"""A parser would read a carriage return as a new line."""

_IN_ATTRIBUTE: Final = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
"""And in an attribute, a new line or a tab as a space."""


class Entry(Protocol):
    """A memory that is written, under its heading."""

    @property
    def memory(self) -> Memory:
        """What it is."""

    @property
    def text(self) -> str:
        """What the form made of it."""


Block = tuple[str, Sequence[Entry]]
"""A heading, and what stands under it."""


class Rendering(Protocol):
    """One way to write a context."""

    frame: str
    """What stands around everything, for its cost."""

    def entry(self, memory: Memory, content: str, heading: str) -> str:
        """Write one memory."""

    def opening(self, heading: str) -> str:
        """What a heading adds, for its cost."""

    def write(self, blocks: Sequence[Block]) -> str:
        """Write all of it. Nothing to write is an empty text."""


class Markdown:
    """Headings and lists. Every line of a content is indented, so that none can pose as a heading."""

    frame = ""

    def entry(self, memory: Memory, content: str, heading: str) -> str:  # noqa: ARG002 -- the shape of every form
        """Write one memory as an entry of a list."""
        said = ", ".join(filter(None, (_day(memory), _speaker(memory), _source(memory), _task(memory), _where(memory))))
        # Code begins on a line of its own, below its place: so its lines stand as they do in the file.
        between = ":\n" if memory.kind == CODE_KIND else ": "
        return indented(f"- {said}{between if said else ''}{_bare(memory, content)}", by="  ")

    def opening(self, heading: str) -> str:
        """A heading, with the empty line before it."""
        return f"\n\n## {heading}\n"

    def write(self, blocks: Sequence[Block]) -> str:
        """Write all of it."""
        return "\n\n".join("\n".join([f"## {heading}", *(one.text for one in entries)]) for heading, entries in blocks)


class Xml:
    """One element for each section and each memory. Any parser gives the contents back as they were."""

    frame = "<context>\n\n</context>"

    def entry(self, memory: Memory, content: str, heading: str) -> str:  # noqa: ARG002 -- the shape of every form
        """Write one memory as an element."""
        known = {
            "at": _day(memory),
            "by": _speaker(memory),
            "source": _source(memory),
            "task": _task(memory),
            "where": _where(memory),
        }
        attributes = "".join(f" {name}={_attribute(value)}" for name, value in known.items() if value)
        return f"<memory{attributes}>{_legal(_bare(memory, content)).translate(_IN_TEXT)}</memory>"

    def opening(self, heading: str) -> str:
        """An element around a section, with the new line before it."""
        return f"\n<section name={_attribute(heading)}>\n\n</section>"

    def write(self, blocks: Sequence[Block]) -> str:
        """Write all of it."""
        sections = [
            "\n".join([f"<section name={_attribute(heading)}>", *(one.text for one in entries), "</section>"])
            for heading, entries in blocks
        ]
        return "\n".join(["<context>", *sections, "</context>"]) if sections else ""


class Messages:
    """A message of the system with all that is known, as Markdown, and then what was said, each as it was said."""

    frame = json.dumps([{"role": "system", "content": ""}])

    def __init__(self) -> None:
        self._markdown = Markdown()

    def entry(self, memory: Memory, content: str, heading: str) -> str:
        """Write one memory: as a message when it is a turn of the conversation, else as an entry of a list."""
        if heading == RECENT and is_turn(memory):
            return _json(_message(memory))
        return self._markdown.entry(memory, content, heading)

    def opening(self, heading: str) -> str:
        """A heading, as Markdown has it."""
        return self._markdown.opening(heading)

    def write(self, blocks: Sequence[Block]) -> str:
        """Write all of it, as a list in JSON."""
        told: list[Block] = []
        turns: list[dict[str, str]] = []
        for heading, entries in blocks:
            said = [one for one in entries if heading == RECENT and is_turn(one.memory)]
            turns += [_message(one.memory) for one in said]
            if rest := [one for one in entries if one not in said]:
                told.append((heading, rest))
        system = [{"role": "system", "content": self._markdown.write(told)}] if told else []
        return _json([*system, *turns]) if system or turns else ""


FORMS: Final[dict[Form, Rendering]] = {"markdown": Markdown(), "xml": Xml(), "messages": Messages()}


def is_turn(memory: Memory) -> bool:
    """Whether it is something that a user or an assistant said, and a chat model can be given as that."""
    if memory.role not in CHAT_ROLES or memory.data.get("tool_calls"):
        return False
    # A page or the output of a tool may begin with "user: ", and must not speak as one.
    return memory.trust is not Trust.FOREIGN and (_has_role(memory) or memory.trust is not Trust.OBSERVED)


def _message(memory: Memory) -> dict[str, str]:
    return {"role": str(memory.role), "content": _said(memory)}


def _said(memory: Memory) -> str:
    """What was said, without the role before it where that stands in the text only."""
    if _has_role(memory) or memory.author is not None:
        return memory.content
    return memory.content.partition(":")[2].strip() or memory.content


def _has_role(memory: Memory) -> bool:
    """Whether it was told in which role it was said, and nobody had to conclude that from a name."""
    return isinstance(memory.data.get("role"), str)


def _bare(memory: Memory, content: str) -> str:
    """The content without the space around it; code keeps what its first line is indented by, as the others do."""
    return content.strip("\r\n").rstrip() if memory.kind == CODE_KIND else content.strip()


def _day(memory: Memory) -> str:
    return f"{memory.valid_from:%Y-%m-%d}" if memory.is_event else ""


def _speaker(memory: Memory) -> str:
    """Who said it, unless the text begins with that anyway."""
    role = memory.data.get("role")
    was_said = memory.is_event or memory.may_be_turn
    return memory.speaker or (role if was_said and isinstance(role, str) else "")


def _task(memory: Memory) -> str:
    """Which task it was, and how it ended: what was done is good advice only if it worked."""
    name, attempt, success = (memory.data.get(one) for one in ("task_id", "attempt", "success"))
    if memory.kind != TASK_KIND or not isinstance(name, str) or not isinstance(success, bool):
        return ""
    again = f", attempt {attempt}," if isinstance(attempt, int) and attempt > 1 else ""
    return f"{name}{again} {'succeeded' if success else 'failed'}"


def _where(memory: Memory) -> str:
    """Where the code stands that it holds or speaks of: whoever is to change it has to open the file."""
    return listed([str(one) for one in citations_of(memory)])


def _source(memory: Memory) -> str:
    """Where a stranger's words come from."""
    return memory.source or "" if memory.trust is Trust.FOREIGN and not memory.is_event else ""


def _attribute(value: str) -> str:
    return f'"{_legal(value).translate(_IN_ATTRIBUTE)}"'


def _legal(text: str) -> str:
    """The text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
