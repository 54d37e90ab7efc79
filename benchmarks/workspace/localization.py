"""File localization: which files does an issue need? Asked in the order of time, against releases from before it.

The candidates are the files of the newest release before the question; the past is what earlier issues of the same
repository changed. Plain BM25 over whole files sees the same release and no past.
"""

import json
import math
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from repositories import RELEASES, trees

from scrubjay.model.words import STOP_WORDS, words_of
from scrubjay.settings import read_settings
from scrubjay.wiring import wire

TOP = 10


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Bm25:
    """Plain BM25 (k1 1.2, b 0.75) over whole files: path and text, the same words as everywhere else."""

    def __init__(self, root: Path) -> None:
        self.paths, counts = [], []
        for file in sorted(root.rglob("*.py")):
            path = file.relative_to(root).as_posix()
            self.paths.append(path)
            counts.append(Counter(words_of(f"{path}\n{file.read_text(encoding='utf-8', errors='replace')}")))
        self._lengths = [sum(count.values()) for count in counts]
        self._mean = sum(self._lengths) / len(counts)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, times in count.items():
                self._postings[word].append((place, times))

    def best(self, text: str) -> list[str]:
        scores: Counter[int] = Counter()
        for word in {word for word in words_of(text) if word not in STOP_WORDS}:
            found = self._postings.get(word, ())
            rarity = math.log(1 + (len(self.paths) - len(found) + 0.5) / (len(found) + 0.5))
            for place, times in found:
                length = 0.25 + 0.75 * self._lengths[place] / self._mean
                scores[place] += rarity * times * 2.2 / (times + 1.2 * length)
        return [self.paths[place] for place, _ in scores.most_common(TOP)]


async def measured(data: Path, repositories: Path, embedder: str) -> list[tuple]:
    """A row for each way and each repository: hit@5, R@10, MRR, and how many questions."""
    corpus, queries = (read(data / "recall/past_tasks" / name) for name in ("corpus.jsonl", "queries.jsonl"))
    results: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for group in RELEASES:
        asked = sorted((one for one in queries if one["group"] == group), key=lambda one: one["before"])
        past = sorted((one for one in corpus if one["group"] == group), key=lambda one: one["position"])
        with tempfile.TemporaryDirectory() as home:
            async with wire(read_settings(home=Path(home), embedder=embedder, background=False)) as jay:
                await _group(jay, group, asked, past, trees(repositories, group), Path(home) / "tree", results)
    ways = list(dict.fromkeys(way for way, _ in results))
    rows = []
    for group in (*RELEASES, "all"):
        for way in ways:
            found = [
                one for (known, name), many in results.items() if known == way for one in many if group in (name, "all")
            ]
            rows.append((group, way, len(found), *(sum(column) / len(found) for column in zip(*found, strict=True))))
    return rows


async def _group(jay, group, asked, past, releases, tree, results) -> None:
    """Code belongs to everybody in the project, and the past to one user: so both can be asked with and without it."""
    release, bm25 = None, None
    for query in asked:
        newest = next(path for day, path in reversed(releases) if day <= query["time"][:10])
        if newest != release:
            release = newest
            shutil.rmtree(tree, ignore_errors=True)
            shutil.copytree(newest, tree)
            await jay.workspace.ingest(tree, history=0, project=group)
            bm25 = Bm25(tree)
        told = [row for row in past if row["position"] < query["before"] and row["id"] not in query["exclude"]]
        await jay.tasks.store_many([_execution(row) for row in told], project=group, user="who remembers")
        past = [row for row in past if row["position"] >= query["before"]]
        ways = {
            "BM25 over files": bm25.best(query["text"]),
            "BM25 over files, 32 longest words": bm25.best(" ".join(_longest(query["text"]))),
            "relevant_files, code only": await _asked(jay, query["text"], project=group, user="who is new"),
            "relevant_files, with past tasks": await _asked(jay, query["text"], project=group, user="who remembers"),
        }
        for way, found in ways.items():
            results[way, group].append(score(found, set(query["files"])))


def _longest(text: str) -> list[str]:
    """What the search of Scrubjay would look for: so that no way wins by a better choice of words alone."""
    from scrubjay.model.words import terms_of

    return terms_of(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))


async def _asked(jay, text: str, **where: str) -> list[str]:
    return [one.path for one in await jay.workspace.relevant_files(text, limit=TOP, **where)]


def _execution(row: dict) -> dict:
    return {
        "task_id": row["id"],
        "task_description": row["text"],
        "execution_summary": "Solved",
        "success": True,
        "files": row.get("files", []),
    }


def score(found: Sequence[str], wanted: set[str]) -> tuple[float, float, float]:
    first = next((1 / rank for rank, one in enumerate(found, 1) if one in wanted), 0.0)
    return float(bool(wanted & set(found[:5]))), len(wanted & set(found[:TOP])) / len(wanted), first
