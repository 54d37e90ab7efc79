"""Measure the service when too many ask: many clients at once, and one tenant beside another that floods it.

python benchmarks/http/crowd.py                          both, in about two minutes
python benchmarks/http/crowd.py --parts overload --clients 256 --seconds 60
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from rich.console import Console
from rich.table import Table

from scrubjay import wiring

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import WORDS, serving

PARTS = ("overload", "neighbours")
TIMEOUT = 120


@dataclass
class Seen:
    """What clients were answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    admitted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    without_retry_after: int = 0
    acknowledged: list[str] = field(default_factory=list)
    lost: int = 0

    def note(self, status: int, head: str, seconds: float) -> None:
        self.statuses[status] += 1
        (self.refused if status == 503 else self.admitted).append(seconds)
        self.without_retry_after += status == 503 and "\r\nretry-after: " not in head


class Wire:
    """One connection that stays open. It speaks just enough HTTP, so that little of the time is the client's own."""

    @classmethod
    async def to(cls, url: str, key: str = ""):
        self, address = cls(), urlsplit(url)
        self._more = f"host: {address.netloc}\r\n" + (f"authorization: Bearer {key}\r\n" if key else "")
        self._reader, self._writer = await asyncio.open_connection(address.hostname, address.port, limit=2**24)
        return self

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, str, bytes]:
        """The status, the head in lower case, and the body."""
        content = json.dumps(body).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\n{self._more}content-type: application/json\r\n"
        self._writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        return int(answer.split(maxsplit=2)[1]), answer, await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


def p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else sum(seconds)


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=12))


async def overload(url: str, *, clients: int, seconds: float) -> Seen:
    """So many clients that write and ask in turns, each as soon as it is answered or may come back."""
    seen, until = Seen(), 0.0

    async def client(number: int, wire: Wire) -> None:
        chance = random.Random(number)
        while time.monotonic() < until:
            writes = chance.random() < 0.5
            path = "/v1/memory" if writes else "/v1/memory/recall"
            told = f"{sentence(chance)} {number} {chance.random()}"
            body = {"content": told, "user": f"u-{number}"} if writes else {"query": sentence(chance)}
            began = time.monotonic()
            status, head, answer = await wire.ask("POST", path, body)
            seen.note(status, head, time.monotonic() - began)
            if status == 503:
                await asyncio.sleep(1 + chance.random())
            elif writes and status < 300:
                seen.acknowledged.append(json.loads(answer)["memory"]["id"])

    async def probe(wire: Wire) -> None:
        while time.monotonic() < until:
            began = time.monotonic()
            await wire.ask("GET", "/healthz")
            seen.health.append(time.monotonic() - began)
            await asyncio.sleep(0.2)

    wires = [await Wire.to(url) for _ in range(clients + 1)]
    await wires[0].ask("POST", "/v1/memory", {"content": "The model is loaded now"})
    until = time.monotonic() + seconds
    await asyncio.gather(probe(wires[0]), *(client(number, wire) for number, wire in enumerate(wires[1:])))
    for one in seen.acknowledged:
        seen.lost += (await wires[0].ask("GET", f"/v1/memory/{one}"))[0] != 200
    for wire in wires:
        wire.close()
    return seen


def connected(url: str) -> httpx.AsyncClient:
    """A client with as many connections as are asked for at once. To make a client takes longer than most requests."""
    return httpx.AsyncClient(base_url=url, timeout=TIMEOUT, limits=httpx.Limits(max_connections=None))


LONG = "漢字 and 1 2 3 api_key=none " * 4_000

FLOODS = (
    ("POST", "/v1/memory", lambda mark: {"content": f"{mark} {LONG}"}),
    ("POST", "/v1/memory", lambda mark: [{"content": f"{mark} {number}"} for number in range(500)]),
    ("GET", "/v1/memory?limit=10000", lambda _: None),
    ("POST", "/v1/memory/recall", lambda mark: {"query": f"{mark} {LONG[:2000]}", "limit": 1000, "explain": True}),
    ("POST", "/v1/memory/context", lambda mark: {"query": f"deploy {mark}", "budget": 100_000, "limit": 1000}),
)
"""What one tenant may ask for that takes long."""


