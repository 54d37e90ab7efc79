"""Look for secrets among what is stored: written while redaction was off, or before their kind was known."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from scrubjay.core import Core
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.code import SecretScan, StoredSecret
from scrubjay.ports import Redactor
from scrubjay.write.redact import SecretRedactor, redacted

_PLACES: Final = ("content", "key", "data", "source", "author", "reason")


async def scan(core: Core, scope: Scope, progress: Callable[[int], None] | None = None) -> SecretScan:
    """Read every memory inside the scope, in every version, with the redactor of this installation or the usual one."""
    redactor = core.parts.redactor or SecretRedactor()
    wanted = Filter(scope=scope, reach="holds", history=True)
    memories = 0
    found: list[StoredSecret] = []
    async for batch in core.parts.stores.records.scan(wanted, now=core.parts.clock()):
        memories += len(batch)
        found += await asyncio.to_thread(_found, batch, redactor)
        if progress is not None:
            progress(memories)
    return SecretScan(memories=memories, found=tuple(found))


def _found(batch: Sequence[Memory], redactor: Redactor) -> list[StoredSecret]:
    return [
        StoredSecret(
            id=memory.id, memory_kind=memory.kind, place=place, kinds=kinds, current=memory.superseded_at is None
        )
        for memory in batch
        for place in _PLACES
        if (value := getattr(memory, place)) and (kinds := redacted(redactor, {place: value})[1])
    ]
