"""The profiles that are compared, and the process that each of them lives in."""

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil

from scrubjay.model import Filter, Identity, Scope
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.wiring import wire

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import services

USERS = 100
KINDS = 10
BATCH = 1_000
TOP = 10
AT_ONCE = (1, 8, 32)
"""Writers who each tell one memory after the other."""

SINGLES = 100
"""Memories that one of them tells; several tell four times as many together."""

LONGEST = 300
"""Seconds that indexes are waited for. Where it takes longer, questions are asked while they are made."""

WIDTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all": lambda place: place >= 0,
    "1 %": lambda place: place % USERS == 7,
    "10 %": lambda place: place // USERS % KINDS == 3,
}
"""How wide a question is asked: which of the memories, by their number, it may find."""

NARROW: dict[str, dict[str, object]] = {"all": {}, "1 %": {"user": "u-7"}, "10 %": {"kinds": ["kind_3"]}}
"""The same, as keywords of `recall`."""


class DurablePostgres(services.Postgres):
    """As in production: every commit reaches the disk, and there is memory for a tenant's index."""

    def command(self) -> list[str]:
        options = (
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "shared_buffers=1GB",
            "maintenance_work_mem=512MB",
        )
        return [*super().command(), *(word for option in options for word in ("-c", option))]


@dataclass(frozen=True)
class Profile:
    """Which servers it needs, and what the settings say when they run."""

    title: str
    servers: tuple[str, ...]
    settings: Callable[[dict[str, str]], dict[str, str]]


def _qdrant(url: str, **options: str) -> str:
    given = "&".join(f"{name}={value}" for name, value in options.items())
    return f"qdrant://{urlsplit(url).netloc}?{given}"


PROFILES = {
    "sqlite": Profile("SQLite, embedded", (), lambda _: {}),
    "postgres": Profile("PostgreSQL, embedded", ("postgres",), lambda urls: {"records": urls["postgres"]}),
    "pgvector": Profile(
        "PostgreSQL, pgvector",
        ("postgres",),
        lambda urls: {"records": urls["postgres"], "vectors": "pgvector:"},
    ),
    "qdrant": Profile(
        "PostgreSQL, Qdrant",
        ("postgres", "qdrant"),
        lambda urls: {"records": urls["postgres"], "vectors": _qdrant(urls["qdrant"], grpc_port=urls["qdrant grpc"])},
    ),
    "qdrant-redis": Profile(
        "PostgreSQL, Qdrant, Redis",
        ("postgres", "qdrant", "redis"),
        lambda urls: {
            "records": urls["postgres"],
            "vectors": _qdrant(urls["qdrant"], grpc_port=urls["qdrant grpc"]),
            "working": urls["redis"],
        },
    ),
    "qdrant-int8": Profile(
        "PostgreSQL, Qdrant int8",
        ("postgres", "qdrant"),
        lambda urls: {
            "records": urls["postgres"],
            "vectors": _qdrant(urls["qdrant"], grpc_port=urls["qdrant grpc"], quantization="int8"),
        },
    ),
    "chroma": Profile(
        "PostgreSQL, Chroma",
        ("postgres", "chroma"),
        lambda urls: {"records": urls["postgres"], "vectors": f"chroma://{urlsplit(urls['chroma']).netloc}"},
    ),
}


@dataclass(frozen=True)
class Asked:
    """How many questions there are, and the exact answer to each, by filter."""

    count: int
    exact: dict[str, list[list[int]]]


@dataclass(frozen=True)
class Filled:
    """How fast memories went in, in bulk and one by one, and how long it worked on after that."""

    rate: float
    singles: dict[int, "Singles"]
    settled: float


@dataclass(frozen=True)
class Singles:
    """Memories told one by one: how many a second in all, and milliseconds that each took."""

    rate: float
    median: float
    slow: float


@dataclass(frozen=True)
class Taken:
    """Milliseconds, and what the engine found."""

    search: float
    recall: float
    found: tuple[int, ...]


class Looked:
    """An embedder whose vectors are known, so that no model is measured."""

    identity = Identity(provider="looked-up", model="minilm", version="1", dimensions=384)
    window = 256

    def __init__(self, known: dict[str, np.ndarray]) -> None:
        self._known = known

    def count(self, texts):
        return [len(text.split()) for text in texts]

    def again(self, text: str, how: str, many: int) -> list[str]:
        """So many new texts with the vector of one that is known."""
        texts = [f"{text} {how} {number}" for number in range(many)]
        self._known.update(dict.fromkeys(texts, self._known[text]))
        return texts

    async def embed(self, texts, *, question=False):  # noqa: ARG002 -- the port has it
        return np.array([self._known[text] for text in texts])

    async def shut(self):
        pass


