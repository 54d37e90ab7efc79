"""Working memory on each of its stores: how long a call takes and messages per second, in turns in one run.

    python benchmarks/working/run.py                       # every store: about two minutes
    python benchmarks/working/run.py --rounds 1000 --stores PostgreSQL,SQLite

Every store has a session of its own with 50 messages of 200 characters. One round makes one call of a kind at each
store before the next kind, and the order of the stores turns with every round, so that a noisy machine disturbs all
alike. `again` is a second `recent` right after the first, and finds the copy where there is one. Then several writers
append to sessions of their own, and several readers read, for a second each, in five turns. PostgreSQL syncs every
commit to disk, as in production, and Redis keeps what it acknowledged (`appendonly yes`).
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cached import CachedWorking

from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.model import Scope, new_id
from scrubjay.model.working import Limits, Message, Scratch
from scrubjay.ports import Working

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backends"))
from profiles import DurablePostgres

from services import Redis

DAY = timedelta(days=1)
HELD = 50
WARM = 20
LIMITS = Limits(messages=100_000, session_bytes=1_000_000_000)
KINDS = ("append", "recent(20)", "again", "set", "get")


class DurableRedis(Redis):
    """A Redis that keeps what it acknowledged."""

    def command(self) -> list[str]:
        return [word if word != "no" else "yes" for word in super().command()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400, help="calls of each kind at each store")
    parser.add_argument("--at-once", type=int, default=16, help="writers, or readers, at the same time")
    parser.add_argument("--stores", default="", help="which ones, with commas; without: all")
    given = parser.parse_args()
    with ExitStack() as running, tempfile.TemporaryDirectory() as folder:
        postgres, redis = DurablePostgres(), DurableRedis()
        for server in (postgres, redis):
            running.callback(server.stop)
            server.start()
        asyncio.run(measure(given, postgres.url, redis.url, Path(folder)))


async def measure(given: argparse.Namespace, postgres: str, redis: str, folder: Path) -> None:
    async with AsyncExitStack() as stack:
        every = await opened(stack, postgres, redis, folder)
        stores = {name: store for name, store in every.items() if not given.stores or name in given.stores.split(",")}
        scopes = {name: Scope(user="anna", session=f"{name} {uuid.uuid4()}") for name in stores}
        for name, store in stores.items():
            await store.append(scopes[name], [a_message() for _ in range(HELD)], ttl=DAY, now=now())
            await store.set(scopes[name], a_value(), ttl=DAY, now=now())
        taken: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in stores for kind in KINDS}
        names = list(stores)
        for place in range(given.rounds + WARM):
            for kind in KINDS:
                for name in names[place % len(names) :] + names[: place % len(names)]:
                    took = await timed(call_of(kind, stores[name], scopes[name]))
                    if place >= WARM:
                        taken[name, kind].append(took)
        writing: dict[str, list[float]] = {name: [] for name in names}
        reading: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(5):
            for name in names:
                writing[name].append(await rate("append", stores[name], given.at_once))
                reading[name].append(await rate("recent(20)", stores[name], given.at_once, scopes[name]))
        print(f"| median / p95, ms | {' | '.join(KINDS)} | appends/s by {given.at_once} | recents/s |")
        print(f"|---{'|---' * (len(KINDS) + 2)}|")
        for name in names:
            cells = [shown(taken[name, kind]) for kind in KINDS]
            rates = [f"{statistics.median(one[name]):,.0f}" for one in (writing, reading)]
            print(f"| {name} | {' | '.join([*cells, *rates])} |", flush=True)


async def opened(stack: AsyncExitStack, postgres: str, redis: str, folder: Path) -> dict[str, Working]:
    databases = [Database(postgres), Database(f"sqlite:///{folder}/scrubjay.db")]
    for database in databases:
        await migrate(database)
        stack.push_async_callback(database.shut)
    server, file = databases
    connection = RedisConnection(redis)
    stack.push_async_callback(connection.shut)
    return {
        "SQLite": SqlWorking(file, LIMITS),
        "PostgreSQL": SqlWorking(server, LIMITS),
        "PostgreSQL with copies in Redis": CachedWorking(server, LIMITS).in_front_of(connection),
        "Redis (durability=redis)": RedisWorking(connection, LIMITS),
    }


def call_of(kind: str, store: Working, scope: Scope) -> Callable[[], Awaitable[object]]:
    match kind:
        case "append":
            return lambda: store.append(scope, [a_message()], ttl=DAY, now=now())
        case "set":
            return lambda: store.set(scope, a_value(), ttl=DAY, now=now())
        case "get":
            return lambda: store.get(scope, "plan", now=now())
    return lambda: store.recent(scope, limit=20, now=now(), over=True)


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return 1000 * (time.perf_counter() - began)


async def rate(kind: str, store: Working, at_once: int, scope: Scope | None = None) -> float:
    """Calls per second, made by so many at the same time: each in a session of its own, or all in this one."""
    began, done = time.perf_counter(), 0

    async def call() -> None:
        nonlocal done
        place = scope or Scope(user="anna", session=str(uuid.uuid4()))
        while time.perf_counter() < began + 1:
            await call_of(kind, store, place)()
            done += 1

    await asyncio.gather(*(call() for _ in range(at_once)))
    return done / (time.perf_counter() - began)


def shown(taken: list[float]) -> str:
    return f"{statistics.median(taken):.1f} / {statistics.quantiles(taken, n=20)[-1]:.1f}"


def a_message() -> Message:
    return Message(id=new_id(), role="user", content="Deploys go out on Tuesdays. " * 7 + "Not!", at=now())


def a_value() -> Scratch:
    return Scratch(name="plan", value={"step": 1, "of": "the release"}, version=str(new_id()), at=now())


def now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()
