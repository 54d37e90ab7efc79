"""What holds of workspace memory, whatever store it is on."""

from scrubjay.testing.workspace.keeping import Keeping
from scrubjay.testing.workspace.looking import Looking
from scrubjay.testing.workspace.queueing import Queueing
from scrubjay.testing.workspace.storing import Storing

__all__ = ["WorkspaceSuite"]


class WorkspaceSuite(Storing, Queueing, Looking, Keeping):
    """Workspace memory on one store. Give it a fixture `jay`: an open, empty `Scrubjay` with a `ToyEmbedder`."""
