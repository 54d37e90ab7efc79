"""What holds of agents, whatever store they are on."""

from scrubjay.testing.agents.cycling import Cycling
from scrubjay.testing.agents.forking import Forking
from scrubjay.testing.agents.keeping import Keeping
from scrubjay.testing.agents.remembering import Remembering
from scrubjay.testing.agents.resuming import Resuming

__all__ = ["AgentsSuite"]


class AgentsSuite(Keeping, Cycling, Resuming, Remembering, Forking):
    """Agents on one store. Give it a fixture `jay`: an open, empty `Scrubjay` with a `ToyEmbedder`."""
