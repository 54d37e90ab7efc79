"""What tasks taught, as JSON documents for programs and as views for people."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from scrubjay.doors.cli.output import on_one_line, visible
from scrubjay.doors.cli.views import BACKGROUND, ID
from scrubjay.model import Json, Remembered
from scrubjay.model.patterns import Indicator, PatternMatch, Prediction, Recommendation, TaskPattern
from scrubjay.model.portable import moment_text, to_json
from scrubjay.model.similar import Credit, SimilarTask, SimilarTasks, TaskContext, Used
from scrubjay.model.tasks import ImportReport

_SUMMARY = 400
"""Characters of a summary that a list shows; `scrubjay get` shows all of them."""


def stored(done: Remembered) -> dict[str, Json]:
    """What became of one execution that was told."""
    return {"outcome": done.outcome, "id": str(done.id), "memory": to_json(done.memory)}


def imported(report: ImportReport) -> dict[str, Json]:
    """What an import did, with every line that was rejected."""
    return {
        "stored": report.stored,
        "unchanged": report.unchanged,
        "corrected": report.corrected,
        "rejected": [{"line": one.line, "reason": one.reason} for one in report.rejected],
    }


def similar_tasks(found: SimilarTasks) -> dict[str, Json]:
    """Past tasks like the one at hand."""
    return {
        "tasks": [similar_task(task) for task in found],
        "threshold": found.threshold,
        "degraded": list(found.degraded),
    }


def similar_task(task: SimilarTask) -> dict[str, Json]:
    """One of them."""
    return {
        "task_id": task.task_id,
        "attempt": task.attempt,
        "memory_id": str(task.memory_id),
        "summary": task.summary,
        "success": task.success,
        "memory_type": task.memory_type,
        "score": round(task.score, 4),
        "similarity": _rounded(task.similarity),
        "semantic_score": _rounded(task.semantic_score),
        "keyword_score": _rounded(task.keyword_score),
        "reused_count": task.reused_count,
        "credit": credit(task.credit),
        "receipt": task.receipt,
        "why": task.why,
    }


def credit(given: Credit) -> dict[str, Json]:
    """What was reported about a memory."""
    return {"helped": given.helped, "hurt": given.hurt, "neutral": given.neutral}


def used(done: Used) -> dict[str, Json]:
    """What became of a report."""
    return {
        "outcome": done.outcome,
        "counted": done.counted,
        "memories": [{"id": str(one), **credit(total)} for one, total in zip(done.memories, done.credits, strict=True)],
    }


def task_context(known: TaskContext) -> dict[str, Json]:
    """What to know before a task."""
    return {
        "text": known.text,
        "tokens": known.tokens,
        "budget": known.budget,
        "left_out": known.left_out,
        "similar_tasks": [similar_task(task) for task in known.similar_tasks],
        "matching_patterns": [pattern_match(match) for match in known.matching_patterns],
        "recommendations": [recommendation(one) for one in known.recommendations],
        "prediction": prediction(known.prediction),
        "receipt": known.receipt,
        "degraded": list(known.degraded),
    }


def recommendation(given: Recommendation) -> dict[str, Json]:
    """One thing to do or to avoid, and who says so."""
    return {
        "advice": given.advice,
        "text": given.text,
        "confidence": round(given.confidence, 4),
        "pattern_id": given.pattern_id,
        "indicator": indicator(given.indicator),
        "evidence": [str(one) for one in given.evidence],
    }


def prediction(given: Prediction) -> dict[str, Json]:
    """The chances, or why they cannot be told."""
    return {
        "probability": _rounded(given.probability),
        "basis": given.basis,
        "stage": given.stage,
        "base_rate": _rounded(given.base_rate),
        "evaluated": given.evaluated,
        "skill": _rounded(given.skill),
    }


def pattern_match(match: PatternMatch) -> dict[str, Json]:
    """A pattern that concerns a task."""
    return {"why": match.why, "similarity": _rounded(match.similarity), "pattern": pattern(match.pattern)}


def pattern(given: TaskPattern) -> dict[str, Json]:
    """A pattern with all that is known of it."""
    return {
        "id": given.id,
        "pattern_type": given.pattern_type,
        "task_type_pattern": given.task_type_pattern,
        "name": given.name,
        "confidence": round(given.confidence, 4),
        "samples": given.samples,
        "successes": given.successes,
        "usage_count": given.usage_count,
        "helpful": given.helpful,
        "unhelpful": given.unhelpful,
        "version": given.version,
        "success_indicators": [indicator(one) for one in given.success_indicators],
        "failure_indicators": [indicator(one) for one in given.failure_indicators],
        "recommended_context": given.recommended_context,
        "evidence": [str(one) for one in given.evidence],
        "created_at": moment_text(given.created_at),
        "updated_at": moment_text(given.updated_at),
        "last_seen_at": moment_text(given.last_seen_at),
    }


def indicator(given: Indicator) -> dict[str, Json]:
    """Something that went with an ending, and its counts."""
    return {
        "kind": given.kind,
        "what": list(given.what),
        "ending": given.ending,
        "hits": given.hits,
        "seen": given.seen,
        "other_hits": given.other_hits,
        "other_seen": given.other_seen,
        "q_value": float(f"{given.q_value:.3g}"),
        "strength": round(given.strength, 4),
        "evidence": given.evidence,
    }


def _rounded(value: float | None) -> float | None:
    """To four digits that count: BM25 of a small store is far below 1."""
    return float(f"{value:.4g}") if value is not None else None


def similar_row(task: SimilarTask) -> tuple[str, ...]:
    """A past task as a line for a pipe."""
    similarity = f"{task.similarity:.4f}" if task.similarity is not None else ""
    ended = "success" if task.success else "failure"
    return (similarity, task.task_id, str(task.attempt), ended, str(task.reused_count), task.receipt, task.summary)


def similar_view(task: SimilarTask, place: int) -> RenderableType:
    """A past task for people: how it ended, how alike it is, what was done, what came of using it."""
    head = Text(f"{place}  ", style=BACKGROUND).append(visible(task.task_id), style="bold")
    if task.attempt > 1:
        head.append(f"  attempt {task.attempt}", style=BACKGROUND)
    head.append("  succeeded" if task.success else "  failed", style="green" if task.success else "red")
    head.append(f"  {task.memory_type}", style=BACKGROUND)
    alike = f"similarity {task.similarity:.2f}" if task.similarity is not None else "by words only"
    used_before = f" · helped {task.credit.helped} of {task.reused_count} times" if task.reused_count else ""
    summary = on_one_line(task.summary)
    lines = Group(
        Text(summary if len(summary) <= _SUMMARY else f"{summary[:_SUMMARY]}…"),
        Text(f"{alike} · {visible(task.why)}{used_before}", style="green"),
        Text(task.receipt, style=ID),
    )
    return Group(head, Padding(lines, (0, 0, 0, 3)))


def pattern_row(given: TaskPattern) -> tuple[str, ...]:
    """A pattern as a row of a table."""
    return (
        given.id,
        given.pattern_type,
        f"{given.confidence:.2f}",
        f"{given.successes}/{given.samples}",
        given.name,
        given.task_type_pattern,
    )


def pattern_view(given: TaskPattern) -> RenderableType:
    """A pattern for people: what it is about, and the counts behind it."""
    head = Text(given.id, style=ID).append(f"  {given.pattern_type}", style="bold")
    head.append(f"  confidence {given.confidence:.2f}  version {given.version}", style=BACKGROUND)
    lines: list[RenderableType] = [
        head,
        Text(visible(given.name), style="bold"),
        Text(f"/{visible(given.task_type_pattern)}/", style=BACKGROUND),
        Text(f"{given.successes} of {given.samples} such tasks succeeded; last seen {_day(given.last_seen_at)}"),
    ]
    for title, found in (("went with success", given.success_indicators), ("with failure", given.failure_indicators)):
        if found:
            lines.append(Text(title, style="green" if found is given.success_indicators else "red"))
            lines += [Text(f"  {visible(one.evidence)}") for one in found]
    if given.helpful or given.unhelpful:
        lines.append(Text(f"feedback: helpful {given.helpful:g}, not helpful {given.unhelpful:g}", style=BACKGROUND))
    return Group(*lines)


def _day(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d}"
