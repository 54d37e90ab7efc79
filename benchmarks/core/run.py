"""What the core costs: start-up, recall at three sizes beside a script written by hand, ingest, memory and disk.

    python benchmarks/core/run.py                       # all of it, about ten minutes
    python benchmarks/core/run.py --sizes 1000,10000    # quicker
    python benchmarks/core/run.py --install             # also the size of a fresh install

Recall and the script answer the same questions in turns of twenty, so that a noisy machine disturbs both, and neither
finds the caches of the processor full of what the other has just read. Before, a few are asked, and the process gets
the time to read words and vectors into memory, as it does once.
"""

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
from by_hand import ByHand
from rich.console import Console
from rich.table import Table
from settled import settle
from stretched import Stretched
from texts import questions, sentences

import scrubjay
from scrubjay.model import Where
from scrubjay.models import embedder_of
from scrubjay.ports import Embedder
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.wiring import wire

USERS = 100
"""Everybody has one memory in a hundred: the narrow scope of the table."""

WARM = 8

TURN = 20
"""Questions to one side before it is the other's turn."""

HEADINGS = (
    "memories",
    "scope",
    "p50",
    "p95",
    "by hand p50",
    "p95",
    "ratio",
    "embedding",
    "stored/s",
    "disk MB",
    "memory MB",
)

console = Console(width=110)


def milliseconds(command: list[str], times: int = 9) -> float:
    """The median wall time of a command, after one run to warm the disk cache."""
    taken = []
    for _ in range(times + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[1:])


def start_up() -> dict[str, float]:
    python = [sys.executable, "-c"]
    bare = milliseconds([*python, "pass"])
    return {
        "python itself": bare,
        "import scrubjay": milliseconds([*python, "import scrubjay"]) - bare,
        "scrubjay --version": milliseconds([str(Path(sys.executable).parent / "scrubjay"), "--version"]),
    }


def install_size() -> float:
    """Megabytes of a fresh default install, without pip and setuptools, which the environment brings."""
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/pip", "install", "--quiet", "-c", str(root / "constraints.txt"), str(root)]
        subprocess.run(pip, check=True)
        packages = next(Path(folder).glob("lib/python*/site-packages"))
        ours = [
            path for path in packages.iterdir() if path.name.split("-")[0] not in ("pip", "setuptools", "pkg_resources")
        ]
        files = [file for path in ours for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
        return sum(file.stat().st_size for file in files) / 1e6


def resident() -> float:
    """Megabytes that this process holds now."""
    return psutil.Process().memory_info().rss / 1e6


def megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.glob("scrubjay.db*")) / 1e6


