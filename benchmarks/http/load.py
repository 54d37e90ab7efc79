"""A load generator: so many clients on loopback, each sending its next request when the last was answered.

It speaks just enough HTTP/1.1 over connections that stay open, so that little of the time is its own.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from rich.progress import Progress

Ask = Callable[[dict], Awaitable[None]]


@dataclass(frozen=True)
class Load:
    """What so many clients got done in a while."""

    clients: int
    seconds: float
    milliseconds: tuple[float, ...]
    """How long each request took, sorted."""

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self.seconds

    def percentile(self, percent: float) -> float:
        return self.milliseconds[min(len(self.milliseconds) - 1, int(len(self.milliseconds) * percent / 100))]


class Connection:
    """One client of a server. Raises when an answer is not a success: a fast refusal is no result."""

    def __init__(self, url: str, path: str) -> None:
        self._address = urlsplit(url)
        self._head = f"POST {path} HTTP/1.1\r\nhost: {self._address.netloc}\r\ncontent-type: application/json\r\n"

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        return self

    async def __aexit__(self, *_error):
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, body: dict) -> None:
        content = json.dumps(body).encode()
        self._writer.write(f"{self._head}content-length: {len(content)}\r\n\r\n".encode() + content)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        answer = await self._reader.readexactly(length)
        if not head.startswith("http/1.1 2"):
            raise RuntimeError(f"{head.splitlines()[0]}: {answer[:500]!r}")


async def over_http(url: str, path: str, bodies: Iterator[dict], *, clients: int, seconds: float) -> Load:
    """Let these clients send the bodies for so long."""
    connections = [Connection(url, path) for _ in range(clients)]
    for one in connections:
        await one.__aenter__()
    try:
        return await _loaded([one.ask for one in connections], bodies, seconds)
    finally:
        for one in connections:
            await one.__aexit__()


async def in_process(ask: Ask, bodies: Iterator[dict], *, clients: int, seconds: float) -> Load:
    """The same, as so many tasks that call the library."""
    return await _loaded([ask] * clients, bodies, seconds)


async def _loaded(asks: list[Ask], bodies: Iterator[dict], seconds: float) -> Load:
    await asyncio.gather(*(ask(next(bodies)) for ask in asks))  # What happens the first time only is not counted.
    taken: list[float] = []
    began = time.perf_counter()

    async def go_on(ask: Ask) -> None:
        while time.perf_counter() - began < seconds:
            start = time.perf_counter()
            await ask(next(bodies))
            taken.append((time.perf_counter() - start) * 1000)

    await asyncio.gather(*map(go_on, asks))
    return Load(len(asks), time.perf_counter() - began, tuple(sorted(taken)))


def step(progress: Progress, text: str) -> None:
    progress.update(progress.task_ids[0], advance=1, description=text)
