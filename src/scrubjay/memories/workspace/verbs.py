"""Workspace memory, put together from its parts."""

from scrubjay.memories.workspace.backfill import Backfilling
from scrubjay.memories.workspace.code.verbs import Code
from scrubjay.memories.workspace.searching import Searching


class Workspace(Searching, Backfilling, Code):
    """Workspace memory: what do we know about this code?

    Each part is a `Room` in a file of its own, and adds its verbs: `searching`, `backfill` on `recording` on
    `retention`, and `code`. A further one is one more base here, and a line for each verb in `sync/workspace.py`.
    """
