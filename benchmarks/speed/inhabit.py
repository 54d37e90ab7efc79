"""The whole life of one system's process, in that system's own environment: it does what it is told, a line at a time.

    python inhabit.py ADAPTER MATERIAL QUESTIONS STORE EMBEDDER look-up|embed

An order is a line of JSON on standard input, `{"do": "fill", …}`; the answer is one line of JSON on standard output.
What the system prints itself goes to standard error. Needs NumPy and nothing else: the model, when it is wanted, is
the one that Scrubjay bundles, through Scrubjay's own code, so that every system is given the same.
"""

import asyncio
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

BLOCK = 1_000
USERS = 100
WHO = 7


class Adapter(Protocol):
    """One system, in its own documented words. Everything is awaited; what blocks may block."""

    batch: int
    """How many memories it is given at once in bulk; one thousand where it has a way for many."""

    async def open(self, folder: Path, embedding: "Embedding") -> None: ...

    async def add(self, texts: list[str], users: list[str]) -> None:
        """Store all of them, in the way that the system means for many."""

    async def add_one(self, text: str, user: str) -> None: ...

    async def ask(self, question: str, user: str | None) -> list[str]:
        """Return the texts of the ten that fit best, of everybody or of one user."""

    async def count(self) -> int: ...

    async def shut(self) -> None: ...


class Embedding:
    """The vectors of a model: known already, or computed by it."""

    def __init__(self, name: str, *, is_looked_up: bool) -> None:
        self.name = name
        """Of the model, as in SCRUBJAY_EMBEDDER."""
        self.is_looked_up = is_looked_up
        self.dimensions = 0
        self._known: dict[str, np.ndarray] = {}
        if not is_looked_up:
            from scrubjay.models import embedder_of

            self._model = embedder_of(name)
            self._thread = ThreadPoolExecutor(1)

    def learn(self, texts: list[str], vectors: np.ndarray) -> None:
        self.dimensions = vectors.shape[1]
        self._known.update(zip(texts, vectors, strict=True))

    def knows(self, text: str) -> bool:
        return text in self._known

    def forget(self, texts: list[str]) -> None:
        for text in texts:
            self._known.pop(text, None)

    def __call__(self, texts: list[str]) -> np.ndarray:
        """One row per text, of length 1."""
        if self.is_looked_up:
            return np.array([self._known[text] for text in texts])
        # On a thread of its own: whoever asks may be inside an event loop, and the model wants one.
        return self._thread.submit(asyncio.run, self._model.embed(texts)).result()


