"""How well search by words finds, on PostgreSQL beside SQLite, through the same port.

    python benchmarks/backends/postgres.py --data FOLDER [--sets locomo,code_search] [--records URL]

FOLDER holds one folder per data set, each with `corpus.jsonl` (id, group, text, speaker) and `queries.jsonl` (group,
text, relevant, exclude). Every query searches its own group. R@10 is the share of the relevant memories among the
first ten, the mean over all queries. Without a URL, a PostgreSQL is started for the occasion.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.words import terms_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from services import Services

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CUT = 10
DEPTH = 100
NAMES = uuid.UUID("6f1f3c52-0d3f-4f7c-9a51-0b6b1f8f2c11")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with one folder per data set")
    parser.add_argument("--sets", default="locomo,code_search,duplicate_issues", help="names of data sets, with commas")
    parser.add_argument(
        "--records", default="", help="a PostgreSQL server to use; a database is made there and dropped"
    )
    given = parser.parse_args()
    print(f"{'':24s}{'questions':>10s}{'memories':>10s}{'R@10':>8s}{'p50 ms':>8s}{'p95 ms':>8s}{'rows/s':>8s}")
    with Services() as services, tempfile.TemporaryDirectory() as folder:
        server = given.records or services.url("postgres")
        for name in given.sets.split(","):
            memories, queries = read(given.data / name)
            asyncio.run(report(f"{name}, SQLite", f"sqlite:///{folder}/{name}.db", memories, queries))
            with made_database(server) as url:
                asyncio.run(report(f"{name}, PostgreSQL", url, memories, queries))


def read(folder: Path) -> tuple[list[Memory], list[dict]]:
    """The memories of a data set, each group in a project of its own, and its questions."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    memories = [
        Memory(
            id=named(row["group"], row["id"]),
            kind="message" if row.get("speaker") else "note",
            content=row["text"],
            author=row.get("speaker"),
            scope=Scope(project=row["group"]),
            created_at=NOW,
            valid_from=NOW,
        )
        for row in rows
    ]
    return memories, [json.loads(line) for line in (folder / "queries.jsonl").open()]


def named(group: str, name: str) -> uuid.UUID:
    return uuid.uuid5(NAMES, f"{group}/{name}")


async def report(title: str, url: str, memories: list[Memory], queries: list[dict]) -> None:
    """Fill the store at the URL, ask it everything, and print one line."""
    database = Database(url)
    await migrate(database)
    records, texts = SqlRecords(database), SqlTexts(database)
    once = list({(memory.scope, memory.fingerprint): memory for memory in memories}.values())
    started = time.perf_counter()
    for start in range(0, len(once), 500):
        await records.load(once[start : start + 500])
    rate = len(once) / (time.perf_counter() - started)
    found, took = [], []
    for query in queries:
        group = query["group"]
        relevant = {named(group, name) for name in query["relevant"]}
        left_out = {named(group, name) for name in query.get("exclude", ())}
        began = time.perf_counter()
        matches = await texts.match(
            terms_of(query["text"]), Filter(scope=Scope(project=group)), now=NOW, limit=DEPTH + len(left_out)
        )
        took.append((time.perf_counter() - began) * 1000)
        best = [match.id for match in matches if match.id not in left_out][:CUT]
        found.append(len(relevant & set(best)) / len(relevant))
    await database.shut()
    cuts = statistics.quantiles(took, n=20)
    print(
        f"{title:24s}{len(queries):10d}{len(once):10d}{statistics.mean(found):8.3f}"
        f"{statistics.median(took):8.2f}{cuts[-1]:8.2f}{rate:8.0f}",
        flush=True,
    )


@contextmanager
def made_database(server: str) -> Iterator[str]:
    name = f"scrubjay_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


if __name__ == "__main__":
    main()
