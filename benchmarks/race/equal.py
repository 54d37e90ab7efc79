"""Whether both sides answer alike: the same ids, scores and reasons, to the same questions on the same store."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from houses import environment
from material import WHO
from systems import HERE, SYSTEMS
from turns import NEW, OLD

sys.path.insert(0, str(HERE.parent / "recall"))
import sets

WAYS: tuple[dict[str, object], ...] = ({}, {"limit": 50}, {"mode": "words"}, {"mode": "meaning"}, {"kinds": ["note"]})
"""How each question is asked."""

LAST_DIGITS = 1e-9
"""Numbers that differ by less are the same sum, added up in another order."""

ANSWER, HIT = ("confidence", "degraded"), ("score", "similarity", "why", "passage", "signals")
"""What is compared of an answer, and of each memory that both have found."""

Row = dict[str, Any]


class CannotAnswer(Exception):
    """A side could not be asked. The message names it and is the last that it said."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Both sides, to be asked the same."""

    sources: dict[str, Path]
    embedder: str
    vectors: Path
    """A file in which vectors of the data sets are kept for the next race."""

    def on_notes(self, size: int, store: Path, questions: Path, many: int) -> Row:
        """What differs on a store that the race was filled with. The store stays as it is."""
        known: dict[str, list[str]] = json.loads((questions / "questions.json").read_text("utf-8"))
        asked = [
            {"query": question, **narrow, **way}
            for width, narrow in (("all", {}), ("1 %", {"user": f"u-{WHO}"}))
            for question in known[width][:many]
            for way in WAYS
        ]
        return self.compared(f"{size:,} notes", store, asked)

    def on_set(self, data: Path, folder: Path) -> Row:
        """What differs on a little of a data set, told by the old side: talk, documents or code."""
        chosen = sets.read(data, part="all", quick=True)
        store = folder / f"set-{chosen.name}"
        store.mkdir()
        # By way of JSON, in which ids and moments are texts.
        self.ask(OLD, store, {"now": None, "tell": chosen.told, "ask": []})
        asked = [{"query": one.text, "user": one.group, **before(one), **way} for one in chosen.asked for way in WAYS]
        return self.compared(chosen.name, store, asked)

    def compared(self, name: str, store: Path, asked: list[Row]) -> Row:
        """Ask both at the same moment, each on a copy of its own, and list what they say differently."""
        orders = {"now": datetime.now(UTC).isoformat(), "tell": [], "ask": asked}
        answers = {}
        for side in (OLD, NEW):
            copy = store.with_name(f"{store.name}-asked")
            shutil.copytree(store, copy)
            answers[side] = self.ask(side, copy, orders)
            shutil.rmtree(copy)
        pairs = zip(asked, answers[OLD], answers[NEW], strict=True)
        differs = [{"asked": one, **found} for one, old, new in pairs for found in differences(old, new)]
        return {"store": name, "asked": len(asked), "differs": differs}

    def ask(self, side: str, store: Path, orders: Row) -> list[Row]:
        """What this side answers, in a process of its own."""
        given, answers = store.with_suffix(".orders.json"), store.with_suffix(".answers.json")
        given.write_text(json.dumps(orders, default=str), encoding="utf-8")
        script = Path(__file__).with_name("answer.py")
        command = [sys.executable, script, store, self.embedder, self.vectors, given, answers]
        # What is added up in the order of a set is then the same sum on both sides, to the last digit.
        where = {**environment(SYSTEMS["scrubjay"], store, self.sources[side]), "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, env=where, cwd=store, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotAnswer(f"{side} cannot answer: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
        return json.loads(answers.read_text("utf-8"))


def before(asked: sets.Asked) -> Row:
    """The filter of a question that only what came earlier may answer."""
    return {} if asked.before is None else {"data": {"place": {"lt": asked.before}}}


def differences(old: Row, new: Row) -> Iterator[Row]:
    """A row for each field that is not the same, with both values and by how much numbers differ at most."""
    ids = [[hit["id"] for hit in answer["hits"]] for answer in (old, new)]
    if ids[0] != ids[1]:
        yield {"field": "ids", "old": ids[0], "new": ids[1], "by": None}
    for name in ANSWER:
        yield from different(name, [old[name]], [new[name]])
    earlier = {hit["id"]: hit for hit in old["hits"]}
    both = [(earlier[hit["id"]], hit) for hit in new["hits"] if hit["id"] in earlier]
    for name in HIT:
        yield from different(name, [hit[name] for hit, _ in both], [hit[name] for _, hit in both])


def different(name: str, old: list[Any], new: list[Any]) -> Iterator[Row]:
    unlike = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
    if unlike:
        apart = [apart_by(one, other) for one, other in unlike]
        by = None if None in apart else max(apart)
        yield {"field": name, "old": unlike[0][0], "new": unlike[0][1], "by": by}


def apart_by(old: Any, new: Any) -> float | None:
    """By how much two numbers, or two groups of them, differ at most; None for what is no number on both sides."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        apart = [apart_by(old[key], new[key]) for key in old]
        return None if None in apart else max(apart, default=0.0)
    if isinstance(old, float | int) and isinstance(new, float | int):
        return abs(old - new)
    return None


def is_slight(difference: Row) -> bool:
    """Whether only the last digits of numbers differ."""
    return difference["by"] is not None and difference["by"] < LAST_DIGITS
