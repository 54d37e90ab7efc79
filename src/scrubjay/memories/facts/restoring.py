"""Restoring: what was deleted becomes a new version, over the stretch of time it had."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.core import Core
from scrubjay.model import Memory, new_id
from scrubjay.model.facts import Fact
from scrubjay.model.memory import moment_after
from scrubjay.off_loop import off_loop, weight
from scrubjay.write.reconcile import RESTORED, reopen
from scrubjay.write.redact import reason_of


async def restore(core: Core, deleted: Sequence[Memory], *, reason: str | None) -> list[Fact]:
    """Open each of these again, all or none. An expiry that has passed is taken off, or nothing would be restored.

    A new version is made from the old one, so that purging the old one takes it along.
    """
    now, because = core.parts.clock(), await off_loop(weight(reason), reason_of, reason, core.parts.redactor)
    drafts = [
        replace(
            memory,
            id=new_id(),
            # After it was forgotten: the clock of whoever did that may be ahead of ours.
            created_at=moment_after(memory.superseded_at or memory.created_at, now),
            superseded_at=None,
            superseded_by=None,
            closed_because=None,
            generation=None,
            derived_from=(*memory.derived_from, memory.id),
            reason=f"{RESTORED}: {because}" if because else RESTORED,
            expires_at=memory.expires_at if memory.expires_at is not None and memory.expires_at > now else None,
        )
        for memory in deleted
    ]
    return [Fact(memory=done.memory) for done in await core.parts.writer.write(drafts, reopen)]
