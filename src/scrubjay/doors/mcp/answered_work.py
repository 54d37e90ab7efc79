"""What the tools about work answer: past tasks, code and jobs."""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, JsonValue

from scrubjay.doors.mcp.answered import MEMORY_AT, Answer, no_room_for, with_doubts
from scrubjay.doors.mcp.fitting import Room
from scrubjay.model.citations import CODE_KIND, citations_of
from scrubjay.model.code import CodeHit, CodeHits
from scrubjay.model.layout import block, indented
from scrubjay.model.similar import SimilarTask, TaskContext
from scrubjay.model.workspace_answers import StoredCompletion


class Task(BaseModel):
    """A past task like the one at hand."""

    task_id: str
    summary: str
    success: bool
    similarity: float | None = None
    why: str
    errors: list[JsonValue] | None = None
    files: list[str] | None = None
    rest: str | None = None
    """Where all of it can be read, when this is a part."""

    @classmethod
    def of(cls, task: SimilarTask, most: int, room: Room) -> Self:
        """What matters of it for the next one: of its summary, its errors and its files, so many tokens each."""
        told = task.execution
        summary = room.marked(task.summary, most)
        errors = list(told.error_patterns)[: len(room.first(told.errors, most))]
        files = room.first(told.files, most)
        is_whole = (summary, len(errors), len(files)) == (task.summary, len(told.error_patterns), len(told.files))
        return cls(
            task_id=task.task_id,
            summary=summary,
            success=task.success,
            similarity=task.similarity,
            why=task.why,
            errors=errors or None,
            files=files or None,
            rest=None if is_whole else f"{MEMORY_AT}{task.memory_id}",
        )


class SimilarTasks(Answer):
    """What to know about a task before it is begun."""

    text: str
    tasks: list[Task]
    recommendations: list[str]
    prediction: str
    left_out: int | None = None
    """How much more there is that there was no room for."""
    receipt: str | None = None
    degraded: list[str] | None = None

    @classmethod
    def of(cls, written: TaskContext, room: Room) -> Self:
        """The text, and its parts."""
        each = room.budget // max(1, len(written.similar_tasks))
        return cls(
            text=written.text,
            tasks=[Task.of(task, each, room) for task in written.similar_tasks],
            recommendations=[one.text for one in written.recommendations],
            prediction=str(written.prediction),
            left_out=written.left_out or None,
            receipt=written.receipt,
            degraded=list(written.degraded) or None,
        )

    def __str__(self) -> str:
        receipt = f"\n\nreceipt for task_done: {self.receipt}" if self.receipt else ""
        nothing = no_room_for(self.left_out) or ["Nothing like it was done here before."]
        return with_doubts((self.text or nothing[0]) + receipt, self.degraded)


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
        piece, passage, content = cited[0], hit.hit.passage, hit.memory.content
        found = cls(
            path=piece.path,
            start=piece.start,
            stop=piece.stop,
            symbol=piece.symbol,
            language=piece.language,
            text=content if passage is None else passage,
            score=round(hit.hit.score, 4),
            why=hit.hit.why,
            warning=hit.warning or None,
        )
        if passage is None or hit.memory.kind != CODE_KIND:
            return found
        return found._showing(passage, piece.start + content.count("\n", 0, max(0, content.find(passage))))

    @property
    def whole(self) -> str:
        """It with all of its text."""
        return str(self)

    def within(self, most: int, room: Room) -> Self:
        """The same with as many of its lines as have so many tokens."""
        if room.fits(f"\n{self}", most):
            return self
        about = room.cost(f"\n{self.model_copy(update={'text': '', 'shown': f'{self.start}-{self.stop}'})}")
        return room.shrunk(lambda left: self._beginning(left, room), most - about, most)

    def _beginning(self, most: int, room: Room) -> Self:
        """The same with as many of its first lines as have so many tokens."""
        text = room.cut(self.text, most)
        lines = text if self.text[len(text) :].startswith("\n") else text.rpartition("\n")[0]
        first = int(self.shown.partition("-")[0]) if self.shown else self.start
        return self._showing(lines or text, first)

    def _showing(self, text: str, first: int) -> Self:
        """The same with these lines, of which this is the first."""
        last = first + text.rstrip("\n").count("\n")
        return self.model_copy(update={"text": text, "shown": f"{first}-{last}"})

    def __str__(self) -> str:
        symbol = f" {self.symbol}" if self.symbol else ""
        shown = f" (lines {self.shown} of it)" if self.shown else ""
        warning = f"\nCAREFUL: {indented(self.warning)}" if self.warning else ""
        return f"{self.path}:{self.start}-{self.stop}{symbol}{shown}{warning}\n{block(self.text)}"


class CodeFound(Answer):
    """Code that fits, best first."""

    hits: list[Code]
    left_out: int | None = None
    """How many more were found that there was no room for."""
    degraded: list[str] | None = None

    @classmethod
    def of(cls, found: CodeHits, room: Room) -> Self:
        """As many hits that are code as there is room for, each as far as there is."""
        hits = [one for one in map(Code.of, found) if one is not None]
        whole = cls(hits=hits, degraded=list(found.degraded) or None)
        return whole.showing(room.fit(hits, lambda fitting: str(whole.showing(fitting))))

    def showing(self, hits: Sequence[Code]) -> Self:
        """The same with these pieces of all."""
        return self.model_copy(update={"hits": list(hits), "left_out": len(self.hits) - len(hits) or None})

    def __str__(self) -> str:
        nothing = "No code fits. Is the repository read in? `scrubjay workspace ingest` does it."
        blocks = [*map(str, self.hits), *no_room_for(self.left_out)] or [nothing]
        return with_doubts("\n\n".join(blocks), self.degraded)


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
