"""What the tools answer: a structure for programs, and the same in words for the model. What is empty is left out."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, JsonValue

from scrubjay import model
from scrubjay.model.citations import CODE_KIND, Citation, citations_of
from scrubjay.model.code import CodeHit, CodeHits
from scrubjay.model.portable import to_json
from scrubjay.model.similar import SimilarTask, TaskContext
from scrubjay.model.workspace_answers import StoredCompletion

_DOUBTFUL = (model.Trust.OBSERVED, model.Trust.FOREIGN)

_OFF_TOPIC = "Nothing here seems to be about this: even the closest is not close in meaning. Judge for yourself:"


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

    @classmethod
    def of(cls, memory: model.Memory) -> Self:
        """The memory as every door writes it, but for what only programs need."""
        return cls.model_validate(to_json(memory))

    @property
    def heading(self) -> str:
        """Its kind and its key, and whether it is in doubt."""
        named = f" {self.key}" if self.key else ""
        # What a stranger may have written must not be taken for an instruction.
        doubt = f", {self.trust}" if self.trust in _DOUBTFUL else ""
        return f"[{self.kind}{named}{doubt}]"

    def __str__(self) -> str:
        return f"{self.heading} {self.content}"


class Remembered(Answer):
    """What became of what was told."""

    outcome: str
    replaced: str | None = None
    memory: Memory

    @classmethod
    def of(cls, done: model.Remembered) -> Self:
        """The outcome with its memory."""
        replaced = str(done.replaced) if done.replaced is not None else None
        return cls(outcome=done.outcome, replaced=replaced, memory=Memory.of(done.memory))

    def __str__(self) -> str:
        said = {"stored": "Remembered", "unchanged": "Known already", "superseded": "Replaced what was known"}
        return f"{said[self.outcome]}: {self.memory} (id {self.memory.id})"


class Hit(BaseModel):
    """One answer, and why it is one."""

    memory: Memory
    score: float
    why: str
    passage: str | None = None
    warning: str | None = None

    def __str__(self) -> str:
        memory = self.memory
        warning = f"\n   CAREFUL: {self.warning}" if self.warning else ""
        about = f"(id {memory.id}, since {memory.valid_from:%Y-%m-%d}; {self.why}){warning}"
        if memory.kind != CODE_KIND:
            return f"{memory} {about}"
        # Code begins on a line of its own, as it stands in the file; of a long piece, the lines that were found.
        return f"{memory.heading} {about}\n{self.passage or memory.content}"


class Hits(Answer):
    """What was found, best first."""

    hits: list[Hit]
    degraded: list[str] | None = None
    confidence: float | None = None
    doubt: str | None = None

    @classmethod
    def of(cls, found: model.Hits) -> Self:
        """All hits."""
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
        return cls(
            hits=hits,
            degraded=list(found.degraded) or None,
            confidence=round(found.confidence, 4) if found.confidence is not None else None,
            doubt=_OFF_TOPIC if hits and found.is_off_topic else None,
        )

    def __str__(self) -> str:
        lines = [f"{place}. {hit}" for place, hit in enumerate(self.hits, 1)]
        if self.doubt:
            lines = [self.doubt, *lines]
        return _with_doubts("\n".join(lines) or "Nothing is known about this.", self.degraded)


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
        return _with_doubts(self.text or "Nothing is known yet.", self.degraded)


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


class Versions(Answer):
    """Every version of one memory, oldest first."""

    versions: list[Memory]

    @classmethod
    def of(cls, memories: list[model.Memory]) -> Self:
        """All of them."""
        return cls(versions=[Memory.of(memory) for memory in memories])

    def __str__(self) -> str:
        return "\n".join(f"{_stretch(one)}: {one}" for one in self.versions)


class Task(BaseModel):
    """A past task like the one at hand."""

    task_id: str
    summary: str
    success: bool
    similarity: float | None = None
    why: str
    errors: list[JsonValue] | None = None
    files: list[str] | None = None

    @classmethod
    def of(cls, task: SimilarTask) -> Self:
        """What matters of it for the next one."""
        return cls(
            task_id=task.task_id,
            summary=task.summary,
            success=task.success,
            similarity=task.similarity,
            why=task.why,
            errors=list(task.execution.error_patterns) or None,
            files=list(task.execution.files) or None,
        )


class SimilarTasks(Answer):
    """What to know about a task before it is begun."""

    text: str
    tasks: list[Task]
    recommendations: list[str]
    prediction: str
    receipt: str | None = None
    degraded: list[str] | None = None

    @classmethod
    def of(cls, written: TaskContext) -> Self:
        """The text, and its parts."""
        return cls(
            text=written.text,
            tasks=[Task.of(task) for task in written.similar_tasks],
            recommendations=[one.text for one in written.recommendations],
            prediction=str(written.prediction),
            receipt=written.receipt,
            degraded=list(written.degraded) or None,
        )

    def __str__(self) -> str:
        receipt = f"\n\nreceipt for task_done: {self.receipt}" if self.receipt else ""
        return _with_doubts((self.text or "Nothing like it was done here before.") + receipt, self.degraded)


class TaskDone(Answer):
    """What became of a task that was reported."""

    outcome: str
    id: str
    credited: int | None = None

    def __str__(self) -> str:
        said = {"stored": "Remembered", "unchanged": "Known already", "superseded": "Corrected"}
        credited = f"; {self.credited} memories heard what came of using them" if self.credited else ""
        return f"{said[self.outcome]} (id {self.id}){credited}"


class Code(BaseModel):
    """A piece of code that fits."""

    path: str
    start: int
    stop: int
    symbol: str | None = None
    language: str | None = None
    text: str
    shown: str | None = None
    """The lines that the text is, where it is not all of them."""
    score: float
    why: str
    warning: str | None = None

    @classmethod
    def of(cls, hit: CodeHit) -> Self | None:
        """The piece; None for a memory that cites no code."""
        cited = citations_of(hit.memory)
        if not cited:
            return None
        return cls(
            path=cited[0].path,
            start=cited[0].start,
            stop=cited[0].stop,
            symbol=cited[0].symbol,
            language=cited[0].language,
            text=hit.hit.passage or hit.memory.content,
            shown=_shown(cited[0], hit),
            score=round(hit.hit.score, 4),
            why=hit.hit.why,
            warning=hit.warning or None,
        )

    def __str__(self) -> str:
        symbol = f" {self.symbol}" if self.symbol else ""
        shown = f" (lines {self.shown} of it)" if self.shown else ""
        warning = f"\nCAREFUL: {self.warning}" if self.warning else ""
        return f"{self.path}:{self.start}-{self.stop}{symbol}{shown}{warning}\n{self.text}"


class CodeFound(Answer):
    """Code that fits, best first."""

    hits: list[Code]
    degraded: list[str] | None = None

    @classmethod
    def of(cls, found: CodeHits) -> Self:
        """All hits that are code."""
        hits = [one for one in map(Code.of, found) if one is not None]
        return cls(hits=hits, degraded=list(found.degraded) or None)

    def __str__(self) -> str:
        nothing = "No code fits. Is the repository read in? `scrubjay workspace ingest` does it."
        return _with_doubts("\n\n".join(map(str, self.hits)) or nothing, self.degraded)


class Job(Answer):
    """What became of a job that was reported."""

    outcome: str
    id: str | None = None
    files: int = 0
    cuts: list[str] | None = None
    reason: str | None = None

    @classmethod
    def of(cls, stored: StoredCompletion) -> Self:
        """What was kept, and what was not."""
        kept = stored.completion
        return cls(
            outcome=stored.outcome,
            id=str(stored.id) if stored.id is not None else None,
            files=len(kept.files) if kept is not None else 0,
            cuts=list(kept.cuts) or None if kept is not None else None,
            reason=stored.reason or None,
        )

    def __str__(self) -> str:
        if self.reason:
            return f"Not kept: {self.reason}"
        cuts = "".join(f"\n- {cut}" for cut in self.cuts or ())
        return f"{self.outcome.capitalize()} with {self.files} files (id {self.id}){cuts}"


def _shown(piece: Citation, hit: CodeHit) -> str | None:
    """Which lines of the file a passage is; None when it is all of the piece, or is not of code."""
    passage, content = hit.hit.passage, hit.memory.content
    if passage is None or hit.memory.kind != CODE_KIND:
        return None
    first = piece.start + content.count("\n", 0, max(0, content.find(passage)))
    return f"{first}-{first + passage.rstrip(chr(10)).count(chr(10))}"


def _stretch(memory: Memory) -> str:
    until = memory.valid_to or memory.superseded_at
    because = f" ({memory.closed_because})" if memory.closed_because else ""
    return f"{memory.valid_from:%Y-%m-%d} – {f'{until:%Y-%m-%d}' if until else 'now'}{because}"


def _with_doubts(text: str, degraded: list[str] | None) -> str:
    return f"{text}\n\nThere may be more: {', '.join(degraded)} could not take part." if degraded else text
