"""Answers as JSON documents. A memory in them looks as it does in an export."""

from collections.abc import Iterable

from scrubjay.model import Context, ContextItem, ForgetReceipt, Generation, Hit, Hits, Json, Memory, Remembered, Stats
from scrubjay.model.portable import moment_text, to_json


def memories(found: Iterable[Memory]) -> list[Json]:
    """Several memories, in their order."""
    return [to_json(memory) for memory in found]


def remembered(done: Remembered) -> dict[str, Json]:
    """What became of one thing that was told."""
    replaced = str(done.replaced) if done.replaced is not None else None
    return {"outcome": done.outcome, "replaced": replaced, "memory": to_json(done.memory)}


def remembered_many(done: Iterable[Remembered]) -> dict[str, Json]:
    """What became of many."""
    return {"memories": [{"id": str(one.id), "outcome": one.outcome} for one in done]}


def hits(found: Hits) -> dict[str, Json]:
    """The answers to one question."""
    return {
        "hits": [_hit(one) for one in found],
        "degraded": list(found.degraded),
        "confidence": round(found.confidence, 4) if found.confidence is not None else None,
        "milliseconds": round(found.milliseconds, 2),
    }


def _hit(hit: Hit) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4) if hit.similarity is not None else None,
        "why": hit.why,
        "memory": to_json(hit.memory),
    }
    if hit.passage is not None:
        shown["passage"] = hit.passage
    if hit.warning:
        shown["warning"] = hit.warning
    if hit.signals:
        shown["signals"] = {name: round(float(value), 4) for name, value in hit.signals.items()}
    return shown


def context(assembled: Context) -> dict[str, Json]:
    """A context: its text, and the manifest of what went into it."""
    return {
        "as": assembled.as_,
        "text": assembled.text,
        "tokens": assembled.tokens,
        "budget": assembled.budget,
        "items": [_item(one) for one in assembled.items],
        "left_out": [_item(one) for one in assembled.left_out],
        "degraded": list(assembled.degraded),
    }


def _item(item: ContextItem) -> dict[str, Json]:
    score = {"score": round(item.score, 4)} if item.score is not None else {}
    known: dict[str, Json] = {"section": item.section, "tokens": item.tokens, "why": item.why, **score}
    return {**known, "memory": to_json(item.memory)}


def receipt(given: ForgetReceipt) -> dict[str, Json]:
    """Proof of what was forgotten."""
    return {
        "ids": [str(one) for one in given.ids],
        "derived": [str(one) for one in given.derived],
        "purged": given.purged,
        "at": moment_text(given.at),
        "remaining": dict(given.remaining),
    }


def stats(found: Stats) -> dict[str, Json]:
    """What a scope holds."""
    return {
        "memories": found.memories,
        "versions": found.versions,
        "kinds": dict(found.kinds),
        "scopes": found.scopes,
        "pending": found.pending,
        "vectors": found.vectors,
        "embedder": found.embedder,
        "records": found.records,
        "bytes_on_disk": found.bytes_on_disk,
        "generations": [generation(one) for one in found.generations],
    }


def generation(one: Generation) -> dict[str, Json]:
    """One embedding model's vectors."""
    return {"number": one.number, "model": str(one.identity), "state": one.state}
