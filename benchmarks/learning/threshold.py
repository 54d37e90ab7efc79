"""Where to cut a search for similar tasks: what each least similarity keeps, and what it lets through.

    python benchmarks/learning/threshold.py --data FOLDER [--embedders minilm,static]

FOLDER holds recall/past_tasks and recall/duplicate_issues, each with `corpus.jsonl` (id, group, text, position) and
`queries.jsonl` (id, group, text, relevant, exclude, before). A question searches its own group, and the five nearest
count, as in `search_similar`. For each threshold, on the calibrated scale of the model:

    kept     of the right ones among the five, the share that passes
    right    of all that passes among the five, the share that is right
    F1       of the two
    given    results that pass, per question
    alike    with the right ones taken out of the store, the share of questions that still get an answer: neighbours of
             the same project, which look alike and are not what is meant
    foreign  the share of questions that get an answer from a store of other projects, where nothing is like them
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scrubjay.models import embedder_of
from scrubjay.ports import Calibrated, Embedder
from scrubjay.read.understand import opening
from scrubjay.write.split import split

SETS = ("duplicate_issues", "past_tasks")
TOP = 5
THRESHOLDS = [step / 20 for step in range(17)]


@dataclass(frozen=True)
class Asked:
    """One question: the likeness of every candidate, best first, and which of them are right."""

    likeness: np.ndarray
    right: np.ndarray
    foreign: float
    """The best likeness among the other groups."""


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def asked_of(data: Path, embedder: Embedder) -> dict[str, list[Asked]]:
    """Every question with its candidates, compared as the store does it: by the nearest part of each text."""
    corpus = [row for name in SETS for row in read(data / name / "corpus.jsonl")]
    queries = [{**row, "set": name} for name in SETS for row in read(data / name / "queries.jsonl")]
    parts: list[str] = []
    owners: list[int] = []
    for number, row in enumerate(corpus):
        for start, stop in split(row["text"], window=embedder.window, count=embedder.count):
            parts.append(row["text"][start:stop])
            owners.append(number)
    vectors = await embedder.embed(parts)
    openings = [opening(query["text"].strip(), window=embedder.window, count=embedder.count) for query in queries]
    questions = await embedder.embed(openings, question=True)
    nearest = np.full((len(queries), len(corpus)), -1.0)
    np.maximum.at(nearest.T, owners, vectors @ questions.T)
    asked: dict[str, list[Asked]] = {name: [] for name in SETS}
    for query, cosines in zip(queries, nearest, strict=True):
        asked[query["set"]].append(_asked(query, corpus, cosines, embedder))
    return asked


def _asked(query: dict, corpus: Sequence[dict], cosines: np.ndarray, embedder: Embedder) -> Asked:
    assert isinstance(embedder, Calibrated)
    hidden, before = set(query.get("exclude", ())), query.get("before")
    candidates = [
        number
        for number, row in enumerate(corpus)
        if row["group"] == query["group"] and row["id"] not in hidden and (before is None or row["position"] < before)
    ]
    candidates.sort(key=lambda number: -cosines[number])
    wanted = set(query["relevant"])
    others = [cosines[number] for number, row in enumerate(corpus) if row["group"] != query["group"]]
    return Asked(
        likeness=np.array([embedder.calibrate(float(cosines[number])) for number in candidates]),
        right=np.array([corpus[number]["id"] in wanted for number in candidates], dtype=bool),
        foreign=embedder.calibrate(float(max(others))),
    )


def measured(asked: Sequence[Asked], threshold: float) -> tuple[float, ...]:
    """Kept, right, F1, given, alike and foreign, as the head of this file says."""
    found = kept = passed = alike = 0
    for one in asked:
        right, likeness = one.right[:TOP], one.likeness[:TOP]
        found += int(right.sum())
        kept += int((right & (likeness >= threshold)).sum())
        passed += int((likeness >= threshold).sum())
        wrong = one.likeness[~one.right]
        alike += bool(wrong.size and wrong[0] >= threshold)
    share, precision = kept / found, kept / passed if passed else 1.0
    balance = 2 * share * precision / (share + precision or 1)
    foreign = sum(one.foreign >= threshold for one in asked)
    return share, precision, balance, passed / len(asked), alike / len(asked), foreign / len(asked)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with recall/")
    parser.add_argument("--embedders", default="minilm,static", help="as in SCRUBJAY_EMBEDDER, with commas")
    given = parser.parse_args()
    for spec in given.embedders.split(","):
        embedder = embedder_of(spec, url="", key="", threads=0)
        assert embedder is not None
        for name, asked in (await asked_of(given.data / "recall", embedder)).items():
            print(f"\n{spec}, {name}: {len(asked)} questions")
            print("threshold    kept   right      F1   given   alike foreign")
            for threshold in THRESHOLDS:
                print(f"{threshold:9.2f}" + "".join(f"{value:8.2f}" for value in measured(asked, threshold)))


if __name__ == "__main__":
    asyncio.run(main())