class Inhabitant:
    """Knows what to tell and to ask, and how long it took."""

    def __init__(self, adapter: Adapter, material: Path, asked: Path, embedding: Embedding) -> None:
        self._adapter = adapter
        self._material = material
        self._embedding = embedding
        self._spare: tuple[list[str], np.ndarray] | None = None
        self._questions: dict[str, list[str]] = json.loads((asked / "questions.json").read_text("utf-8"))
        vectors = np.load(asked / "questions.npy")
        everything = [question for some in self._questions.values() for question in some]
        embedding.learn(everything, vectors)

    async def fill(self, size: int, budget: float) -> dict[str, object]:
        """Store the first so many memories in bulk; stop after the first batch that ends past the budget."""
        spent, working, stored = 0.0, 0.0, 0
        while stored < size and spent < budget:
            texts, vectors = self._block(1 + stored // BLOCK)
            texts, vectors = texts[: size - stored], vectors[: size - stored]
            users = [f"u-{place % USERS}" for place in range(stored, stored + len(texts))]
            self._embedding.learn(texts, vectors)
            for start in range(0, len(texts), self._adapter.batch):
                part = slice(start, start + self._adapter.batch)
                began, worked = time.perf_counter(), time.process_time()
                await self._adapter.add(texts[part], users[part])
                spent += time.perf_counter() - began
                working += time.process_time() - worked
                stored += len(texts[part])
                if spent >= budget:
                    break
            self._embedding.forget(texts)
        return {"stored": stored, "seconds": spent, "cpu": working}

    async def ask(self, width: str, places: list[int], budget: float) -> dict[str, object]:
        """Ask these questions, one after the other; `found` counts those whose own text was among the answers."""
        user = None if width == "all" else f"u-{WHO}"
        taken, each, found, worked = [], [], 0, time.process_time()
        for place in places:
            question = self._questions[width][place]
            began, working = time.perf_counter(), time.process_time()
            answers = await self._adapter.ask(question, user)
            taken.append(time.perf_counter() - began)
            each.append(time.process_time() - working)
            found += any(is_cut_from(question, answer) for answer in answers)
            if sum(taken) >= budget:
                break
        return {"taken": taken, "worked": each, "found": found, "cpu": time.process_time() - worked}

    async def single(self, start: int, many: int, writer: str, budget: float) -> dict[str, object]:
        """Store so many memories, each on its own, none of which was stored before."""
        texts, vectors = self._new(start, many, writer)
        self._embedding.learn(texts, vectors)
        taken, each, worked = [], [], time.process_time()
        for place, text in enumerate(texts, start):
            began, working = time.perf_counter(), time.process_time()
            await self._adapter.add_one(text, f"u-{place % USERS}")
            taken.append(time.perf_counter() - began)
            each.append(time.process_time() - working)
            if sum(taken) >= budget:
                break
        worked = time.process_time() - worked
        self._embedding.forget(texts)
        return {"taken": taken, "worked": each, "cpu": worked}

    async def crowd(self, start: int, many: int, callers: int, writer: str, budget: float) -> dict[str, object]:
        """The same by so many callers at once, each with the next as soon as their last one is stored."""
        texts, vectors = self._new(start, many, writer)
        self._embedding.learn(texts, vectors)
        left, stored, began, worked = enumerate(texts, start), 0, time.perf_counter(), time.process_time()

        async def call() -> None:
            nonlocal stored
            for place, text in left:
                await self._adapter.add_one(text, f"u-{place % USERS}")
                stored += 1
                if time.perf_counter() - began >= budget:
                    return

        await asyncio.gather(*(call() for _ in range(callers)))
        spent, worked = time.perf_counter() - began, time.process_time() - worked
        self._embedding.forget(texts)
        return {"stored": stored, "seconds": spent, "cpu": worked}

    async def bulk(self, many: int, writer: str, budget: float) -> dict[str, object]:
        """Store so many new memories in bulk, on top of those that are there."""
        texts, vectors = self._new(0, many, writer)
        self._embedding.learn(texts, vectors)
        spent, working, stored = 0.0, 0.0, 0
        for start in range(0, many, self._adapter.batch):
            part = texts[start : start + self._adapter.batch]
            users = [f"u-{place % USERS}" for place in range(start, start + len(part))]
            began, worked = time.perf_counter(), time.process_time()
            await self._adapter.add(part, users)
            spent += time.perf_counter() - began
            working += time.process_time() - worked
            stored += len(part)
            if spent >= budget:
                break
        self._embedding.forget(texts)
        return {"stored": stored, "seconds": spent, "cpu": working}

    async def keep_on(self, verb: str, writer: str, seconds: float) -> dict[str, object]:
        """Write or read beside others for so long; an error of the system is counted, and the first one told."""
        done, failed, first, place = 0, 0, None, 0
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            try:
                if verb == "write":
                    done += len((await self.single(place, 1, writer, seconds))["taken"])
                else:
                    done += len((await self.ask("1 %", [place % len(self._questions["1 %"])], seconds))["taken"])
            except Exception as error:  # noqa: BLE001 -- what a system raises under load is what is measured
                failed += 1
                first = first or f"{type(error).__name__}: {error}"
            place += 1
        return {"done": done, "failed": failed, "first": first}

    async def rest(self) -> dict[str, object]:
        """Do nothing, to be asked for the memory that was needed so far."""
        return {}

    async def count(self) -> dict[str, object]:
        return {"count": await self._adapter.count()}

    def _new(self, start: int, many: int, writer: str) -> tuple[list[str], np.ndarray]:
        """Texts that are nowhere yet: those of the first block, each with a mark of the writer and the round."""
        self._spare = self._spare or self._block(0)
        texts, vectors = self._spare
        places = range(start, start + many)
        marked = [f"{texts[place % BLOCK]} {writer}{place // BLOCK}" for place in places]
        return marked, vectors[[place % BLOCK for place in places]]

    def _block(self, number: int) -> tuple[list[str], np.ndarray]:
        texts = json.loads((self._material / f"block-{number:05}.json").read_text("utf-8"))
        return texts, np.load(self._material / f"block-{number:05}.npy")


def is_cut_from(question: str, text: str) -> bool:
    """Whether the words of the question come in this order in the text."""
    words = iter(text.split())
    return all(word in words for word in question.split())


def peak() -> float | None:
    """Megabytes that this process held at most; None where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text("utf-8")
    except FileNotFoundError:
        return None
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


async def live(name: str, material: str, asked: str, store: str, embedder: str, way: str) -> None:
    # The line to the driver is kept apart, so that a system which prints does not garble it.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # First, because a system may change Python's path when it is imported.
    embedding = Embedding(embedder, is_looked_up=way == "look-up")
    adapter: Adapter = import_module(f"adapters.{name}").Adapter()
    inhabitant = Inhabitant(adapter, Path(material), Path(asked), embedding)
    await adapter.open(Path(store), embedding)
    while order := await asyncio.to_thread(sys.stdin.readline):
        details = json.loads(order)
        verb = details.pop("do")
        if verb == "shut":
            await adapter.shut()
            answer: dict[str, object] = {}
        else:
            answer = await getattr(inhabitant, verb)(**details)
        print(json.dumps({**answer, "memory": peak()}), file=answers, flush=True)
        if verb == "shut":
            return


if __name__ == "__main__":
    asyncio.run(live(*sys.argv[1:]))