async def flood(url: str, key: str, *, clients: int, seconds: float, kinds: list[int]) -> None:
    """So many clients of one tenant, each with one kind of what takes long."""
    headers, until = {"authorization": f"Bearer {key}"}, time.monotonic() + seconds

    async def client(number: int) -> None:
        while time.monotonic() < until:
            method, path, body = FLOODS[kinds[number % len(kinds)]]
            answer = await http.request(method, path, json=body(f"{random.random()}"), headers=headers)
            if answer.status_code in (429, 503):
                await asyncio.sleep(float(answer.headers.get("retry-after", 1)))

    async with connected(url) as http:
        await asyncio.gather(*(client(number) for number in range(clients)))


def flooding(url: str, key: str, clients: int, seconds: float, kinds: list[int]) -> None:
    """The same, in a process of its own: what it takes the clients to ask must not slow the one that is measured."""
    with suppress(httpx.TransportError):
        asyncio.run(flood(url, key, clients=clients, seconds=seconds, kinds=kinds))


async def asking(url: str, key: str, *, seconds: float) -> list[float]:
    """How long a tenant waits for what it asks one after the other."""
    wire, chance, found = await Wire.to(url, key), random.Random(), []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        if chance.random() < 0.3:
            await wire.ask("POST", "/v1/memory", {"content": f"{sentence(chance)} {chance.random()}"})
        else:
            await wire.ask("POST", "/v1/memory/recall", {"query": sentence(chance)})
        found.append(time.monotonic() - began)
        await asyncio.sleep(0.02)
    wire.close()
    return found


def neighbours(
    url: str, loud: str, quiet: str, *, clients: int, seconds: float, rounds: int, kinds: list[int]
) -> tuple[list[float], list[float]]:
    """How long a tenant waits while another one is still, and while it floods, in turns."""
    still: list[float] = []
    meanwhile: list[float] = []
    context = multiprocessing.get_context("spawn")
    for _ in range(rounds):
        still += asyncio.run(asking(url, quiet, seconds=seconds))
        process = context.Process(target=flooding, args=(url, loud, clients, seconds + 2, kinds))
        process.start()
        time.sleep(2)
        meanwhile += asyncio.run(asking(url, quiet, seconds=seconds))
        process.join()
    return still, meanwhile


def tenant_key(home: Path, tenant: str) -> str:
    with wiring.open(home, tenant=tenant) as jay:
        jay.remember_many([{"content": f"{sentence(random.Random(n))} {n}"} for n in range(500)])
        return jay.access.create_key(tenant).text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--flood", type=int, default=16, help="clients of the tenant that floods")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--kinds", default="0,1,2,3,4", help="which requests it floods with")
    parser.add_argument("--longest-wait", default="1", help="SCRUBJAY_LONGEST_WAIT; 0: nobody is refused")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    table, said = Table("measured", "value"), {}
    if "overload" in asked.parts:
        with (
            tempfile.TemporaryDirectory() as home,
            serving({"home": home, "longest_wait": asked.longest_wait}, 1) as url,
        ):
            seen = asyncio.run(overload(url, clients=asked.clients, seconds=asked.seconds))
        said |= {
            "clients": asked.clients,
            "statuses": dict(seen.statuses),
            "p95 of those let in, s": round(p95(seen.admitted), 3),
            "p95 of those refused, s": round(p95(seen.refused), 3),
            "longest /healthz, s": round(max(seen.health), 3),
            "refused without Retry-After": seen.without_retry_after,
            "acknowledged writes": len(seen.acknowledged),
            "of these lost": seen.lost,
        }
    if "neighbours" in asked.parts:
        with tempfile.TemporaryDirectory() as home:
            loud, quiet = tenant_key(Path(home), "loud"), tenant_key(Path(home), "quiet")
            given = {"home": home, "limit_heavy": "0", "longest_wait": asked.longest_wait}
            with serving(given, 1) as url:
                kinds = [int(one) for one in asked.kinds.split(",")]
                still, meanwhile = neighbours(
                    url, loud, quiet, clients=asked.flood, seconds=asked.seconds / 4, rounds=asked.rounds, kinds=kinds
                )
        said |= {
            "p95 beside a still tenant, ms": round(1000 * p95(still), 1),
            "p95 beside one that floods, ms": round(1000 * p95(meanwhile), 1),
            "ratio": round(p95(meanwhile) / p95(still), 2),
            "requests": [len(still), len(meanwhile)],
        }
    if asked.json:
        print(json.dumps(said))
        return
    for name, value in said.items():
        table.add_row(name, str(value))
    Console().print(table)


if __name__ == "__main__":
    main()
