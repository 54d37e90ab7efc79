"""What signs leave of many vectors of the bundled model, how much of the nearest is among it, and what it takes.

    python benchmarks/core/signs.py                    # 50,000 and 100,000 rows
    python benchmarks/core/signs.py 1000000            # about 3 GB of memory

The first ten thousand rows are vectors of texts; each of the others is one of them, moved a little, so the more rows
there are the more near copies each has. Questions are a few words of a text. Times are processor time, in milliseconds.
"""

import argparse
import asyncio
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from stretched import Stretched
from texts import questions, sentences

from scrubjay.backends.vectors import signs
from scrubjay.backends.vectors.coded import Question, question
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.models import embedder_of

ASKED = 60
NEAREST = 100
"""As many as a recall asks for by meaning."""

WIDENED = 10_000


def matrix_of(halves: np.ndarray) -> Matrix:
    """The vectors alone, without whose they are: enough to be compared."""
    matrix = Matrix(halves.shape[1], room=len(halves))
    for start in range(0, len(halves), 256):
        matrix._append_halves(halves[start : start + 256])  # noqa: SLF001 -- a benchmark looks inside
    matrix.signs.keep_up(matrix.halves.all)
    return matrix


def nearest(halves: np.ndarray, asked: Question) -> np.ndarray:
    scores = [
        halves[start : start + WIDENED].astype(np.float64) @ asked.exact for start in range(0, len(halves), WIDENED)
    ]
    return np.argsort(-np.concatenate(scores), kind="stable")[:NEAREST]


def milliseconds(work: Callable[[Question], object], asked: list[Question]) -> float:
    """The median of the questions, of each the least of three tries."""
    least = []
    for one in asked:
        tries = []
        for _ in range(3):
            began = time.thread_time()
            work(one)
            tries.append(time.thread_time() - began)
        least.append(min(tries))
    return float(np.median(least)) * 1_000


def measured(halves: np.ndarray, asked: list[Question]) -> list[str]:
    matrix, every = matrix_of(halves), np.arange(len(halves))

    def likely(one: Question) -> np.ndarray:
        return signs.likely(one, matrix.signs.columns, every, signs.LIKELY * NEAREST)

    found, best, left = [], [], []
    for one in track(asked, f"{len(halves):,} rows", console=Console(stderr=True), transient=True):
        wanted, among = nearest(halves, one), likely(one)
        is_among = np.isin(wanted, among)
        found.append(is_among.mean())
        best.append(is_among[:10].mean())
        left.append(len(among))
    return [
        f"{len(halves):,}",
        f"{np.mean(left):,.0f}",
        f"{np.mean(found):.2%}",
        f"{min(found):.0%}",
        f"{np.mean(best):.2%}",
        f"{milliseconds(lambda one: matrix.worth_a_look(one, every, NEAREST), asked):.2f}",
        f"{milliseconds(lambda one: matrix.worth_a_look(one, likely(one), NEAREST), asked):.2f}",
    ]


async def made(many: int) -> tuple[np.ndarray, list[Question]]:
    texts = sentences(many)
    model = embedder_of("minilm", url="", key="", threads=0)
    stretched = Stretched(model)
    await stretched.learn(texts)
    halves = np.array([stretched.known[text] for text in texts], dtype=np.float16)
    return halves, [question(vector) for vector in await model.embed(questions(texts, ASKED), question=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[50_000, 100_000], help="rows; default 50000 100000")
    given = parser.parse_args()
    halves, asked = asyncio.run(made(max(given.sizes)))
    table = Table(
        "rows", "left", f"of the nearest {NEAREST}", "at worst", "of ten", "bytes of all, ms", "signs, then bytes, ms"
    )
    for size in given.sizes:
        table.add_row(*measured(halves[:size], asked))
    Console().print(table)


if __name__ == "__main__":
    main()
