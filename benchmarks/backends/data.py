"""Conditions on `data`: how long they take when the file reads the JSON of each memory, and when columns are held.

    python benchmarks/backends/data.py [--memories 10000,100000] [--rounds 7] [--engines sqlite,postgresql] [--indexed]

Each memory has four values: one that a tenth of a percent share, one of three, a number and a day. `file` is what a
process does that has asked for a path once, `held` what it does afterwards; both answer in turns, on one store, and
their answers are compared. Milliseconds of processor time of this process, the least of the rounds; on PostgreSQL,
where another process works, by the clock. `writing` is the time for one memory, with and without data. `--indexed`
makes the indexes for ranges on PostgreSQL that `docs/howto/use-postgresql.md` names.
"""

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from scrubjay.backends.sql import columns as columns_module
from scrubjay.backends.sql.columns import Columns, columns_of
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Filter, Json, Memory, Scope, new_id

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from texts import sentences
from words import store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
USERS = 100
BATCH = 1_000
WORDS = ["function", "class", "argument"]
MOST = 50_000

CASES: dict[str, dict[str, Json]] = {
    "ticket = T-7 (0.1 %)": {"ticket": "T-7"},
    "priority = 7 (0.1 %)": {"priority": 7},
    "priority >= 990 (1 %)": {"priority": {"gte": 990}},
    "due > 2026-12-24 (1.2 %)": {"due": {"gt": "2026-12-24"}},
    "status = open and priority < 30 (1 %)": {"status": "open", "priority": {"lt": 30}},
    "ticket = T-none (none)": {"ticket": "T-none"},
    "status = open (33 %)": {"status": "open"},
    "status != open (67 %)": {"status": {"ne": "open"}},
}

_NUMBER = "CASE WHEN json_typeof(data -> 'priority') = 'number' THEN (data ->> 'priority')::numeric END"
INDEXES = (
    f"CREATE INDEX data_priority ON memories (({_NUMBER}))",
    "CREATE INDEX data_due ON memories ((left(data ->> 'due', 100) COLLATE \"C\"))",
)

Question = Callable[[Filter], Awaitable[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", default="10000,100000", help="how many to store, with commas")
    parser.add_argument("--rounds", type=int, default=7, help="how often each question is asked")
    parser.add_argument("--engines", default="sqlite,postgresql", help="which of them, with commas")
    parser.add_argument("--indexed", action="store_true", help="with indexes for ranges, on PostgreSQL")
    given = parser.parse_args()
    for engine in given.engines.split(","):
        for many in map(int, given.memories.split(",")):
            with store(engine) as url:
                asyncio.run(report(engine, url, many, given.rounds, indexes=INDEXES if given.indexed else ()))


def memories_of(many: int, *, said: bool) -> list[Memory]:
    """That many, of a hundred users, with data or without."""
    chance = random.Random(1)
    return [
        Memory(
            id=new_id(),
            kind="note",
            content=text,
            scope=Scope(user=f"u{place % USERS}"),
            created_at=NOW,
            valid_from=NOW,
            data={
                "ticket": f"T-{place % 1_000}",
                "status": chance.choice(["open", "closed", "waiting"]),
                "priority": chance.randrange(1_000),
                "due": f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
            }
            if said
            else {},
        )
        for place, text in enumerate(sentences(many, seed=int(said)))
    ]


async def written(records: SqlRecords, memories: list[Memory]) -> float:
    """Microseconds of processor time of this process for each, in the median batch."""
    took = []
    for start in track(range(0, len(memories), BATCH), "storing", console=Console(stderr=True), transient=True):
        began = time.process_time()
        await records.load(memories[start : start + BATCH])
        took.append((time.process_time() - began) / BATCH * 1e6)
    return statistics.median(took)


async def report(engine: str, url: str, many: int, rounds: int, *, indexes: Sequence[str]) -> None:
    database = Database(url, statement_seconds=120)
    await migrate(database)
    for statement in indexes if engine == "postgresql" else ():
        await database.rework(lambda connection, made=statement: connection.exec_driver_sql(made))
    records, texts = SqlRecords(database), SqlTexts(database)
    with_data = await written(records, memories_of(many, said=True))
    if engine == "postgresql":
        # As the server does by itself after a while. Nobody does so to a file.
        await database.rework(lambda connection: connection.exec_driver_sql("ANALYZE"))
    asking: dict[str, Question] = {
        "list 10": lambda asked: records.find(asked, now=NOW, limit=10),
        "count": lambda asked: records.count(asked, now=NOW),
        "ids": lambda asked: records.among(asked, now=NOW, limit=MOST),
        "words": lambda asked: texts.match(WORDS, asked, now=NOW, limit=100),
    }
    await settle(database, asking)
    held = engine == "sqlite" and many > columns_module.SMALL
    table = Table(title=f"Conditions on data among {many:,} on {engine}, in milliseconds")
    table.add_column("condition")
    for name in asking:
        for way in ("file", "held") if held else ("",):
            table.add_column(f"{name} {way}".strip(), justify="right")
    for name, data in CASES.items():
        asked = Filter(scope=Scope(), data=data)
        cells = []
        for question in asking.values():
            cells += await timed(question, asked, rounds, clock=engine != "sqlite", held=held)
        table.add_row(name, *cells)
    without = await written(records, memories_of(min(many, 10_000), said=False))
    await database.shut()
    Console(width=150).print(table)
    print(f"writing: {with_data:.0f} µs of this process with data, {without:.0f} without\n")


async def settle(database: Database, asking: dict[str, Question]) -> None:
    """Ask until all that a process holds in memory has been read."""
    columns = columns_of(database)
    for _ in range(6):
        for data in CASES.values():
            for question in asking.values():
                await question(Filter(scope=Scope(), data=data))
            while columns.is_reading:  # noqa: ASYNC110 -- a thread reads it, and tells nobody
                await asyncio.sleep(0.01)
    await asyncio.sleep(2 if database.dialect == "sqlite" else 0)


async def timed(question: Question, asked: Filter, rounds: int, *, clock: bool, held: bool) -> list[str]:
    """The least of the rounds, without columns and with them, in turns."""
    now = time.perf_counter if clock else time.process_time
    least: dict[bool, float] = {}
    answers: dict[bool, Any] = {}
    for _ in range(rounds):
        for is_held in (False, True) if held else (True,):
            with without_columns() if not is_held else nothing():
                began = now()
                answers[is_held] = await question(asked)
                least[is_held] = min(least.get(is_held, 1e9), (now() - began) * 1_000)
    if held and compared(answers[False]) != compared(answers[True]):
        print(f"not the same: {asked.data}", file=sys.stderr)
    return [f"{took:.1f}" for _, took in sorted(least.items())]


def compared(answer: Any) -> Any:
    """What has to be the same: a number, or which memories, in which order."""
    return [getattr(one, "id", one) for one in answer] if isinstance(answer, list) else answer


@contextmanager
def nothing() -> Iterator[None]:
    yield


@contextmanager
def without_columns() -> Iterator[None]:
    """While it lasts, the file is asked all of it."""
    narrowed = Columns.narrowed
    Columns.narrowed = lambda *_, **__: None
    try:
        yield
    finally:
        Columns.narrowed = narrowed


if __name__ == "__main__":
    main()