class Inhabitant:
    """Fills one profile, then answers what it is asked over a pipe."""

    def __init__(self, folder: Path) -> None:
        self._texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        vectors = np.load(folder / "vectors.npz")
        self._questions = vectors["questions"]
        known = dict(zip(self._texts["texts"], vectors["documents"], strict=True))
        known.update(zip(self._texts["questions"], self._questions, strict=True))
        self._looked = Looked(known)
        self._servers: dict[str, services.Server] = {}
        self._place: dict[object, int] = {}

    @classmethod
    def live(cls, name: str, folder: Path, line: Connection) -> None:
        """The whole life of the process."""
        inhabitant = cls(folder)
        with ExitStack() as closing:
            urls = inhabitant._start(PROFILES[name].servers, closing)
            home = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix=f"scrubjay-{name}-")))
            settings = read_settings(home=home, **PROFILES[name].settings(urls))
            asyncio.run(inhabitant._answer(wire(settings, embedder=inhabitant._looked), home, line))

    def _start(self, names: tuple[str, ...], closing: ExitStack) -> dict[str, str]:
        urls = {}
        for name in names:
            server = DurablePostgres() if name == "postgres" else services.SERVERS[name]()
            closing.callback(server.stop)
            urls[name] = server.start()
            if name == "qdrant":
                urls["qdrant grpc"] = server.environment()["QDRANT__SERVICE__GRPC_PORT"]
            self._servers[name] = server
        return urls

    async def _answer(self, service: Scrubjay, home: Path, line: Connection) -> None:
        gc.collect()
        before = psutil.Process().memory_info().rss
        async with service as jay:
            line.send(await self._fill(jay))
            while (asked := await asyncio.to_thread(line.recv)) is not None:
                line.send(await self._taken(jay, *asked))
            gc.collect()
            line.send({
                "disk": self._disk(home) / 1e6,
                "servers": self._server_memory() / 1e6,
                "process": (psutil.Process().memory_info().rss - before) / 1e6,
            })  # fmt: skip

    async def _fill(self, jay: Scrubjay) -> Filled:
        texts = self._texts["texts"]
        items = [
            {"content": text, "user": f"u-{place % USERS}", "kind": f"kind_{place // USERS % KINDS}"}
            for place, text in enumerate(texts)
        ]
        began = time.perf_counter()
        for start in range(0, len(items), BATCH):
            for place, told in enumerate(await jay.remember_many(items[start : start + BATCH]), start):
                self._place[told.id] = place
        rate = len(items) / (time.perf_counter() - began)
        singles = {many: await self._singles(jay, many) for many in AT_ONCE}
        began = time.perf_counter()
        for place in range(5):  # Engines that build an index of a tenant when it is first searched begin now.
            await self._taken(jay, "all", place)
        await self._idle()
        return Filled(rate=rate, singles=singles, settled=time.perf_counter() - began)

    async def _singles(self, jay: Scrubjay, writers: int) -> Singles:
        """Tell memories one by one, so many writers at once. They are forgotten again, and are in nobody's way."""
        many = SINGLES if writers == 1 else 4 * SINGLES
        texts = self._looked.again(self._texts["texts"][0], f"by {writers}", many)
        left, taken, told = iter(texts), [], []

        async def writer(user: str) -> None:
            for text in left:
                began = time.perf_counter()
                told.append((await jay.remember(text, user=user)).id)
                taken.append((time.perf_counter() - began) * 1000)

        began = time.perf_counter()
        await asyncio.gather(*(writer(f"writer-{number}") for number in range(writers)))
        rate = many / (time.perf_counter() - began)
        await jay.forget(told, purge=True)
        return Singles(rate=rate, median=float(np.median(taken)), slow=float(np.percentile(taken, 95)))

    async def _taken(self, jay: Scrubjay, width: str, place: int) -> Taken:
        serving = await jay.parts.index.serving()
        narrow = Filter(
            scope=Scope(tenant=jay.tenant, user=NARROW[width].get("user")), kinds=tuple(NARROW[width].get("kinds", ()))
        )
        vectors, vector, now = jay.parts.stores.vectors, self._questions[place], datetime.now(UTC)
        began = time.perf_counter()
        matches = await vectors.search(serving.generation.number, vector, narrow, now=now, limit=TOP)
        search = (time.perf_counter() - began) * 1000
        began = time.perf_counter()
        await jay.recall(self._texts["questions"][place], **NARROW[width], touch=False)
        recall = (time.perf_counter() - began) * 1000
        return Taken(search=search, recall=recall, found=tuple(self._place[match.id] for match in matches))

    def _processes(self) -> list[psutil.Process]:
        roots = [psutil.Process(server.pid) for server in self._servers.values()]
        return [one for root in roots for one in (root, *root.children(recursive=True))]

    async def _idle(self) -> None:
        """Wait until neither the servers nor this process have worked for three seconds, or for too long."""
        quiet, spent, until = 0, self._spent(), time.monotonic() + LONGEST
        while quiet < 3 and time.monotonic() < until:
            await asyncio.sleep(1)
            now = self._spent()
            quiet = quiet + 1 if now - spent < 0.1 else 0
            spent = now

    def _spent(self) -> float:
        """Seconds of processor time so far. What has ended meanwhile is not counted, which only looks like work."""
        return sum(sum(one.cpu_times()[:2]) for one in (psutil.Process(), *self._processes()))

    def _server_memory(self) -> int:
        # Proportional: what the processes of one server share is counted once.
        return sum(one.memory_full_info().pss for one in self._processes())

    def _disk(self, home: Path) -> int:
        folders = [home, *(server.data for server in self._servers.values())]
        return sum(file.stat().st_blocks * 512 for folder in folders for file in folder.rglob("*") if file.is_file())
