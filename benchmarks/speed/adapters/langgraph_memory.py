"""LangGraph's InMemoryStore: the same interface as its SqliteStore, and nothing on disk."""

from pathlib import Path

from adapters import langgraph_sqlite
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


class Adapter(langgraph_sqlite.Adapter):
    def _opened(self, folder: Path, index: dict) -> BaseStore:  # noqa: ARG002 -- it has no place
        return InMemoryStore(index=index)

    async def count(self) -> int:
        namespaces = self._store.list_namespaces(limit=1_000_000)
        return sum(len(self._store.search(one, limit=1_000_000_000)) for one in namespaces)
