"""What holds of task memory, whatever store it is on."""

from scrubjay.testing.tasks.preparing import Preparing
from scrubjay.testing.tasks.reusing import Reusing
from scrubjay.testing.tasks.searching import Searching
from scrubjay.testing.tasks.storing import Storing

__all__ = ["TasksSuite"]


class TasksSuite(Storing, Searching, Reusing, Preparing):
    """Task memory on one store. Give it a fixture `jay`: an open, empty `Scrubjay` with a `ToyEmbedder`."""
