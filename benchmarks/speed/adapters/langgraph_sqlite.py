"""LangGraph's SqliteStore with its vector index (sqlite-vec): a namespace for each user, `batch` for many at once."""

import os
from contextlib import ExitStack
from pathlib import Path

import adapters.loadable  # noqa: F401 -- first, see there
from inhabit import Embedding
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.sqlite import SqliteStore

ROOT = ("memories",)


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        self._closing = ExitStack()
        self._number = 0
        index = {
            "dims": embedding.dimensions,
            "embed": lambda texts: embedding(list(texts)).tolist(),
            "fields": ["text"],
            "text_fields": ["text"],  # What SqliteStore 3.1 reads instead of the documented name.
        }
        self._store = self._opened(folder, index)

    def _opened(self, folder: Path, index: dict) -> BaseStore:
        store = self._closing.enter_context(SqliteStore.from_conn_string(str(folder / "store.db"), index=index))
        store.setup()
        return store

    async def add(self, texts: list[str], users: list[str]) -> None:
        self._store.batch(
            [PutOp((*ROOT, user), self._key(), {"text": text}) for text, user in zip(texts, users, strict=True)]
        )

    async def add_one(self, text: str, user: str) -> None:
        self._store.put((*ROOT, user), self._key(), {"text": text})

    async def ask(self, question: str, user: str | None) -> list[str]:
        found = self._store.search((*ROOT, user) if user else ROOT, query=question, limit=10)
        return [item.value["text"] for item in found]

    async def count(self) -> int:
        return self._store.conn.execute("SELECT count(*) FROM store").fetchone()[0]

    async def shut(self) -> None:
        self._closing.close()

    def _key(self) -> str:
        self._number += 1
        return f"{os.getpid()}-{self._number}"
