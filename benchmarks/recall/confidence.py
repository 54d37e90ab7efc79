"""How well the confidence of an answer tells questions that belong here from those that do not, on real data.

    python benchmarks/recall/confidence.py --data FOLDER                           # the part that was never fitted on
    python benchmarks/recall/confidence.py --data FOLDER --part dev --vectors kept.db   # and what fits it best

FOLDER is that of run.py. All sets are told to one fresh store, every group as a user of its own. Of each set, some
questions are asked three times: of their own user, of another user of the set, and of a user of another set. They are
also asked of small memories: of one that answers among others of its user, and of as many of the other two. Questions
that belong to their user but have no answer there, or name the wrong person, are reported by themselves.
"""

import argparse
import asyncio
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import numpy as np
import sets
from ask import BATCH
from kept import Kept
from rich.console import Console
from rich.table import Table

from scrubjay import Scrubjay, Settings
from scrubjay.model.answers import OFF_TOPIC
from scrubjay.models import embedder_of
from scrubjay.read.confidence import MANY, chance
from scrubjay.wiring import wire

OWN, NEIGHBOUR, STRANGER = "own", "another user", "another set"
LIMIT = 10
SIZES = (1, 3, 10, 30, 100)
"""How many memories a small one has."""

BOUNDS = (OFF_TOPIC, 0.2, 0.5)
"""Confidences below which an answer may be taken for being off the topic; the first is what is told to people."""


