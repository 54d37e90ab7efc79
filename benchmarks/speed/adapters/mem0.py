"""mem0 on its default store, Qdrant in the process, without inference: no language model reads what is added.

There is no way to add memories of several users at once, so `add` is called for each. A search has to name a user, an
agent or a run: what is meant for everybody's memories names the agent that all of them share.
"""

from pathlib import Path

from inhabit import Embedding
from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

AGENT = "speed"
UNUSED = {"provider": "openai", "config": {"api_key": "unused"}}


class Given(EmbeddingBase):
    """mem0's interface of an embedder, on the vectors that all systems get."""

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        self._embedding = embedding

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 -- the interface has it
        return self._embedding([text])[0].tolist()


class Adapter:
    batch = 100

    async def open(self, folder: Path, embedding: Embedding) -> None:
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": embedding.dimensions, "on_disk": True}
        self._memory = Memory.from_config({
            "vector_store": {"provider": "qdrant", "config": {"collection_name": "memories", **place}},
            "history_db_path": str(folder / "history.db"),
            "llm": UNUSED,
            "embedder": UNUSED,
        })  # fmt: skip
        self._memory.embedding_model = Given(embedding)

    async def add(self, texts: list[str], users: list[str]) -> None:
        for text, user in zip(texts, users, strict=True):
            self._memory.add(text, user_id=user, agent_id=AGENT, infer=False)

    async def add_one(self, text: str, user: str) -> None:
        await self.add([text], [user])

    async def ask(self, question: str, user: str | None) -> list[str]:
        whose = {"user_id": user} if user else {"agent_id": AGENT}
        return [found["memory"] for found in self._memory.search(question, filters=whose, top_k=10)["results"]]

    async def count(self) -> int:
        return self._memory.vector_store.client.count("memories").count

    async def shut(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()
