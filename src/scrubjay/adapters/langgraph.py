"""Scrubjay under LangGraph: a checkpointer, so that graphs go on where they stopped, and a store that remembers.

    with scrubjay.open() as jay:
        graph = builder.compile(checkpointer=ScrubjaySaver(jay), store=ScrubjayStore(jay))

Needs: pip install 'scrubjay[langgraph]'.
"""

from scrubjay.adapters.langgraph_saver import ScrubjaySaver
from scrubjay.adapters.langgraph_store import ScrubjayStore

__all__ = ["ScrubjaySaver", "ScrubjayStore"]
