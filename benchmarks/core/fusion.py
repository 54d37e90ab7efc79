"""How well the pure steps of the read path rank, next to each retriever alone and plain reciprocal rank fusion.

    python benchmarks/core/fusion.py --data FOLDER [--embedder minilm] [--cache FOLDER] [--sets locomo,beam]

FOLDER holds one folder per data set, each with `corpus.jsonl` (id, group, text, time, session, speaker, role, position)
and `queries.jsonl` (id, group, text, relevant, exclude, before). Every query searches its own group. The rankings come
from SQLite's FTS5 and from exact cosines, a hundred each, as the embedded store gives them; what is measured is
`fuse`, `rerank` and `diversify` of the package itself.
"""

import argparse
import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import log2
from pathlib import Path
from uuid import UUID

import numpy as np

from scrubjay.model import Filter, Memory, Query, Scope
from scrubjay.model.words import words_of
from scrubjay.models import embedder_of
from scrubjay.ports import Embedder, Match
from scrubjay.read.diversify import diversify
from scrubjay.read.fuse import DEPTH, fuse
from scrubjay.read.rerank import rerank
from scrubjay.read.understand import Question, opening, understand
from scrubjay.write.split import split

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEASURES = ("R@1", "R@5", "R@10", "R@20", "MRR", "nDCG")
CUTS = (1, 5, 10, 20)

Rankings = dict[str, list[Match]]


@dataclass(frozen=True)
class Case:
    """One question, what the retrievers found, and what they should have."""

    question: Question
    rankings: Rankings
    relevant: frozenset[UUID]


@dataclass(frozen=True)
class Corpus:
    """One data set: its memories, and the texts they are found by."""

    memories: list[Memory]
    texts: list[str]
    groups: dict[str, list[int]]
    queries: list[dict]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with one folder per data set")
    parser.add_argument("--sets", default="", help="names of data sets, with commas; all when left out")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--cache", type=Path, help="keep vectors here, to embed each text only once")
    given = parser.parse_args()
    names = (
        given.sets.split(",") if given.sets else sorted(path.parent.name for path in given.data.glob("*/queries.jsonl"))
    )
    embedder = embedder_of(given.embedder, url="", key="", threads=0)
    print(f"{'':34s}" + "".join(f"{measure:>8s}" for measure in MEASURES) + "      ms")
    for name in names:
        memories, cases = load(given.data / name, embedder, given.cache)
        print(f"{name}: {len(cases)} questions, {len(memories)} memories")
        alone_standing = {key: replace(memory, position=None) for key, memory in memories.items()}
        nameless = {key: replace(memory, data={}) for key, memory in memories.items()}
        for title, system, known in (
            ("words alone (BM25)", alone("words"), memories),
            ("meaning alone (cosine)", alone("meaning"), memories),
            ("reciprocal rank fusion, k = 60", reciprocal, memories),
            ("fuse", fused, memories),
            ("fuse, rerank without neighbours", reranked, alone_standing),
            ("fuse, rerank without roles", reranked, nameless),
            ("fuse, rerank", reranked, memories),
            ("fuse, rerank, diversify", whole, memories),
        ):
            started = time.perf_counter()
            answers = [system(case, known) for case in cases]
            milliseconds = (time.perf_counter() - started) * 1000 / len(cases)
            scores = np.mean(
                [measure(answer, case.relevant) for answer, case in zip(answers, cases, strict=True)], axis=0
            )
            print(f"  {title:32s}" + "".join(f"{score:8.3f}" for score in scores) + f"{milliseconds:8.2f}")


# Systems: each turns a case into ids, best first.


def alone(name: str) -> Callable[[Case, dict[UUID, Memory]], list[UUID]]:
    return lambda case, _: [match.id for match in case.rankings[name]]


def reciprocal(case: Case, _: dict[UUID, Memory]) -> list[UUID]:
    scores: dict[UUID, float] = {}
    for matches in case.rankings.values():
        for rank, match in enumerate(matches, 1):
            scores[match.id] = scores.get(match.id, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)


def fused(case: Case, _: dict[UUID, Memory]) -> list[UUID]:
    return [candidate.id for candidate in fuse(case.rankings, terms=len(case.question.terms))]


def reranked(case: Case, memories: dict[UUID, Memory]) -> list[UUID]:
    found = [(candidate, memories[candidate.id]) for candidate in fuse(case.rankings, terms=len(case.question.terms))]
    return [one.memory.id for one in rerank(found, question=case.question, now=NOW)]


def whole(case: Case, memories: dict[UUID, Memory]) -> list[UUID]:
    found = [(candidate, memories[candidate.id]) for candidate in fuse(case.rankings, terms=len(case.question.terms))]
    return [one.memory.id for one in diversify(rerank(found, question=case.question, now=NOW), max(CUTS))]


