"""A Chroma that lives in a folder and works in this process. Its calls block, so they are made on threads."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import chromadb
import numpy as np
from chromadb.config import Settings
from chromadb.errors import ChromaError, InternalError, NotFoundError

from scrubjay.backends.vectors.chroma.claim import claim, give_up
from scrubjay.backends.vectors.chroma.connection import DISTANCES, FIELDS, RECORDS_PER_REQUEST, VECTORS, NotThere
from scrubjay.backends.vectors.chroma.place import Folder
from scrubjay.backends.vectors.chroma.records import Records, Where
from scrubjay.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

# Chroma counts who has a folder open, and two who open it at the same moment are counted as one.
_opening: Final = threading.Lock()


async def reach(folder: Folder) -> "InProcess":
    """Open the folder, made first if need be."""
    return await asyncio.to_thread(InProcess, folder)


class InProcess:
    """A folder that is open. It answers as `Connection` promises."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        with self._wrapped():
            folder.path.mkdir(parents=True, exist_ok=True)
            claim(folder.path)
            try:
                settings = Settings(anonymized_telemetry=False)
                with _opening:
                    self._client = chromadb.PersistentClient(path=str(folder.path), settings=settings)
                self._batch = min(RECORDS_PER_REQUEST, self._client.get_max_batch_size())
            except BaseException:
                give_up(folder.path)
                raise

    async def close(self) -> None:
        """Let go of the files, unless somebody else in this process has the folder open."""
        try:
            await self._ask(self._close)
        finally:
            give_up(self._folder.path)

    def _close(self) -> None:
        with _opening:
            self._client.close()

    async def version(self) -> str:
        """The version that it says it has."""
        return await self._ask(self._client.get_version)

    async def names(self) -> list[str]:
        """All collections, of whatever prefix."""
        return await self._ask(lambda: [one.name for one in self._client.list_collections()])

    async def create(self, name: str, *, graph: dict[str, Any], about: dict[str, str]) -> None:
        """Make a collection, unless somebody else has."""
        await self._ask(
            lambda: self._client.get_or_create_collection(
                name, configuration={"hnsw": graph}, metadata=about, embedding_function=None
            )
        )

    async def delete(self, name: str) -> None:
        """Delete a collection, if it is there."""
        with contextlib.suppress(NotThere):
            await self._ask(lambda: self._client.delete_collection(name))

    async def count(self, name: str) -> int:
        """How many records it has."""
        return await self._of(name, lambda found: int(found.count()))

    async def size(self, name: str) -> int | None:
        """How many dimensions its vectors have; None while it has none."""
        found = await self._of(name, lambda one: one.get(limit=1, include=[VECTORS])[VECTORS])
        return len(found[0]) if len(found) else None

    async def upsert(self, name: str, records: Records) -> None:
        """Store these records, each in the place of the one with its id. Fields that are not given stay."""

        def work(found: Any) -> None:  # noqa: ANN401 -- the driver's
            for some in records.batches(self._batch):
                found.upsert(ids=some.ids, embeddings=some.vectors, metadatas=some.fields)

        await self._of(name, work)

    async def update(self, name: str, records: Records) -> None:
        """Write the fields of these records, and leave their vectors. Unknown ids are ignored."""

        def work(found: Any) -> None:  # noqa: ANN401 -- the driver's
            for some in records.batches(self._batch):
                found.update(ids=some.ids, metadatas=some.fields)

        await self._of(name, work)

    async def remove(self, name: str, *, ids: Sequence[str] | None = None, where: Where | None = None) -> None:
        """Delete the records with these ids, or those that fulfil the condition. Unknown ids are ignored."""
        wanted = None if ids is None else list(ids)
        await self._of(name, lambda found: found.delete(ids=wanted, where=where))

    async def get(
        self,
        name: str,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        include: Sequence[str] = (),
    ) -> Records:
        """The records with these ids, or those that fulfil the condition, with what is to be included."""
        wanted = None if ids is None else list(ids)
        found = await self._of(name, lambda one: one.get(ids=wanted, where=where, include=list(include)))
        vectors = np.asarray(found[VECTORS], dtype=np.float32) if VECTORS in include else None
        return Records(ids=found["ids"], fields=found[FIELDS] or [], vectors=vectors)

    async def nearest(self, name: str, vector: "Matrix", *, limit: int, where: Where | None = None) -> Records:
        """The nearest records that fulfil the condition, best first, with fields and distances."""
        asked = {"query_embeddings": [vector], "n_results": limit, "where": where, "include": [FIELDS, DISTANCES]}
        found = await self._of(name, lambda one: one.query(**asked))
        return Records(ids=found["ids"][0], fields=found[FIELDS][0], distances=found[DISTANCES][0])

    async def _of(self, name: str, work: Callable[[Any], T]) -> T:
        """Do something with a collection."""
        return await self._ask(lambda: work(self._client.get_collection(name, embedding_function=None)))

    async def _ask(self, work: Callable[[], T]) -> T:
        """Call the driver on a thread, and turn its errors into ours."""

        def wrapped() -> T:
            with self._wrapped():
                return work()

        return await asyncio.to_thread(wrapped)

    @contextlib.contextmanager
    def _wrapped(self) -> Iterator[None]:
        name = self._folder.name
        try:
            yield
        except NotFoundError as error:
            raise NotThere(str(error)) from error
        except InternalError as error:
            raise StoreUnavailable(f"{name} failed: {error}. Check the disk and the rights on the folder") from error
        except (ChromaError, TypeError, ValueError) as error:
            raise InvalidInput(f"{name} refuses it: {error}") from error
        except OSError as error:
            raise StoreUnavailable(f"{name} cannot be opened: {error}. Check the folder and its rights") from error