@dataclass(frozen=True)
class Closest:
    """How close the closest memory is to a question: of whom, and what kind of question."""

    name: str
    category: str
    asked_of: str
    size: int | None
    """How many of them there were, when it was a small memory; None when it was all of a user."""
    compared: int
    similarity: float

    @property
    def chance(self) -> float:
        """What recall says."""
        return chance(self.similarity, self.compared)

    @property
    def is_answerable(self) -> bool:
        """Whether its own user knows the answer."""
        return not self.category.endswith(("abstention", "adversarial"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--part", choices=sets.PARTS, default="rest", help="which questions; default rest")
    parser.add_argument("--questions", type=int, default=150, help="at most so many of each set; default 150")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--vectors", type=Path, help="keep the vectors of stored texts in this file")
    given = parser.parse_args()
    folder = given.data / "recall" if (given.data / "recall").is_dir() else given.data
    data = [sets.read(path.parent, part=given.part, quick=False) for path in sorted(folder.glob("*/queries.jsonl"))]
    embedder = Kept(embedder_of(given.embedder), given.vectors)
    found = asyncio.run(measured(data, embedder, given.questions))
    report(found, given.part)
    if given.part == "dev":
        middle, growth, steepness = fitted(found)
        Console().print(f"fitted: MIDDLE {middle:.3f}, GROWTH {growth:.3f}, STEEPNESS {steepness:.1f}")


async def measured(data: list[sets.DataSet], embedder: Kept, most: int) -> list[Closest]:
    with tempfile.TemporaryDirectory() as home:
        async with wire(Settings(home=Path(home), background=False), embedder=embedder) as jay:
            told = [one for each in data for one in _numbered(each.told)]
            for start in range(0, len(told), BATCH):
                await jay.remember_many(told[start : start + BATCH])
            asked = [one for each in data for one in _asked(each, data, most)]
            users: dict[str, list[dict]] = {}
            for one in told:
                users.setdefault(one["user"], []).append(one)
            small = [each for one in asked for each in _small(one, users[one.asked.group])]
            return [await _closest(jay, one, users[one.asked.group]) for one in (*asked, *small)]


def _numbered(told: list[dict]) -> list[dict]:
    """The same, each with a number by which a few of them can be asked."""
    return [{**one, "data": {**one["data"], "number": number}} for number, one in enumerate(told)]


@dataclass(frozen=True)
class _Question:
    """A question and of whom it is asked; of a few of the memories there, when `among` has their numbers."""

    name: str
    asked_of: str
    asked: sets.Asked
    among: tuple[int, ...] | None = None


def _small(question: _Question, told: list[dict]) -> Iterator[_Question]:
    """The same asked of a few of the memories there: one that answers among them, where it is known to belong."""
    asked = question.asked
    known = {one["id"]: one["data"]["number"] for one in told if _may_answer(one, asked)}
    answers = sorted(known[one] for one in asked.relevant if one in known)
    if question.asked_of == OWN and not answers:
        return
    draw = random.Random(asked.id)  # The same sample in every run.
    first = draw.sample(answers, 1) if question.asked_of == OWN else []
    others = [number for number in known.values() if number not in first]
    for size in SIZES:
        if size <= len(known):
            yield replace(question, among=(*first, *draw.sample(others, size - len(first))))


def _may_answer(told: dict, asked: sets.Asked) -> bool:
    return told["id"] not in asked.exclude and (asked.before is None or told["data"]["place"] < asked.before)


def _asked(data: sets.DataSet, all_sets: list[sets.DataSet], most: int) -> Iterator[_Question]:
    """Some questions, evenly, and all without an answer: each with its set and with whom it is asked of."""
    groups = {each.name: list(dict.fromkeys(one["user"] for one in each.told)) for each in all_sets}
    others = cycle([name for name in groups if name != data.name])
    places = {name: cycle(known) for name, known in groups.items()}
    step = max(1, -(-len(data.asked) // most))
    for number, question in enumerate(data.asked):
        if number % step and not question.category.endswith(("abstention", "adversarial")):
            continue
        yield _Question(data.name, OWN, question)
        if number % step:
            continue
        if len(groups[data.name]) > 1:
            user = next(one for one in places[data.name] if one != question.group)
            yield _Question(data.name, NEIGHBOUR, replace(question, group=user, before=None))
        yield _Question(data.name, STRANGER, replace(question, group=next(places[next(others)]), before=None))


async def _closest(jay: Scrubjay, question: _Question, told: list[dict]) -> Closest:
    asked, among = question.asked, question.among
    narrow = {"data": {"place": {"lt": asked.before}}} if asked.before is not None else {}
    if among is not None:
        narrow = {"data": {"number": list(among)}}
    limit = LIMIT + len(asked.exclude)
    hits = await jay.recall(asked.text, limit=limit, touch=False, user=asked.group, **narrow)
    # What stands for the question itself is not an answer to it.
    similarities = [hit.similarity or 0.0 for hit in hits if hit.memory.id not in asked.exclude]
    size = len(among) if among is not None else None
    compared = min(size or sum(_may_answer(one, asked) for one in told), MANY)
    closest = max(similarities, default=0.0)
    return Closest(question.name, asked.category, question.asked_of, size, max(1, compared), closest)


def report(found: list[Closest], part: str) -> None:
    """Print how often each set is taken for being off the topic, and how good the chances are."""
    console = Console(width=140)
    answerable = [one for one in found if one.is_answerable and one.size is None]
    lacking = [one for one in found if not one.is_answerable and one.asked_of == OWN and one.size is None]
    for bound in BOUNDS:
        console.print(_told(answerable, bound, part))
    title = "on the topic, without the answer: the share below each bound"
    table = Table("", "questions", *(f"{bound}" for bound in BOUNDS), "AUC", title=title, title_justify="left")
    for name in dict.fromkeys(one.name for one in lacking):
        values = chances(lacking, name, OWN)
        figures = [*(below(values, bound) for bound in BOUNDS), area(chances(answerable, name, OWN), values)]
        table.add_row(name, str(len(values)), *(f"{value:.3f}" for value in figures))
    console.print(table)
    console.print(_calibration(answerable))
    small = [one for one in found if one.is_answerable and one.size is not None]
    console.print(_by_size([*small, *answerable]))
    console.print(_calibration(small))


def _calibration(found: list[Closest]) -> Table:
    title = f"how good the chances are, {'all of a user' if found[0].size is None else 'small memories'}"
    table = Table("confidence", "answers", "mean", "belong", title=title, title_justify="left")
    said, belongs, weights = np.array([one.chance for one in found]), *_weighed(found)
    for low in np.arange(0, 1, 0.2):
        those = (said >= low) & (said < low + 0.2)
        mean, share = (np.average(values[those], weights=weights[those]) for values in (said, belongs))
        table.add_row(f"{low:.1f} to {low + 0.2:.1f}", str(those.sum()), f"{mean:.2f}", f"{share:.2f}")
    return table


def _by_size(found: list[Closest]) -> Table:
    bounds = [f"{bound}: {side}" for bound in BOUNDS for side in ("own", "others")]
    table = Table("memories", "answers", "AUC", *bounds, title="by size: the share below", title_justify="left")
    for size in (*SIZES, None):
        own = np.array([one.chance for one in found if one.size == size and one.asked_of == OWN])
        others = np.array([one.chance for one in found if one.size == size and one.asked_of != OWN])
        figures = [area(own, others), *(below(those, bound) for bound in BOUNDS for those in (own, others))]
        table.add_row(str(size or "all"), str(len(own) + len(others)), *(f"{value:.3f}" for value in figures))
    return table


def _told(answerable: list[Closest], bound: float, part: str) -> Table:
    columns = ("questions", "own", "another user", "AUC", "another set", "AUC", "precision", "recall")
    title = f"part {part}: the share with a confidence below {bound}"
    table = Table("", *columns, title=title, title_justify="left")
    for name in dict.fromkeys(one.name for one in answerable):
        own, neighbour, stranger = (chances(answerable, name, whom) for whom in (OWN, NEIGHBOUR, STRANGER))
        wrong, right = below(own, bound), below(np.concatenate([neighbour, stranger]), bound)
        shares = [value for other in (neighbour, stranger) for value in (below(other, bound), area(own, other))]
        figures = [wrong, *shares, right / (right + wrong), right]
        table.add_row(name, str(len(own)), *(f"{value:.3f}" for value in figures))
    return table


def chances(found: list[Closest], name: str, asked_of: str) -> np.ndarray:
    """Those of one set, asked of one side."""
    return np.array([one.chance for one in found if (one.name, one.asked_of) == (name, asked_of)])


def below(chances: np.ndarray, bound: float) -> float:
    """The share that is lower than this."""
    return float(np.mean(chances < bound)) if len(chances) else float("nan")


def area(more: np.ndarray, less: np.ndarray) -> float:
    """How often one of the first is greater than one of the second; half of the ties."""
    pairs = more[:, None] - less[None]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0))) if pairs.size else float("nan")


def fitted(found: list[Closest]) -> tuple[float, float, float]:
    """Middle, growth and steepness of the likeliest logistic curve."""
    some = [one for one in found if one.is_answerable]
    belongs, weights = _weighed(some)
    values = np.array([[one.similarity, math.log10(one.compared), 1.0] for one in some])
    line = np.zeros(3)
    for _ in range(50):
        said = 1 / (1 + np.exp(-values @ line))
        slope = values.T @ (weights * (belongs - said))
        bend = values.T @ (values * (weights * said * (1 - said))[:, None])
        line += np.linalg.solve(bend, slope)
    steepness, growth, middle = line
    return -middle / steepness, -growth / steepness, steepness


def _weighed(found: list[Closest]) -> tuple[np.ndarray, np.ndarray]:
    """Which belong where they were asked, and weights: every set, size and side counts the same."""
    sides = [(one.name, one.size, one.asked_of == OWN) for one in found]
    many = Counter(sides)
    return np.array([own for *_, own in sides], dtype=float), np.array([1 / many[side] for side in sides])


if __name__ == "__main__":
    main()
