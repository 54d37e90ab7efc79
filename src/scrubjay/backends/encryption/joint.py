"""Memories and their vectors written at once, behind encryption: what is told is sealed on its way in."""

from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import UUID

from scrubjay.backends.encryption.records import EncryptedRecords, check_unsealed
from scrubjay.model import Memory, Remembered
from scrubjay.ports import Ahead, Decide, Joint, Sight

_ASKED: Final = 10_000


class EncryptedJoint:
    """The `Joint` port over another one. What may have a vector was decided before: see `SCRUBJAY_ENCRYPTED_SEARCH`."""

    def __init__(self, joint: Joint, records: EncryptedRecords) -> None:
        self._joint = joint
        self._records = records
        self._asked: set[UUID] = set()
        """What was unknown when somebody asked, until it is written."""

    async def unknown(self, drafts: Sequence[Memory]) -> set[UUID]:
        """Return the ids of those that nothing stored stands for. What is sealed is told apart when it is written."""
        check_unsealed(drafts)
        found = await self._joint.unknown(drafts)
        if len(self._asked) > _ASKED:
            self._asked.clear()
        self._asked |= found
        return found

    async def write(
        self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead, *, sight: Sight | None = None
    ) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, with its vectors."""
        write = partial(self._joint.write, ahead=ahead, sight=sight)
        return await self._records.written(drafts, decide, write, unknown=self._unknown)

    async def _unknown(self, drafts: Sequence[Memory]) -> set[UUID]:
        """The same, for whoever writes now. Those that were just asked for are not asked for again."""
        known_new = {draft.id for draft in drafts if draft.id in self._asked}
        self._asked -= known_new
        others = [draft for draft in drafts if draft.id not in known_new]
        return known_new | (await self._joint.unknown(others) if others else set())