def measure(answer: Sequence[UUID], relevant: frozenset[UUID]) -> list[float]:
    gains = [one in relevant for one in answer[: max(CUTS)]]
    recalls = [sum(gains[:cut]) / len(relevant) for cut in CUTS]
    reciprocal_rank = next((1 / rank for rank, gain in enumerate(gains[:10], 1) if gain), 0.0)
    gained = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:10], 1))
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(10, len(relevant)) + 1))
    return [*recalls, reciprocal_rank, gained / ideal]


# Data: from files to cases.


def load(folder: Path, embedder: Embedder, cache: Path | None) -> tuple[dict[UUID, Memory], list[Case]]:
    corpus = read_corpus(folder)
    questions = [
        understand(Query(text=row["text"], filter=Filter(scope=Scope(user=row["group"])))) for row in corpus.queries
    ]
    index = word_index(corpus)
    similarities = cosines(corpus, questions, embedder, cache)
    cases = []
    for place, (row, question) in enumerate(zip(corpus.queries, questions, strict=True)):
        excluded = {id_of(one) for one in row.get("exclude", ())}
        open_to = {
            index
            for index in corpus.groups[row["group"]]
            if corpus.memories[index].id not in excluded
            and (corpus.memories[index].position or 0) < row.get("before", float("inf"))
        }
        rankings = {
            "meaning": by_meaning(corpus, similarities[place], sorted(open_to)),
            "words": by_words(corpus, index, question, open_to),
        }
        if row["relevant"]:
            cases.append(Case(question, rankings, frozenset(id_of(one) for one in row["relevant"])))
    return {memory.id: memory for memory in corpus.memories}, cases


def read_corpus(folder: Path) -> Corpus:
    memories, texts, groups = [], [], {}
    for place, row in enumerate(rows_of(folder / "corpus.jsonl")):
        moment = datetime.fromisoformat(row["time"]).astimezone(UTC) if row.get("time") else NOW
        memories.append(
            Memory(
                id=id_of(row["id"]),
                kind="message" if row.get("session") else "note",
                content=row["text"],
                data={"role": row["role"]} if row.get("role") else {},
                author=row.get("speaker"),
                scope=Scope(user=row["group"], session=row.get("session")),
                position=row["position"],
                created_at=moment,
                valid_from=moment,
            )
        )
        texts.append(f"{row['speaker']}: {row['text']}" if row.get("speaker") else row["text"])
        groups.setdefault(row["group"], []).append(place)
    return Corpus(memories, texts, groups, list(rows_of(folder / "queries.jsonl")))


def rows_of(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def id_of(name: str) -> UUID:
    return UUID(bytes=hashlib.blake2b(name.encode(), digest_size=16).digest())


def word_index(corpus: Corpus) -> sqlite3.Connection:
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE texts USING fts5(words, tokenize = 'porter unicode61')")
    rows = ((place, " ".join(words_of(text))) for place, text in enumerate(corpus.texts))
    index.executemany("INSERT INTO texts(rowid, words) VALUES (?, ?)", rows)
    return index


def by_words(corpus: Corpus, index: sqlite3.Connection, question: Question, open_to: set[int]) -> list[Match]:
    looked_for = " OR ".join(f'"{term}"' for term in question.terms)
    rows = index.execute("SELECT rowid, -bm25(texts) FROM texts WHERE words MATCH ? ORDER BY 2 DESC", (looked_for,))
    return [Match(id=corpus.memories[place].id, score=score) for place, score in rows if place in open_to][:DEPTH]


def by_meaning(corpus: Corpus, similarities: np.ndarray, open_to: list[int]) -> list[Match]:
    nearest = sorted(open_to, key=lambda place: -similarities[place])[:DEPTH]
    return [Match(id=corpus.memories[place].id, score=float(similarities[place])) for place in nearest]


def cosines(corpus: Corpus, questions: Sequence[Question], embedder: Embedder, cache: Path | None) -> np.ndarray:
    """A row per question, a column per memory: the cosine of its best part."""
    parts = [
        (place, text[start:stop])
        for place, text in enumerate(corpus.texts)
        for start, stop in split(text, window=embedder.window, count=embedder.count)
    ]
    vectors = embed([part for _, part in parts], embedder, cache)
    heads = [opening(question.text, window=embedder.window, count=embedder.count) for question in questions]
    asked = embed(heads, embedder, cache, question=True)
    best = np.full((len(corpus.texts), len(questions)), -1.0, np.float32)
    np.maximum.at(best, [place for place, _ in parts], vectors @ asked.T)
    return best.T


def embed(texts: list[str], embedder: Embedder, cache: Path | None, *, question: bool = False) -> np.ndarray:
    name = hashlib.blake2b("\0".join([str(embedder.identity), *texts]).encode(), digest_size=12).hexdigest()
    if cache is not None and (cache / f"{name}.npy").exists():
        return np.load(cache / f"{name}.npy")
    vectors = asyncio.run(embedder.embed(texts, question=question))
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        np.save(cache / f"{name}.npy", vectors)
    return vectors


if __name__ == "__main__":
    main()
