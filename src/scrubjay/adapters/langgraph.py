"""Scrubjay under LangGraph: a checkpointer, so that graphs go on where they stopped, and a store that remembers.

    with scrubjay.open() as jay:
        graph = builder.compile(checkpointer=ScrubjaySaver(jay), store=ScrubjayStore(jay))

Needs: pip install 'scrubjay[langgraph]'.
"""

from scrubjay.errors import Misconfigured

try:
    from scrubjay.adapters.langgraph_saver import ScrubjaySaver
    from scrubjay.adapters.langgraph_store import ScrubjayStore
except ModuleNotFoundError as error:
    raise Misconfigured(
        f"the adapters for LangGraph need {error.name}, which is not installed: pip install 'scrubjay[langgraph]'"
    ) from error

__all__ = ["ScrubjaySaver", "ScrubjayStore"]
