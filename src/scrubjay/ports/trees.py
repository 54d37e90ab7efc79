"""Working trees: what memories say of code, compared with the code as it is now."""

from collections.abc import Sequence
from typing import Protocol

from scrubjay.model.citations import CheckedCitation
from scrubjay.model.memory import Memory
from scrubjay.model.scope import Scope


class Trees(Protocol):
    """The repositories that this machine can read."""

    async def compare(self, scope: Scope, memories: Sequence[Memory]) -> list[tuple[CheckedCitation, ...]]:
        """Return, for each memory, what it cites and whether it is still so.

        Empty for one that cites nothing, and where the repository that its scope holds is not on this machine.
        """
