"""How many of the best by all words a search by words finds in a large store, and how long it takes.

    python benchmarks/backends/words.py [--memories 100000] [--questions 40] [--engines sqlite,postgresql]

A large store cannot rank every row that has a word of the question in time, so it chooses rows first. Here the same
store is also asked with that limit taken away: `ten` is the share of the ten of the usual search that are as good as
its ten best (many texts share a half here, and are equally good), `best` how often one as good as its very best is
there, and `source` how often one that has all words of the question. Texts and questions are those of
`benchmarks/core`, of a hundred users; the whole tenant is searched.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.progress import track
from rich.table import Table

from scrubjay.backends.sql import texts_postgresql, texts_sqlite
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Filter, Memory, Scope, new_id
from scrubjay.model.words import terms_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from postgres import made_database
from texts import questions, sentences

from services import Services

NOW = datetime(2026, 1, 1, tzinfo=UTC)
USERS = 100
CUT = 10
DEPTH = 100
NO_LIMIT = 10**9
ALMOST = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000, help="how many to store")
    parser.add_argument("--questions", type=int, default=40, help="how many to ask")
    parser.add_argument("--engines", default="sqlite,postgresql", help="which of them, with commas")
    given = parser.parse_args()
    texts = sentences(given.memories)
    asked = questions(texts, given.questions)
    table = Table(title=f"Search by words among {given.memories:,}, in milliseconds")
    for name in ("", "p50", "p95", "ten", "best", "source"):
        table.add_column(name, justify="right" if name else "left")
    for engine in given.engines.split(","):
        with store(engine) as url:
            for row in asyncio.run(measured(engine, url, texts, asked)):
                table.add_row(*row)
    Console().print(table)


@contextmanager
def store(engine: str) -> Iterator[str]:
    """An empty one, for the occasion."""
    if engine == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/words.db"
    else:
        with Services() as services, made_database(services.url("postgres")) as url:
            yield url


async def measured(engine: str, url: str, texts: list[str], asked: list[str]) -> list[tuple[str, ...]]:
    """A row of the table for the usual search, and one for that which ranks everything."""
    database = Database(url, statement_seconds=120)
    await migrate(database)
    memories = [
        Memory(
            id=new_id(),
            kind="note",
            content=text,
            scope=Scope(user=f"u{place % USERS}"),
            created_at=NOW,
            valid_from=NOW,
        )
        for place, text in enumerate(texts)
    ]
    records = SqlRecords(database)
    for start in track(range(0, len(memories), 1_000), f"storing, {engine}", console=Console(stderr=True)):
        await records.load(memories[start : start + 1_000])
    # As the server does by itself after a while.
    await database.rework(lambda connection: connection.exec_driver_sql("ANALYZE"))
    usual = await answers(database, asked)
    with everything_ranked():
        whole = await answers(database, asked)
    await database.shut()
    sources = [source(question, memories) for question in asked]
    return [
        row(f"{engine}, as it is", usual, whole, sources),
        row(f"{engine}, everything ranked", whole, whole, sources),
    ]


Answer = tuple[float, dict[UUID, float]]


async def answers(database: Database, asked: Sequence[str]) -> list[Answer]:
    """The time that each question takes once its words are counted, and what it finds."""
    texts, found = SqlTexts(database), []
    for question in track(asked, "asking", console=Console(stderr=True)):
        for _ in range(2):
            began = time.perf_counter()
            matches = await texts.match(terms_of(question), Filter(scope=Scope()), now=NOW, limit=DEPTH)
            took = (time.perf_counter() - began) * 1000
        found.append((took, {match.id: match.score for match in matches}))
    return found


@contextmanager
def everything_ranked() -> Iterator[None]:
    """While it lasts, no search chooses rows before it ranks them."""
    limits = [(texts_sqlite, "RANKED"), (texts_sqlite, "WALKED"), (texts_postgresql, "RANKED")]
    before = [getattr(module, name) for module, name in limits]
    for module, name in limits:
        setattr(module, name, NO_LIMIT)
    try:
        yield
    finally:
        for (module, name), value in zip(limits, before, strict=True):
            setattr(module, name, value)


def source(question: str, memories: Sequence[Memory]) -> set[UUID]:
    """The memories that have all words of the question."""
    words = set(question.split())
    return {memory.id for memory in memories if words <= set(memory.content.split())}


def row(title: str, found: list[Answer], whole: list[Answer], sources: list[set[UUID]]) -> tuple[str, ...]:
    times = [took for took, _ in found]
    ten, best, here = [], [], []
    for (_, scored), (_, true), which in zip(found, whole, sources, strict=True):
        first = list(scored)[:CUT]
        here.append(not which.isdisjoint(first))
        if true:
            scores = list(true.values())
            got = [true.get(one, 0.0) for one in first]
            ten.append(sum(score >= scores[:CUT][-1] - ALMOST for score in got) / len(scores[:CUT]))
            best.append(max(got, default=0.0) >= scores[0] - ALMOST)
    return (
        title,
        f"{statistics.median(times):.1f}",
        f"{statistics.quantiles(times, n=20)[-1]:.1f}",
        *(f"{statistics.mean(shares):.0%}" for shares in (ten, best, here)),
    )


if __name__ == "__main__":
    main()
