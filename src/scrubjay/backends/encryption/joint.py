"""Memories and their vectors written at once, behind encryption: what is told is sealed on its way in."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from scrubjay.backends.encryption.records import EncryptedRecords, check_unsealed
from scrubjay.model import Memory, Remembered
from scrubjay.ports import Ahead, Decide, Joint


class EncryptedJoint:
    """The `Joint` port over another one. What may have a vector was decided before: see `SCRUBJAY_ENCRYPTED_SEARCH`."""

    def __init__(self, joint: Joint, records: EncryptedRecords) -> None:
        self._joint = joint
        self._records = records

    async def unknown(self, drafts: Sequence[Memory]) -> set[UUID]:
        """Return the ids of those that nothing stored stands for. What is sealed is told apart when it is written."""
        check_unsealed(drafts)
        return await self._joint.unknown(drafts)

    async def write(self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, with its vectors."""
        return await self._records.written(drafts, decide, partial(self._joint.write, ahead=ahead))
