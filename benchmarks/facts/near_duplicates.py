"""Measure when two facts are one, and when they may contradict each other.

    python benchmarks/facts/near_duplicates.py --data FOLDER

FOLDER holds pairs/stsb-train.jsonl and pairs/stsb-dev.jsonl (the STS benchmark: lines of `a`, `b`, `score`) and
recall/duplicate_issues (bug reports, and which of them are duplicates). The bounds in memories/facts/likeness.py were
chosen on the first and are judged on the others. The statements beside this file were written for it.
"""

import argparse
import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scrubjay.memories.facts.likeness import ALIKE_SIMILARITY, SAME_SIMILARITY, Verdict, likeness
from scrubjay.memories.facts.statements import contradiction
from scrubjay.models import embedder_of

HERE = Path(__file__).parent
SAME_FROM = 0.8
"""STS scores from 4 of 5 on: people find the two mostly or completely equivalent."""


@dataclass(frozen=True)
class Pair:
    one: str
    other: str
    cosine: float
    similarity: float
    score: float


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def pairs_of(path: Path, model) -> list[Pair]:
    rows = rows_of(path)
    vectors = await model.embed([row["a"] for row in rows] + [row["b"] for row in rows])
    cosines = (vectors[: len(rows)] * vectors[len(rows) :]).sum(axis=1)
    return [
        Pair(
            row["a"], row["b"], float(cosine), model.calibrate(float(cosine)), row.get("score", row.get("contradicts"))
        )
        for row, cosine in zip(rows, cosines, strict=True)
    ]


def judged(name: str, pairs: list[Pair], says: Callable[[Pair], bool]) -> None:
    """Print how many of those that the rule takes are right, how many it finds, and how bad the worst one is."""
    said = [pair for pair in pairs if says(pair)]
    right = [pair for pair in said if pair.score >= SAME_FROM]
    all_right = sum(pair.score >= SAME_FROM for pair in pairs)
    if not said:
        print(f"    {name:44} nothing")
        return
    print(
        f"    {name:44} {len(said):5} taken, precision {len(right) / len(said):.3f}, recall "
        f"{len(right) / all_right:.3f}, lowest score {min(pair.score for pair in said):.2f}"
    )


def verdict_is(*verdicts: Verdict, vectors: bool = True) -> Callable[[Pair], bool]:
    return lambda pair: likeness(pair.one, pair.other, pair.similarity if vectors else None).verdict in verdicts


async def sentences(folder: Path, model) -> None:
    for part in ("train", "dev"):
        pairs = await pairs_of(folder / "pairs" / f"stsb-{part}.jsonl", model)
        print(f"STS-B {part}, {len(pairs)} pairs, {sum(pair.score >= SAME_FROM for pair in pairs)} of them equivalent")
        for cosine in (0.8, 0.9, 0.95, 0.975):
            judged(f"cosine alone, from {cosine}", pairs, lambda pair, least=cosine: pair.cosine >= least)
        judged("same, without vectors", pairs, verdict_is("same", vectors=False))
        judged(f"same: words and similarity from {SAME_SIMILARITY}", pairs, verdict_is("same"))
        judged(f"same or alike: similarity from {ALIKE_SIMILARITY}", pairs, verdict_is("same", "alike"))


async def issues(folder: Path, model) -> None:
    """Whether bug reports about different bugs would be merged: the best of all others, for each of them."""
    corpus = rows_of(folder / "recall" / "duplicate_issues" / "corpus.jsonl")
    queries = rows_of(folder / "recall" / "duplicate_issues" / "queries.jsonl")
    titles = [row["text"].partition("\n")[0] for row in corpus]
    asked = [row["text"].partition("\n")[0] for row in queries]
    vectors = await model.embed(titles + asked)
    similarities = vectors[len(titles) :] @ vectors[: len(titles)].T
    counts: dict[str, int] = {}
    for query, title, row in zip(queries, asked, similarities, strict=True):
        for place in np.argsort(-row)[:10]:
            if corpus[place]["id"] in query.get("exclude", []):
                continue
            found = likeness(title, titles[place], model.calibrate(float(row[place]))).verdict
            kind = "duplicates" if corpus[place]["id"] in query["relevant"] else "others"
            counts[f"{found} {kind}"] = counts.get(f"{found} {kind}", 0) + 1
    print(f"titles of duplicate issues, {len(queries)} queries × the 10 nearest of {len(corpus)}: {counts}")


async def statements(model) -> None:
    for name in ("statements", "held_out"):
        pairs = await pairs_of(HERE / f"{name}.jsonl", model)
        for vectors in (True, False):
            flagged = [
                pair for pair in pairs if contradiction(pair.one, pair.other, pair.similarity if vectors else None)
            ]
            right = sum(bool(pair.score) for pair in flagged)
            every = sum(bool(pair.score) for pair in pairs)
            print(
                f"{name}, {len(pairs)} pairs, {'with' if vectors else 'without'} vectors: {len(flagged)} flagged, "
                f"precision {right / len(flagged):.2f}, recall {right / every:.2f}"
            )


async def measure(folder: Path) -> None:
    model = embedder_of("minilm", url="", key="", threads=1)
    assert model is not None
    await sentences(folder, model)
    await issues(folder, model)
    await statements(model)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure near-duplicates and contradictions.")
    parser.add_argument("--data", type=Path, required=True, help="the folder with pairs/ and recall/duplicate_issues/")
    asyncio.run(measure(parser.parse_args().data))


if __name__ == "__main__":
    main()
