"""How well the confidence of an answer tells questions that belong here from those that do not, on real data.

    python benchmarks/recall/confidence.py --data FOLDER                           # the part that was never fitted on
    python benchmarks/recall/confidence.py --data FOLDER --part dev --vectors kept.db   # and what fits it best

FOLDER is that of run.py. All sets are told to one fresh store, every group as a user of its own. Of each set, some
questions are asked three times: of their own user, of another user of the set, and of a user of another set. Questions
that belong to their user but have no answer there, or name the wrong person, are reported by themselves.
"""

import argparse
import asyncio
import tempfile
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
from scrubjay.read.confidence import chance
from scrubjay.wiring import wire

OWN, NEIGHBOUR, STRANGER = "own", "another user", "another set"
LIMIT = 10
BOUNDS = (OFF_TOPIC, 0.2, 0.5)
"""Confidences below which an answer may be taken for being off the topic; the first is what is told to people."""


@dataclass(frozen=True)
class Closest:
    """How close the closest memory is to a question: of whom, and what kind of question."""

    name: str
    category: str
    asked_of: str
    similarity: float

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
        middle, steepness = fitted(found)
        Console().print(f"fitted: MIDDLE {middle:.3f}, STEEPNESS {steepness:.1f}")


async def measured(data: list[sets.DataSet], embedder: Kept, most: int) -> list[Closest]:
    with tempfile.TemporaryDirectory() as home:
        async with wire(Settings(home=Path(home), background=False), embedder=embedder) as jay:
            told = [one for each in data for one in each.told]
            for start in range(0, len(told), BATCH):
                await jay.remember_many(told[start : start + BATCH])
            return [await _closest(jay, *one) for each in data for one in _asked(each, data, most)]


def _asked(data: sets.DataSet, all_sets: list[sets.DataSet], most: int) -> Iterator[tuple[str, str, sets.Asked]]:
    """Some questions, evenly, and all without an answer: each with its set and with whom it is asked of."""
    groups = {each.name: list(dict.fromkeys(one["user"] for one in each.told)) for each in all_sets}
    others = cycle([name for name in groups if name != data.name])
    places = {name: cycle(known) for name, known in groups.items()}
    step = max(1, -(-len(data.asked) // most))
    for number, question in enumerate(data.asked):
        if number % step and not question.category.endswith(("abstention", "adversarial")):
            continue
        yield data.name, OWN, question
        if number % step:
            continue
        if len(groups[data.name]) > 1:
            user = next(one for one in places[data.name] if one != question.group)
            yield data.name, NEIGHBOUR, replace(question, group=user, before=None)
        yield data.name, STRANGER, replace(question, group=next(places[next(others)]), before=None)


async def _closest(jay: Scrubjay, name: str, asked_of: str, asked: sets.Asked) -> Closest:
    narrow = {"data": {"place": {"lt": asked.before}}} if asked.before is not None else {}
    limit = LIMIT + len(asked.exclude)
    hits = await jay.recall(asked.text, limit=limit, touch=False, user=asked.group, **narrow)
    # What stands for the question itself is not an answer to it.
    similarities = [hit.similarity or 0.0 for hit in hits if hit.memory.id not in asked.exclude]
    return Closest(name, asked.category, asked_of, max(similarities, default=0.0))


def report(found: list[Closest], part: str) -> None:
    """Print how often each set is taken for being off the topic, and how good the chances are."""
    console = Console(width=140)
    answerable = [one for one in found if one.is_answerable]
    lacking = [one for one in found if not one.is_answerable and one.asked_of == OWN]
    for bound in BOUNDS:
        console.print(_told(answerable, bound, part))
    title = "on the topic, without the answer: the share below each bound"
    table = Table("", "questions", *(f"{bound}" for bound in BOUNDS), "AUC", title=title, title_justify="left")
    for name in dict.fromkeys(one.name for one in lacking):
        values = similarities(lacking, name, OWN)
        figures = [*(below(values, bound) for bound in BOUNDS), area(similarities(answerable, name, OWN), values)]
        table.add_row(name, str(len(values)), *(f"{value:.3f}" for value in figures))
    console.print(table)
    table = Table("confidence", "answers", "mean", "belong", title="how good the chances are", title_justify="left")
    chances, belongs, weights = np.array([chance(one.similarity) for one in answerable]), *_weighed(answerable)
    for low in np.arange(0, 1, 0.2):
        those = (chances >= low) & (chances < low + 0.2)
        mean, share = (np.average(values[those], weights=weights[those]) for values in (chances, belongs))
        table.add_row(f"{low:.1f} to {low + 0.2:.1f}", str(those.sum()), f"{mean:.2f}", f"{share:.2f}")
    console.print(table)


def _told(answerable: list[Closest], bound: float, part: str) -> Table:
    columns = ("questions", "own", "another user", "AUC", "another set", "AUC", "precision", "recall")
    title = f"part {part}: the share with a confidence below {bound}"
    table = Table("", *columns, title=title, title_justify="left")
    for name in dict.fromkeys(one.name for one in answerable):
        own, neighbour, stranger = (similarities(answerable, name, whom) for whom in (OWN, NEIGHBOUR, STRANGER))
        wrong, right = below(own, bound), below(np.concatenate([neighbour, stranger]), bound)
        shares = [value for other in (neighbour, stranger) for value in (below(other, bound), area(own, other))]
        figures = [wrong, *shares, right / (right + wrong), right]
        table.add_row(name, str(len(own)), *(f"{value:.3f}" for value in figures))
    return table


def similarities(found: list[Closest], name: str, asked_of: str) -> np.ndarray:
    """Those of one set, asked of one side."""
    return np.array([one.similarity for one in found if (one.name, one.asked_of) == (name, asked_of)])


def below(similarities: np.ndarray, bound: float) -> float:
    """The share whose confidence is lower than this."""
    return float(np.mean([chance(one) < bound for one in similarities])) if len(similarities) else float("nan")


def area(more: np.ndarray, less: np.ndarray) -> float:
    """How often one of the first is greater than one of the second; half of the ties."""
    pairs = more[:, None] - less[None]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0))) if pairs.size else float("nan")


def fitted(found: list[Closest]) -> tuple[float, float]:
    """Middle and steepness of the likeliest logistic curve."""
    some = [one for one in found if one.is_answerable]
    belongs, weights = _weighed(some)
    values = np.array([[one.similarity, 1.0] for one in some])
    line = np.zeros(2)
    for _ in range(50):
        chances = 1 / (1 + np.exp(-values @ line))
        slope = values.T @ (weights * (belongs - chances))
        bend = values.T @ (values * (weights * chances * (1 - chances))[:, None])
        line += np.linalg.solve(bend, slope)
    return -line[1] / line[0], line[0]


def _weighed(found: list[Closest]) -> tuple[np.ndarray, np.ndarray]:
    """Which belong where they were asked, and weights: each set counts the same, what belongs as much as what not."""
    sides = [(one.name, one.asked_of == OWN) for one in found]
    return np.array([own for _, own in sides], dtype=float), np.array([1 / sides.count(side) for side in sides])


if __name__ == "__main__":
    main()
