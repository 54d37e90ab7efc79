"""A Chroma server, by its REST interface, which takes a dozen kinds of requests.

Chroma's own client would bring more than 100 MB for them, and it waits for ever when a server is stuck. Here every
request has a deadline.
"""

import asyncio
import base64
import contextlib
import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx
import numpy as np

from scrubjay.backends.vectors.chroma.connection import DISTANCES, FIELDS, RECORDS_PER_REQUEST, VECTORS, NotThere
from scrubjay.backends.vectors.chroma.place import Place
from scrubjay.backends.vectors.chroma.records import Records, Where
from scrubjay.errors import InvalidInput, ScrubjayError, StoreUnavailable

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

NAMES_PER_REQUEST: Final = 1_000

KNOWN: Final = 10_000
"""Collections whose ids are remembered: there may be one for each tenant."""

_LOST: Final = (httpx.NetworkError, httpx.RemoteProtocolError)


async def reach(place: Place) -> "Server":
    """Connect to a server that answers."""
    server = Server(place)
    try:
        await server.learn()
    except ScrubjayError:
        await server.close()
        raise
    return server


class Server:
    """A connection that is open. It answers as `Connection` promises."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = httpx.AsyncClient(
            timeout=place.timeout,
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=8),
            headers={"Content-Type": "application/json", **({"X-Chroma-Token": place.key} if place.key else {})},
        )
        self._ids: dict[str, str] = {}
        """Names of collections and what Chroma calls them. One that was made anew has another id, and is asked for."""
        self._batch = RECORDS_PER_REQUEST
        self._takes_base64 = False

    async def learn(self) -> None:
        """Ask what the server can take."""
        try:
            said = await self._ask("GET", f"{self._place.root}/pre-flight-checks")
            self._batch = min(RECORDS_PER_REQUEST, int(said["max_batch_size"]))
            self._takes_base64 = bool(said.get("supports_base64_encoding"))
        except (NotThere, InvalidInput, LookupError, TypeError, ValueError) as error:
            raise StoreUnavailable(
                f"{self._place.name} is no Chroma of version 1.0 or later. Check SCRUBJAY_VECTORS"
            ) from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def version(self) -> str:
        """The version that it says it has."""
        return str(await self._ask("GET", f"{self._place.root}/version"))

    async def names(self) -> list[str]:
        """All collections, of whatever prefix."""
        found: list[str] = []
        while True:
            query = f"?limit={NAMES_PER_REQUEST}&offset={len(found)}"
            page = await self._ask("GET", self._place.collections + query)
            found += [one["name"] for one in page]
            if len(page) < NAMES_PER_REQUEST:
                return found

    async def create(self, name: str, *, graph: dict[str, Any], about: dict[str, str]) -> None:
        """Make a collection, unless somebody else has."""
        wanted = {"name": name, "get_or_create": True, "configuration": {"hnsw": graph}, "metadata": about}
        try:
            made = await self._ask("POST", self._place.collections, wanted)
        except (NotThere, InvalidInput) as error:
            where = f"database {self._place.database!r} of tenant {self._place.tenant!r}"
            raise StoreUnavailable(
                f"{self._place.name} makes no collection in {where}: {error}. Create that there, or correct the URL"
            ) from error
        self._ids[name] = made["id"]

    async def delete(self, name: str) -> None:
        """Delete a collection, if it is there."""
        self._ids.pop(name, None)
        with contextlib.suppress(NotThere):
            await self._ask("DELETE", f"{self._place.collections}/{name}")

    async def count(self, name: str) -> int:
        """How many records it has."""
        return int(await self._of(name, "count"))

    async def size(self, name: str) -> int | None:
        """How many dimensions its vectors have; None while it has none."""
        found = (await self._ask("GET", f"{self._place.collections}/{name}")).get("dimension")
        return None if found is None else int(found)

    async def upsert(self, name: str, records: Records) -> None:
        """Store these records, each in the place of the one with its id. Fields that are not given stay."""
        for some in records.batches(self._batch):
            wanted = {"ids": some.ids, "embeddings": self._written(some.vectors), "metadatas": some.fields}
            await self._of(name, "upsert", wanted)

    async def update(self, name: str, records: Records) -> None:
        """Write the fields of these records, and leave their vectors. Unknown ids are ignored."""
        for some in records.batches(self._batch):
            await self._of(name, "update", {"ids": some.ids, "metadatas": some.fields})

    async def remove(self, name: str, *, ids: Sequence[str] | None = None, where: Where | None = None) -> None:
        """Delete the records with these ids, or those that fulfil the condition. Unknown ids are ignored."""
        await self._of(name, "delete", {"ids": ids, "where": where})

    async def get(
        self,
        name: str,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        include: Sequence[str] = (),
    ) -> Records:
        """The records with these ids, or those that fulfil the condition, with what is to be included."""
        found = await self._of(name, "get", {"ids": ids, "where": where, "include": list(include)})
        vectors = np.array(found[VECTORS], dtype=np.float32) if VECTORS in include else None
        return Records(ids=found["ids"], fields=found[FIELDS] or [], vectors=vectors)

    async def nearest(self, name: str, vector: "Matrix", *, limit: int, where: Where | None = None) -> Records:
        """The nearest records that fulfil the condition, best first, with fields and distances."""
        asked = {
            "query_embeddings": [vector.tolist()],
            "n_results": limit,
            "where": where,
            "include": [FIELDS, DISTANCES],
        }
        found = await self._of(name, "query", asked)
        return Records(ids=found["ids"][0], fields=found[FIELDS][0], distances=found[DISTANCES][0])

    def _written(self, vectors: "Matrix | None") -> list[Any]:
        """The vectors as they travel: little endian bytes take a quarter of what numbers spelled out do."""
        if vectors is None:
            return []
        if not self._takes_base64:
            written: list[Any] = vectors.tolist()
            return written
        return [base64.b64encode(row.tobytes()).decode() for row in vectors.astype("<f4", copy=False)]

    async def _of(self, name: str, verb: str, body: Any = None) -> Any:  # noqa: ANN401 -- JSON, both ways
        """Ask about a collection, by the id that it has now."""
        method = "GET" if body is None else "POST"
        known = self._ids.get(name)
        if known is not None:
            try:
                return await self._ask(method, f"{self._place.collections}/{known}/{verb}", body)
            except NotThere:
                self._ids.pop(name, None)
        found = await self._ask("GET", f"{self._place.collections}/{name}")
        if len(self._ids) >= KNOWN:
            self._ids.clear()
        self._ids[name] = found["id"]
        return await self._ask(method, f"{self._place.collections}/{found['id']}/{verb}", body)

    async def _ask(self, method: str, url: str, body: Any = None) -> Any:  # noqa: ANN401 -- JSON, both ways
        """Send a request, once more when the connection was lost, and turn errors into ours."""
        content = None if body is None else await _dumped(body)
        try:
            try:
                answer = await self._client.request(method, url, content=content)
            except _LOST:
                # Connections that a restarted server has forgotten fail once, and are new the next time.
                await asyncio.sleep(random.uniform(0.05, 0.2))  # noqa: S311 -- not for secrecy
                answer = await self._client.request(method, url, content=content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._no_answer(error) from error
        if not answer.is_success:
            raise self._refusal(answer)
        try:
            return answer.json()
        except ValueError as error:
            raise StoreUnavailable(f"{self._place.name} is no Chroma: it does not answer in JSON") from error

    def _no_answer(self, error: Exception) -> StoreUnavailable:
        name = self._place.name
        if isinstance(error, httpx.TimeoutException):
            return StoreUnavailable(
                f"{name} did not answer within {self._place.timeout} seconds. Check that it runs and is not "
                "overloaded, or give it longer with the option `timeout`"
            )
        said = str(error) or type(error).__name__
        return StoreUnavailable(
            f"{name} cannot be reached: {said}. Check that it runs and that SCRUBJAY_VECTORS is right"
        )

    def _refusal(self, answer: httpx.Response) -> Exception:
        name, status, said = self._place.name, answer.status_code, _said(answer)
        if status == 404:
            return NotThere(said)
        if status in (400, 422):
            return InvalidInput(f"{name} refuses it: {said}")
        if status in (401, 403):
            return StoreUnavailable(f"{name} refuses the key: {said}. Check it, and that it may write")
        return StoreUnavailable(f"{name} failed with {status}: {said}. Look into its log")


async def _dumped(body: Any) -> bytes:  # noqa: ANN401 -- JSON
    """The body of a request. Long ones are written on a thread, so that others need not wait."""
    if len(body.get("ids") or ()) < 100:
        return json.dumps(body).encode()
    return await asyncio.to_thread(lambda: json.dumps(body).encode())


def _said(answer: httpx.Response) -> str:
    """What went wrong in the other side's words, on one line."""
    try:
        text = str(answer.json()["message"])
    except (ValueError, LookupError, TypeError):
        text = answer.text or answer.reason_phrase
    return " ".join(text.split())[:300].rstrip(".")
