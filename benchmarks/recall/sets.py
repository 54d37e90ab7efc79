"""The data sets: their memories as a user would tell them, their questions, and which part tunes and which reports."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from tellings import WAYS

PARTS = ("rest", "dev", "all")

QUICK_GROUPS = 2
QUICK_MEMORIES = 500
QUICK_QUESTIONS = 25

PUBLISHED = {
    "locomo": "sessions, R@10: MemPalace .603 (vectors), .889 (hybrid)",
    "longmemeval_s": "hit@5: MemPalace .966 (vectors), .984 (hybrid, held-out part), agentmemory .952 (hybrid), .862 "
    "(BM25), mcp-memory-service .860",
}
"""As their authors report them, on whole sets and without a language model."""


@dataclass(frozen=True)
class Asked:
    """One question and what answers it."""

    id: str
    group: str
    text: str
    category: str
    relevant: frozenset[UUID]
    exclude: frozenset[UUID]
    before: int | None
    """Only memories of the group with a smaller place may answer."""


@dataclass(frozen=True)
class DataSet:
    """What is told, in order, and what is asked."""

    name: str
    told: list[dict]
    asked: list[Asked]
    sessions: dict[UUID, str]
    """The session of each memory; empty when the set has none."""


def is_dev(question: str) -> bool:
    """Whether a question belongs to the part that constants may be chosen on: half of them, by the hash of its id."""
    return hashlib.blake2b(question.encode(), digest_size=1).digest()[0] % 2 == 0


def read(folder: Path, *, part: str, quick: bool, told: str = "usual") -> DataSet:
    rows = list(_lines(folder / "corpus.jsonl"))
    asked = [
        _asked(row) for row in _lines(folder / "queries.jsonl") if part == "all" or is_dev(row["id"]) == (part == "dev")
    ]
    if quick:
        rows, asked = _fewer(rows, asked)
    sessions = {id_of(row["id"]): row["session"] for row in rows if row.get("session")}
    return DataSet(folder.name, [WAYS[told](_telling(row)) for row in rows], asked, sessions)


def id_of(name: str) -> UUID:
    return UUID(bytes=hashlib.blake2b(name.encode(), digest_size=16).digest(), version=4)


def _telling(row: dict) -> dict:
    """As `remember_many` takes it. The place in a session follows from the order in which it is told."""
    telling = {
        "id": id_of(row["id"]),
        "content": row["text"],
        "kind": "message" if row.get("session") else "note",
        "user": row["group"].replace("/", "-"),
        "data": {"place": row["position"]} | ({"role": row["role"]} if row.get("role") else {}),
    }
    if row.get("time"):
        telling["valid_from"] = datetime.fromisoformat(row["time"]).astimezone(UTC)
    if row.get("session"):
        telling["session"] = row["session"].replace("/", "-")
    if row.get("speaker"):
        telling["author"] = row["speaker"]
    return telling


def _asked(row: dict) -> Asked:
    return Asked(
        id=row["id"],
        group=row["group"].replace("/", "-"),
        text=row["text"],
        category=row["category"],
        relevant=frozenset(map(id_of, row["relevant"])),
        exclude=frozenset(map(id_of, row.get("exclude", ()))),
        before=row.get("before"),
    )


def _fewer(rows: list[dict], asked: list[Asked]) -> tuple[list[dict], list[Asked]]:
    """A few groups, of each the first memories, and the questions that these answer: to see that everything works."""
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["group"].replace("/", "-"), []).append(row)
    some = {group: groups[group][:QUICK_MEMORIES] for group in list(groups)[:QUICK_GROUPS]}
    told = [row for group in some.values() for row in group]
    known = {id_of(row["id"]) for row in told}
    return told, [one for one in asked if one.group in some and one.relevant <= known][:QUICK_QUESTIONS]


def _lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
