"""The memory of agents, put together from its parts."""

from scrubjay.memories.agents.files import Filing
from scrubjay.memories.agents.forking import Forking


class Agents(Forking, Filing):
    """Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped.

    Each part is a `Room` in a file of its own, and adds its verbs: `keeping` who they are, `cycling` what they do,
    `resuming` where they stopped, `remembering` what they make of it, `forking` another one with the same past, and
    `files` what they produced.
    """
