"""Export and import: every memory as a line of JSON, streamed, so that a store of any size fits through."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.errors import InvalidInput, ScrubjayError, Unsupported
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.checks import shown
from scrubjay.model.portable import check_header, from_json, header, to_json
from scrubjay.ports import Clock, Events, Records, Redactor
from scrubjay.write.announce import imported
from scrubjay.write.index import Index
from scrubjay.write.lines import Lines, batches, numbered
from scrubjay.write.redact import redacted

BATCH: Final = 1_000

_TEXTS: Final = ("content", "key", "data", "source", "author", "reason", "closed_because")


async def export_lines(filter: Filter, *, records: Records, now: datetime) -> AsyncIterator[str]:
    """The memories that match, oldest first, after a line that names the format. No line ends in a newline."""
    yield _line(header())
    async for batch in records.scan(filter, now=now):
        for memory in batch:
            yield _line(to_json(memory))


async def import_lines(
    lines: Lines,
    scope: Scope,
    *,
    records: Records,
    index: Index,
    redactor: Redactor | None,
    events: Events,
    clock: Clock,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Store the memories of these lines for the scope's tenant; return how many were new and how many were known.

    Safe to repeat: what is stored already is left alone. A faulty line stops the import and is named; the batches
    before it are kept, so mend the line and run it again.
    """
    told = numbered(lines)
    first = await anext(told, None)
    if first is None:
        raise Unsupported("there is nothing to import: the file is empty")
    check_header(_object(*first))
    new = known = 0
    async for some in batches(told, BATCH):
        batch = [_clean(_memory(number, line, scope), redactor) for number, line in some]
        tenant, ids = Scope(tenant=scope.tenant), [memory.id for memory in batch]
        before = {memory.id for memory in await records.get(tenant, ids)}
        loaded = await records.load(batch)
        new, known = new + loaded, known + len(batch) - loaded
        if loaded:
            stored = await records.get(tenant, ids)
            await index.add([memory for memory in stored if memory.generation is None])
            await events.publish(imported([memory for memory in stored if memory.id not in before], clock()))
        if progress is not None:
            progress(new + known)
    return new, known


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _memory(number: int, line: str, scope: Scope) -> Memory:
    try:
        memory = from_json(_object(number, line), scope.tenant)
    except ScrubjayError as error:
        raise type(error)(str(error) if str(error).startswith("line ") else f"line {number}: {error}") from error
    if not scope.holds(memory.scope):
        raise InvalidInput(f"line {number}: the memory belongs to {memory.scope}, which is outside {scope}")
    return memory


def _clean(memory: Memory, redactor: Redactor | None) -> Memory:
    """The memory without secrets. What an export holds is clean already and comes back as it is."""
    if redactor is None:
        return memory
    texts = {name: getattr(memory, name) for name in _TEXTS}
    clean, kinds = redacted(redactor, {name: value for name, value in texts.items() if value})
    return replace(memory, **clean, redacted=tuple(sorted({*memory.redacted, *kinds}))) if kinds else memory


def _object(number: int, line: str) -> dict[str, object]:
    if not isinstance(line, str):
        raise Unsupported(f"line {number} is {shown(line)}: give lines of text")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unsupported(f"line {number} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unsupported(f"line {number} is not a JSON object")
    return value