async def in_turns(
    asking: Sequence[str], user: int | None, *, jay: Scrubjay, hand: ByHand, model: Embedder
) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of each recall, of the same question to the script, and of its embedding there."""
    ours: list[float] = []
    theirs: list[float] = []
    embedding: list[float] = []
    narrow: Where = {} if user is None else {"user": f"u-{user}"}
    for start in range(0, len(asking), TURN):
        turn = asking[start : start + TURN]
        for question in turn:
            began = time.perf_counter()
            await jay.recall(question, **narrow, touch=False)
            ours.append((time.perf_counter() - began) * 1000)
        for question in turn:
            began = time.perf_counter()
            vector = (await model.embed([question], question=True))[0]
            embedding.append((time.perf_counter() - began) * 1000)
            hand.recall(question, vector, user=user)
            theirs.append((time.perf_counter() - began) * 1000)
    return ours, theirs, embedding


async def recall_at(size: int, model: Embedder, folder: Path, asked: int) -> dict[str, dict[str, float]]:
    texts = sentences(size)
    users = [place % USERS for place in range(size)]
    stretched = Stretched(model)
    await stretched.learn(texts)
    hand = ByHand(folder / "by-hand.db")
    hand.add(texts, users, np.array([stretched.known[text] for text in texts]))
    items = [{"content": text, "user": f"u-{user}"} for text, user in zip(texts, users, strict=True)]
    before = resident()
    service = wire(read_settings(home=folder, background=False), embedder=stretched)
    answers: dict[str, dict[str, float]] = {}
    async with service as jay:
        began = time.perf_counter()
        await jay.remember_many(items)
        stored = size / (time.perf_counter() - began)
        await settle(jay, questions(texts, WARM))
        for name, user in (("all", None), ("1 % scope", 7)):
            pool = texts if user is None else [text for text, owner in zip(texts, users, strict=True) if owner == user]
            asking = questions(pool, min(asked, len(pool)))
            await in_turns([f"{question} now" for question in asking[:5]], user, jay=jay, hand=hand, model=model)
            ours, theirs, embedding = await in_turns(asking, user, jay=jay, hand=hand, model=model)
            answers[name] = {
                "p50": statistics.median(ours),
                "p95": float(np.percentile(ours, 95)),
                "hand p50": statistics.median(theirs),
                "hand p95": float(np.percentile(theirs, 95)),
                "embedding p50": statistics.median(embedding),
                "ratio": statistics.median(ours) / statistics.median(theirs),
                "stored/s": stored,
            }
        gc.collect()
        after = resident()
    hand.close()
    answers["whole"] = {
        "disk MB": megabytes(folder),
        "memory MB": after - before,
    }
    return answers


async def ingest(model: Embedder, folder: Path, many: int) -> dict[str, float]:
    """Bulk ingest beside the model alone, on the same texts, in turns."""
    texts = sentences(many, seed=5)
    alone = whole = 0.0
    async with wire(read_settings(home=folder, background=False), embedder=model) as jay:
        await jay.remember("warm up")
        for start in range(0, many, 1_000):
            part = texts[start : start + 1_000]
            began = time.perf_counter()
            await model.embed(part)
            alone += time.perf_counter() - began
            began = time.perf_counter()
            await jay.remember_many(part)
            whole += time.perf_counter() - began
    return {"model alone/s": many / alone, "remember_many/s": many / whole, "share": alone / whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="how many memories, separated by commas")
    parser.add_argument("--questions", type=int, default=200, help="how many to ask at each size")
    parser.add_argument("--ingest", type=int, default=2_000, help="texts for the ingest measurement; 0 leaves it out")
    parser.add_argument("--install", action="store_true", help="also measure a fresh install")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    model = embedder_of("minilm", url="", key="", threads=0)
    seen: dict[str, object] = {"start-up ms": start_up()}
    if given.install:
        seen["install MB"] = install_size()
    if given.ingest:
        with tempfile.TemporaryDirectory() as folder:
            seen["ingest"] = asyncio.run(ingest(model, Path(folder), given.ingest))
    seen["recall"] = {}
    for size in (int(size) for size in given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            seen["recall"][size] = asyncio.run(recall_at(size, model, Path(folder), given.questions))
    if given.json:
        print(json.dumps({"version": scrubjay.__version__, **seen}, indent=1))
    else:
        show(seen)


def show(seen: dict) -> None:
    for name, value in seen["start-up ms"].items():
        console.print(f"{name:<20} {value:7.0f} ms")
    if "install MB" in seen:
        console.print(f"{'default install':<20} {seen['install MB']:7.0f} MB")
    if "ingest" in seen:
        found = seen["ingest"]
        console.print(
            f"{'bulk ingest':<20} {found['remember_many/s']:7.0f} texts/s, "
            f"the model alone {found['model alone/s']:.0f}: {found['share']:.0%} of its rate"
        )
    table = Table(title="Recall, in milliseconds, with the question embedded by the bundled model")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "scope" else "right")
    for size, answers in seen["recall"].items():
        for name, row in answers.items():
            if name == "whole":
                continue
            table.add_row(
                f"{size:,}",
                name,
                *(f"{row[key]:.1f}" for key in ("p50", "p95", "hand p50", "hand p95")),
                f"{row['ratio']:.2f}",
                f"{row['embedding p50']:.1f}",
                f"{row['stored/s']:,.0f}",
                f"{answers['whole']['disk MB']:.0f}",
                f"{answers['whole']['memory MB']:.0f}",
            )
    console.print(table)


if __name__ == "__main__":
    main()
