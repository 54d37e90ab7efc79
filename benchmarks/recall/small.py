"""How well recall finds what it should in small stores, where everybody begins, next to its two searches alone.

    python benchmarks/recall/small.py                                       # stores and questions written by hand
    python benchmarks/recall/small.py --embedder static                     # with another model
    python benchmarks/recall/small.py --data FOLDER --vectors kept.db       # and small stores out of the data sets

`small.txt` has stores of 1 to 20 memories, in the style of what agents remember. Each is a store of its own, asked its
own questions, and all of them together are one more. `small_held_out.txt` has others, on which no constant was chosen.
A question that ends with a dash is about something else: its answer should have a low confidence. Out of the data sets
of run.py, some questions are asked of their evidence among 10, 30 and 100 other memories of the same user.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import sets
from ask import Outcome, run
from kept import Kept
from rich.console import Console
from rich.progress import track
from rich.table import Table

from scrubjay.model.answers import OFF_TOPIC
from scrubjay.models import embedder_of

WRITTEN = {
    "by hand": Path(__file__).with_suffix(".txt"),
    "held out": Path(__file__).with_name("small_held_out.txt"),
}
SYSTEMS = ("BM25", "vectors", "recall")
SHOWN = ("hit@1", "hit@5", "MRR")
OTHERS = (10, 30, 100)
"""Memories beside the evidence."""

console = Console(width=160)


class _Lasting(Kept):
    """A model that outlives the many stores that it works for."""

    async def shut(self) -> None:
        """Stay."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument("--part", choices=sets.PARTS, default="rest", help="which of their questions; default rest")
    parser.add_argument("--questions", type=int, default=50, help="at most so many of each set; default 50")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--vectors", type=Path, help="keep the vectors of stored texts in this file")
    given = parser.parse_args()
    if (model := embedder_of(given.embedder)) is None:
        parser.error("--embedder none: BM25 alone is in the table with every model; name a model")
    stores = [store for name, path in WRITTEN.items() for store in written(name, path)]
    if given.data:
        folder = given.data / "recall" if (given.data / "recall").is_dir() else given.data
        for path in sorted(folder.glob("*/queries.jsonl")):
            stores += cut(sets.read(path.parent, part=given.part, quick=False), given.questions)
    report(asyncio.run(answered(stores, _Lasting(model, given.vectors))), given.embedder)


def written(whose: str, path: Path) -> Iterator[sets.DataSet]:
    """The stores written by hand, each asked its own questions; then all of their memories, asked all of them."""
    told: list[dict] = []
    asked: list[sets.Asked] = []
    for store in path.read_text("utf-8").split("\n= "):
        name, *lines = store.removeprefix("= ").strip().splitlines()
        memories: dict[str, dict] = {}
        questions: list[sets.Asked] = []
        for line in filter(None, lines):
            if line.startswith("? "):
                text, _, number = line.removeprefix("? ").rpartition(" ")
                answer = frozenset([memories[number]["id"]] if number != "-" else [])
                questions.append(_question(f"{name}: {text}", text, answer))
            else:
                number, _, content = line.partition(" ")
                memories[number] = {"id": sets.id_of(f"{name} {number}"), "content": content, "user": "all"}
        yield sets.DataSet(f"{whose}, each store", list(memories.values()), questions, {})
        told += memories.values()
        asked += questions
    yield sets.DataSet(f"{whose}, {len(told)} together", told, asked, {})


def _question(name: str, text: str, relevant: frozenset) -> sets.Asked:
    return sets.Asked(id=name, group="all", text=text, category="", relevant=relevant, exclude=frozenset(), before=None)


def cut(data: sets.DataSet, most: int) -> Iterator[sets.DataSet]:
    """Small stores out of a data set: for each of some questions its evidence among a few others of the same user."""
    users: dict[str, list[dict]] = {}
    for one in data.told:
        users.setdefault(one["user"], []).append(one)
    able = [one for one in data.asked if one.relevant and not one.category.endswith(("abstention", "adversarial"))]
    for asked in random.Random(data.name).sample(able, min(most, len(able))):
        draw = random.Random(asked.id)  # The same sample in every run.
        open_to = [one for one in users[asked.group] if _may_answer(one, asked)]
        evidence = [one for one in open_to if one["id"] in asked.relevant]
        others = [one for one in open_to if one["id"] not in asked.relevant]
        for many in OTHERS:
            if evidence and many <= len(others):
                chosen = {one["id"] for one in (*evidence, *draw.sample(others, many))}
                told = [one for one in open_to if one["id"] in chosen]
                known = replace(asked, relevant=frozenset(one["id"] for one in evidence))
                yield sets.DataSet(f"{data.name}, among {many}", told, [known], data.sessions)


def _may_answer(told: dict, asked: sets.Asked) -> bool:
    return told["id"] not in asked.exclude and (asked.before is None or told["data"]["place"] < asked.before)


async def answered(stores: list[sets.DataSet], embedder: Kept) -> dict[str, list[Outcome]]:
    """What every question came to, by the name of its kind of store."""
    found: dict[str, list[Outcome]] = {}
    for store in track(stores, "asking", console=console, transient=True):
        with tempfile.TemporaryDirectory() as home:
            outcomes, _ = await run(store, Path(home), embedder, told=_nothing, answered=_nothing)
            found.setdefault(store.name, []).extend(outcomes)
    return found


def _nothing() -> None:
    """There is one bar for all of the stores."""


def report(found: dict[str, list[Outcome]], embedder: str) -> None:
    columns = [f"{system}\n{measure}" for system in SYSTEMS for measure in SHOWN]
    table = Table("", "questions", *columns, title=f"small stores, {embedder}", title_justify="left")
    for name, outcomes in found.items():
        some = [one.measures for one in outcomes if one.measures]
        means = [np.mean([one[system][measure] for one in some]) for system in SYSTEMS for measure in SHOWN]
        table.add_row(name, str(len(some)), *(f"{mean:.3f}" for mean in means))
    console.print(table)
    bounds = (OFF_TOPIC, 0.5)
    shares = [f"{whose}, below {bound}" for whose in ("own", "others") for bound in bounds]
    table = Table("", "own", "others", *shares, "highest of others", title="confidence", title_justify="left")
    for name, outcomes in found.items():
        own, others = ([one.confidence for one in outcomes if bool(one.measures) is known] for known in (True, False))
        if others and None not in (*own, *others):
            below = [np.mean(np.array(chances) < bound) for chances in (own, others) for bound in bounds]
            table.add_row(name, str(len(own)), str(len(others)), *(f"{one:.3f}" for one in (*below, max(others))))
    console.print(table)


if __name__ == "__main__":
    main()
