"""No store at all: what embedding costs by itself."""

from pathlib import Path

from inhabit import Embedding


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:  # noqa: ARG002 -- it keeps nothing
        self._embedding = embedding

    async def add(self, texts: list[str], users: list[str]) -> None:  # noqa: ARG002 -- the same
        self._embedding(texts)

    async def add_one(self, text: str, user: str) -> None:
        await self.add([text], [user])

    async def ask(self, question: str, user: str | None) -> list[str]:  # noqa: ARG002 -- the same
        self._embedding([question])
        return []

    async def count(self) -> int:
        return 0

    async def shut(self) -> None:
        pass
