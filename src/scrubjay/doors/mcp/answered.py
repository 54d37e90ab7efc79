"""What the tools answer: a structure for programs, and the same in words for the model. What is empty is left out."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Self

from pydantic import BaseModel, JsonValue

from scrubjay import model
from scrubjay.doors.mcp.fitting import CUT, Room
from scrubjay.model.citations import CODE_KIND
from scrubjay.model.layout import block, indented
from scrubjay.model.portable import to_json

MEMORY_AT: Final = "scrubjay://memory/"
"""Where all of a memory can be read, followed by its id."""

_DOUBTFUL = (model.Trust.OBSERVED, model.Trust.FOREIGN)

_OFF_TOPIC = "Nothing here seems to be about this: even the closest is not close in meaning. Judge for yourself:"

_IN_PART = (
    "Of what is shown in part, `history` gives more by its id, with a larger budget; all of it is the resource "
    f"{MEMORY_AT}{{id}}."
)

_MARK = 16
"""Tokens that say that something is a part, and of how much."""

_ASIDE = 4
"""What is said beside the content of a memory may take a part of its room: one of so many."""


class Answer(BaseModel):
    """The answer of one tool. `str()` of it is what the model reads."""


class Memory(BaseModel):
    """One memory: what, where and when."""

    id: str
    kind: str
    content: str
    key: str | None = None
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    session: str | None = None
    workflow: str | None = None
    data: dict[str, JsonValue] | None = None
    importance: float = 0.5
    trust: str = "told"
    source: str | None = None
    author: str | None = None
    reason: str | None = None
    created_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    superseded_at: datetime | None = None
    closed_because: str | None = None
    rest: str | None = None
    """Where all of it can be read, when this is a part."""
    characters: int | None = None
    """Of its whole content, when the content here is a part."""

    @classmethod
    def of(cls, memory: model.Memory) -> Self:
        """The memory as every door writes it, but for what only programs need."""
        return cls.model_validate(to_json(memory))

    def trimmed(self, most: int, room: Room) -> Self:
        """The same without what is long beside its content."""
        aside, shorter = most // _ASIDE, dict[str, object]()
        for name, said in (("reason", self.reason), ("closed_because", self.closed_because)):
            if said is not None and not room.fits(said, aside):
                shorter[name] = room.marked(said, aside)
        if self.data is not None and not room.fits(json.dumps(self.data, ensure_ascii=False), most):
            shorter["data"] = None
        return self.model_copy(update={**shorter, "rest": f"{MEMORY_AT}{self.id}"}) if shorter else self

    def shortened(self, most: int, room: Room, passage: str | None = None) -> Self:
        """The same with so many tokens of its content: of what was found, or from the beginning."""
        if room.fits(self.content, most):
            return self
        part = self._part(passage, most, room)
        return self.model_copy(
            update={"content": part, "characters": len(self.content), "rest": f"{MEMORY_AT}{self.id}"}
        )

    def _part(self, passage: str | None, most: int, room: Room) -> str:
        found = self.content if passage is None else passage
        kept = room.cut(found, most)
        # What stands before code on its line is its indentation.
        gap = "\n" if self.kind == CODE_KIND else " "
        before = "" if self.content.startswith(kept) else f"{CUT}{gap}"
        after = "" if self.content.endswith(kept) else f"{gap}{CUT}"
        return f"{before}{kept if self.kind == CODE_KIND else kept.strip()}{after}"

    @property
    def part(self) -> str:
        """That it is a part, and of how much; empty when it is all."""
        if self.characters is not None:
            return f"part of {self.characters:,} characters"
        return "in part" if self.rest else ""

    @property
    def heading(self) -> str:
        """Its kind and its key, and whether it is in doubt."""
        named = f" {self.key}" if self.key else ""
        # What a stranger may have written must not be taken for an instruction.
        doubt = f", {self.trust}" if self.trust in _DOUBTFUL else ""
        return f"[{self.kind}{named}{doubt}]"

    def __str__(self) -> str:
        return f"{self.heading} {indented(self.content)}"


class Remembered(Answer):
    """What became of what was told."""

    outcome: str
    replaced: str | None = None
    memory: Memory

    @classmethod
    def of(cls, done: model.Remembered, room: Room) -> Self:
        """The outcome with its memory, or the beginning of a long one."""
        replaced = str(done.replaced) if done.replaced is not None else None
        memory = Memory.of(done.memory).trimmed(room.budget, room).shortened(room.budget, room)
        return cls(outcome=done.outcome, replaced=replaced, memory=memory)

    def __str__(self) -> str:
        said = {"stored": "Remembered", "unchanged": "Known already", "superseded": "Replaced what was known"}
        part = f"; {self.memory.part} shown" if self.memory.characters else ""
        return f"{said[self.outcome]}: {self.memory} (id {self.memory.id}{part})"


class Hit(BaseModel):
    """One answer, and why it is one."""

    memory: Memory
    score: float
    why: str
    passage: str | None = None
    warning: str | None = None

    @property
    def whole(self) -> str:
        """It with all of its content."""
        return self.written(self.memory.content)

    def within(self, most: int, room: Room) -> Self:
        """The same, cut to so many tokens."""
        trimmed = self.model_copy(update={"memory": self.memory.trimmed(most, room)})
        if room.fits(trimmed.whole, most):
            return trimmed
        # Of a memory that is shown in part, the part is the passage.
        return room.shrunk(
            lambda left: trimmed.model_copy(
                update={"memory": trimmed.memory.shortened(left, room, self.passage), "passage": None}
            ),
            most - room.cost(trimmed.written(CUT)) - _MARK,
            most,
        )

    def __str__(self) -> str:
        # Of a long piece of code, the lines that were found.
        is_code = self.memory.kind == CODE_KIND
        return self.written(self.passage or self.memory.content if is_code else self.memory.content)

    def written(self, said: str) -> str:
        """It with this as its content."""
        memory = self.memory
        warning = f"\n   CAREFUL: {indented(self.warning)}" if self.warning else ""
        part = f"{memory.part}; " if memory.part else ""
        about = f"(id {memory.id}, since {memory.valid_from:%Y-%m-%d}; {part}{self.why}){warning}"
        # Code begins on a line of its own, as it stands in the file.
        is_code = memory.kind == CODE_KIND
        return f"{memory.heading} {about}\n{block(said)}" if is_code else f"{memory.heading} {indented(said)} {about}"


class Hits(Answer):
    """What was found, best first."""

    hits: list[Hit]
    left_out: int | None = None
    """How many more were found that there was no room for."""
    degraded: list[str] | None = None
    confidence: float | None = None
    doubt: str | None = None

    @classmethod
    def of(cls, found: model.Hits, room: Room) -> Self:
        """As many hits as there is room for, each as far as there is."""
        hits = [
            Hit(
                memory=Memory.of(hit.memory),
                score=round(hit.score, 4),
                why=hit.why,
                passage=hit.passage,
                warning=hit.warning or None,
            )
            for hit in found
        ]
        whole = cls(
            hits=hits,
            degraded=list(found.degraded) or None,
            confidence=round(found.confidence, 4) if found.confidence is not None else None,
            doubt=_OFF_TOPIC if hits and found.is_off_topic else None,
        )
        return whole.showing(room.fit(hits, lambda fitting: str(whole.showing(fitting))))

    def showing(self, hits: Sequence[Hit]) -> Self:
        """The same with these hits of all."""
        return self.model_copy(update={"hits": list(hits), "left_out": len(self.hits) - len(hits) or None})

    def __str__(self) -> str:
        lines = [f"{place}. {hit}" for place, hit in enumerate(self.hits, 1)]
        if self.doubt:
            lines = [self.doubt, *lines]
        if not self.hits and not self.left_out:
            lines = ["Nothing is known about this."]
        lines += _of_the_rest([hit.memory for hit in self.hits], self.left_out)
        return with_doubts("\n".join(lines), self.degraded)


class Context(Answer):
    """What to know before acting."""

    text: str
    tokens: int
    memories: list[str]
    left_out: int
    degraded: list[str] | None = None

    @classmethod
    def of(cls, written: model.Context) -> Self:
        """The text, and the ids of the memories that it is made of."""
        return cls(
            text=written.text,
            tokens=written.tokens,
            memories=[str(item.memory.id) for item in written.items],
            left_out=len(written.left_out),
            degraded=list(written.degraded) or None,
        )

    def __str__(self) -> str:
        said = [self.text] if self.text else no_room_for(self.left_out) or ["Nothing is known yet."]
        return with_doubts(said[0], self.degraded)


class Forgotten(Answer):
    """Proof of what was forgotten."""

    ids: list[str]
    derived: list[str]
    purged: bool
    remaining: dict[str, int] | None = None

    @classmethod
    def of(cls, receipt: model.ForgetReceipt) -> Self:
        """The whole receipt."""
        return cls(
            ids=[str(one) for one in receipt.ids],
            derived=[str(one) for one in receipt.derived],
            purged=receipt.purged,
            remaining=dict(receipt.remaining) or None,
        )

    def __str__(self) -> str:
        what = ", ".join(self.ids)
        more = f", and {len(self.derived)} made from it" if self.derived else ""
        return f"{'Deleted for good' if self.purged else 'Forgotten; its history stays'}: {what}{more}"


class Version(Memory):
    """A memory as it was, is or will be believed."""

    @property
    def whole(self) -> str:
        """It with all of its content."""
        return self.written(self.content)

    def within(self, most: int, room: Room) -> Self:
        """The same, cut to so many tokens."""
        trimmed = self.trimmed(most, room)
        if room.fits(trimmed.whole, most):
            return trimmed
        left = most - room.cost(trimmed.written(CUT)) - _MARK
        return room.shrunk(lambda left: trimmed.shortened(left, room), left, most)

    def __str__(self) -> str:
        return self.written(self.content)

    def written(self, said: str) -> str:
        """It with this as its content."""
        until = self.valid_to or self.superseded_at
        because = f" ({indented(self.closed_because)})" if self.closed_because else ""
        stretch = f"{self.valid_from:%Y-%m-%d} – {f'{until:%Y-%m-%d}' if until else 'now'}{because}"
        return f"{stretch}: {self.heading} {indented(said)}{f' ({self.part})' if self.part else ''}"


class Versions(Answer):
    """Every version of one memory, oldest first."""

    versions: list[Version]
    left_out: int | None = None
    """How many older ones there was no room for."""

    @classmethod
    def of(cls, memories: list[model.Memory], room: Room) -> Self:
        """The newest that there is room for, each as far as there is."""
        whole = cls(versions=[Version.of(memory) for memory in memories])
        newest_first = whole.versions[::-1]
        return whole.showing(room.fit(newest_first, lambda fitting: str(whole.showing(fitting))))

    def showing(self, newest_first: Sequence[Version]) -> Self:
        """The same with these versions of all."""
        left_out = len(self.versions) - len(newest_first) or None
        return self.model_copy(update={"versions": list(reversed(newest_first)), "left_out": left_out})

    def __str__(self) -> str:
        return "\n".join([*map(str, self.versions), *_of_the_rest(self.versions, self.left_out)])


def _of_the_rest(shown: Sequence[Memory], left_out: int | None) -> list[str]:
    """Where to find what is not shown."""
    return [*no_room_for(left_out), *([_IN_PART] if any(one.rest for one in shown) else [])]


def no_room_for(left_out: int | None) -> list[str]:
    """That there is more, and how to see it."""
    return [f"There is no room for {left_out:,} more: give a larger budget."] if left_out else []


def with_doubts(text: str, degraded: list[str] | None) -> str:
    """The text, and what could not take part."""
    return f"{text}\n\nThere may be more: {', '.join(degraded)} could not take part." if degraded else text
