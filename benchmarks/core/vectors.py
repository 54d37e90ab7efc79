"""The embedded vector engine, measured: writing, loading, searching, and large tenants that are not loaded yet.

    python benchmarks/core/vectors.py 10000 100000
    python benchmarks/core/vectors.py 250000
    python benchmarks/core/vectors.py 100000 --vectors embeddings.npy

Without `--vectors` (a matrix of unit rows saved by NumPy) the vectors are made up, with topics and a common part as
embedding models have them. Every answer is compared with the exact one in double precision.
"""

import argparse
import asyncio
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors import signs
from scrubjay.backends.vectors.coded import question
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.partition import PATIENCE, Partition
from scrubjay.model import Filter, Scope, new_id
from scrubjay.ports import Entry

NOW = datetime(2026, 1, 15, tzinfo=UTC)
EVERYWHERE = Filter(scope=Scope())
NARROW = Filter(scope=Scope(user="u-5"), reach="holds")
USERS = 100
LIMIT = 10


def made_up(many: int, dimensions: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    topics = generator.standard_normal((1_000, dimensions), dtype=np.float32)
    rows = np.empty((many, dimensions), dtype=np.float32)
    for start in range(0, many, 10_000):
        some = rows[start : start + 10_000]
        some[:] = generator.standard_normal(some.shape, dtype=np.float32) + 0.2
        some += topics[generator.integers(0, len(topics), len(some))]
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    return rows


def questions_from(rows: np.ndarray, many: int) -> np.ndarray:
    """Vectors near to stored ones, as a question is near to its answer."""
    generator = np.random.default_rng(2)
    chosen = rows[generator.integers(0, len(rows), many)]
    noise = generator.standard_normal(chosen.shape, dtype=np.float32) / np.sqrt(rows.shape[1])
    near = chosen + 0.8 * noise
    return near / np.linalg.norm(near, axis=1, keepdims=True)


def exact_answers(rows: np.ndarray, ids: list, asked: np.ndarray) -> list[set]:
    """The best by the cosine of the stored half floats, in double precision."""
    places = np.empty((len(asked), 0), dtype=np.int64)
    scores = np.empty((len(asked), 0))
    for start in range(0, len(rows), 10_000):
        stored = rows[start : start + 10_000].astype(np.float16).astype(np.float64)
        stored /= np.linalg.norm(stored, axis=1, keepdims=True)
        some = asked.astype(np.float64) @ stored.T
        best = np.argpartition(some, -LIMIT, axis=1)[:, -LIMIT:]
        places = np.hstack((places, best + start))
        scores = np.hstack((scores, np.take_along_axis(some, best, axis=1)))
    best = np.argpartition(scores, -LIMIT, axis=1)[:, -LIMIT:]
    return [{ids[place] for place in row} for row in np.take_along_axis(places, best, axis=1)]


async def timed(engine: EmbeddedVectors, asked: np.ndarray, filter: Filter) -> tuple[list[float], list[set]]:
    times, answers = [], []
    for vector in asked:
        start = time.perf_counter()
        matches = await engine.search(1, vector, filter, now=NOW, limit=LIMIT)
        times.append((time.perf_counter() - start) * 1_000)
        answers.append({match.id for match in matches})
    return times, answers


def recall(answers: list[set], truth: list[set]) -> float:
    return float(np.mean([len(one & other) / LIMIT for one, other in zip(answers, truth, strict=True)]))


def spread(times: list[float]) -> str:
    return f"{np.percentile(times, 50):.2f} / {np.percentile(times, 95):.2f}"


def size_on_disk(folder: Path, many: int) -> float:
    return sum(path.stat().st_size for path in folder.glob(f"{many}.db*") if path.is_file()) / 2**20


def partition_of(engine: EmbeddedVectors) -> Partition:
    return engine._partitions[1, "default"]  # noqa: SLF001 -- a benchmark looks inside


async def measure_unloaded(
    loaded: EmbeddedVectors, database: Database, asked: np.ndarray, truth: list[set]
) -> list[tuple[str, str]]:
    await loaded.shut()  # Which waits until its signs are kept.
    times, answers = [], []
    engine = EmbeddedVectors(database)
    for vector in asked:
        some, found = await timed(engine, vector[None, :], EVERYWHERE)
        times += some
        answers += found
        partition_of(engine).patience = PATIENCE
    await engine.shut()
    return [
        ("first search of all in a new process, ms", f"{times[0]:.1f}"),
        ("search of all before it is loaded, ms p50 / p95", spread(times)),
        ("  recall@10", f"{recall(answers, truth):.4f}"),
    ]


async def measure(rows: np.ndarray, table: Table, folder: Path) -> None:
    many = len(rows)
    database = Database(f"sqlite:///{folder}/{many}.db")
    await database.write(metadata.create_all)
    writer = EmbeddedVectors(database)
    entries = [
        Entry(
            id=new_id(),
            scope=Scope(user=f"u-{place % USERS}"),
            kind="fact",
            live=True,
            since=NOW - timedelta(days=1),
            until=None,
            spans=((0, 100),),
            vectors=rows[place : place + 1],
        )
        for place in range(many)
    ]
    start = time.perf_counter()
    for place in range(0, many, 2_000):
        await writer.upsert(1, entries[place : place + 2_000])
    written = many / (time.perf_counter() - start)
    ids = [entry.id for entry in entries]
    del entries

    asked = questions_from(rows, 200)
    truth = exact_answers(rows, ids, asked)
    narrow_truth = exact_answers(rows[5::USERS], ids[5::USERS], asked)

    start = time.perf_counter()
    await EmbeddedVectors(database).search(1, asked[0], NARROW, now=NOW, limit=LIMIT)
    cold = (time.perf_counter() - start) * 1_000

    engine = EmbeddedVectors(database)
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    await engine.search(1, asked[0], EVERYWHERE, now=NOW, limit=LIMIT)
    loaded = time.perf_counter() - start
    memory = (psutil.Process().memory_info().rss - before) / 2**20

    hops = []
    for _ in range(200):
        start = time.perf_counter()
        await database.read(lambda _: None)
        hops.append((time.perf_counter() - start) * 1_000)
    wide, wide_answers = await timed(engine, asked, EVERYWHERE)
    narrow, narrow_answers = await timed(engine, asked, NARROW)
    matrix = partition_of(engine).matrix
    everything = matrix.chosen(EVERYWHERE, now=2**62)
    scored = [len(matrix.worth_a_look(question(vector), everything, LIMIT)) for vector in asked[:50]]
    figures = [
        ("written, rows/s", f"{written:,.0f}"),
        ("file, MB", f"{size_on_disk(folder, many):.0f}"),
        ("first narrow search of a new process, ms", f"{cold:.1f}"),
        ("loading the tenant, s", f"{loaded:.2f}"),
        ("memory of the tenant, MB", f"{memory:.0f}"),
        ("an empty read transaction, ms p50 / p95", spread(hops)),
        ("search of all, ms p50 / p95", spread(wide)),
        ("  rows scored twice", f"{np.mean(scored):.0f}"),
        ("  recall@10", f"{recall(wide_answers, truth):.4f}"),
        ("search of 1 %, ms p50 / p95", spread(narrow)),
        ("  recall@10", f"{recall(narrow_answers, narrow_truth):.4f}"),
    ]
    if many >= signs.MANY:
        figures += await measure_unloaded(engine, database, asked, truth)
    for name, figure in figures:
        table.add_row(f"{many:,}", name, figure)
    table.add_section()
    await engine.shut()
    await writer.shut()
    await database.shut()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000], help="rows; default 10000 100000")
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--vectors", type=Path, help="a NumPy file of unit rows to use instead of made-up ones")
    given = parser.parse_args()
    rows = np.load(given.vectors) if given.vectors else made_up(max(given.sizes), given.dimensions)
    table = Table("rows", "what", "figure", title=f"Embedded vectors, {rows.shape[1]} dimensions, best {LIMIT}")
    with tempfile.TemporaryDirectory(prefix="scrubjay-vectors-") as folder:
        for size in given.sizes:
            asyncio.run(measure(rows[:size], table, Path(folder)))
    Console().print(table)


if __name__ == "__main__":
    main()
