"""Both sides and the script at one size: filled alike, then in turns, a short one for each and round again."""

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from houses import Ended, House, TookTooLong
from systems import FLOOR, SYSTEMS

OLD, NEW = "old", "new"
SIDES = (FLOOR, OLD, NEW)
PATIENCE = 600.0
"""Seconds after which a side that does not answer is given up."""

CALLERS = (8, 32, 128)
CROWD = 8
"""Times as many memories as one caller stores in a turn are stored by callers at once."""

BULK = 1_000
WARM = 8
"""Questions after which a process reads words and vectors into memory."""


class GaveUp(Exception):
    """A side ended or did not answer. The message says which, at what, and why."""


class Turn(NamedTuple):
    """What every side is told to do in a round: an order of `inhabit`, and its details."""

    order: str
    details: dict[str, object]


class Times(NamedTuple):
    """Milliseconds of each question or write of one turn, by the clock and of the processor."""

    clock: list[float]
    cpu: list[float]


Contest = Callable[[int], Turn]
"""What is done in the round of this number."""


def contests(part: str, many: int) -> Iterator[tuple[str, Contest]]:
    """What a part measures, by name. `many` is how many questions or single writes make a turn."""
    match part:
        case "recall":
            yield "recall", lambda _: asking("all", 0, many)
        case "narrow":
            yield "recall, 1 %", lambda _: asking("1 %", 0, many)
        case "model":
            # New questions each time: the vector of one that was asked before is remembered.
            yield "model", lambda number: asking("all", number, many)
            yield "model, 1 %", lambda number: asking("1 %", number, many)
        case "single":
            yield "one caller", lambda number: writing("single", number, many, writer="s")
        case "callers":
            for callers in CALLERS:
                yield f"{callers} callers", crowded(callers, CROWD * many)
        case "bulk":
            yield "bulk", lambda number: Turn("bulk", {"many": BULK, "writer": f"b{number}x"})


def asking(width: str, number: int, many: int) -> Turn:
    return Turn("ask", {"width": width, "places": list(range(number * many, (number + 1) * many))})


def writing(order: str, number: int, many: int, **details: object) -> Turn:
    """New memories each time, the same for every side."""
    return Turn(order, {"start": number * many, "many": many, **details})


def crowded(callers: int, many: int) -> Contest:
    return lambda number: writing("crowd", number, many, callers=callers, writer=f"c{callers}x")


def times_of(answer: dict[str, Any]) -> Times:
    """Of each one where it was timed by itself, and else of the whole turn, for one."""
    if "taken" in answer:
        return Times([1000 * one for one in answer["taken"]], [1000 * one for one in answer["worked"]])
    stored = answer["stored"]
    return Times([1000 * answer["seconds"] / stored], [1000 * answer["cpu"] / stored])


@dataclass(kw_only=True)
class Course:
    """The three at one size, each with a process and a store of its own."""

    size: int
    sources: dict[str, Path]
    """Where the Scrubjay of each side is imported from."""
    material: Path
    folder: Path
    embedder: str
    rounds: int
    many: int
    told: Callable[[str, str], None]
    """Called with what is done and with whom it is."""
    houses: dict[str, House] = field(default_factory=dict)

    def store(self, side: str) -> Path:
        return self.folder / f"{side}-{self.size}"

    def house(self, side: str, *, looks_up: bool) -> House:
        return House(
            SYSTEMS[FLOOR if side == FLOOR else "scrubjay"],
            Path(sys.executable),
            material=self.material,
            questions=self.folder,
            store=self.store(side),
            embedder=self.embedder,
            looks_up=looks_up,
            source=self.sources[side],
        )

    def fill(self) -> None:
        """Store the same in each, in bulk."""
        for side in SIDES:
            self.told("filling", side)
            with self.house(side, looks_up=True) as self.houses[side]:
                self.order("filling", side, Turn("fill", {"size": self.size}))
                self.houses.pop(side).shut(PATIENCE)

    def open(self, *, looks_up: bool) -> None:
        """Start the processes; each is asked a few questions and left alone until it does nothing any more."""
        for side in SIDES:
            self.told("starting", side)
            self.houses[side] = self.house(side, looks_up=looks_up)
            self.order("starting", side, asking("all", 0, min(WARM, self.many)))
            self.houses[side].settled(PATIENCE)

    def run(self, what: str, contest: Contest) -> Iterator[dict[str, Any]]:
        """A row for each side. The first round warms up and is not counted; nobody is always first."""
        rounds: dict[str, list[Times]] = {side: [] for side in SIDES}
        for number in range(self.rounds + 1):
            turn, first = contest(number), number % len(SIDES)
            for side in SIDES[first:] + SIDES[:first]:
                self.told(what, side)
                answer = self.order(what, side, turn)
                if number:
                    rounds[side].append(times_of(answer))
        load = os.getloadavg()[0]
        for side in SIDES:
            yield {"size": self.size, "what": what, "side": side, "load": load, **figures(rounds[side])}

    def order(self, what: str, side: str, turn: Turn) -> dict[str, Any]:
        """Have a side do this. Raises GaveUp, which names the side, what it was at, and the last that it said."""
        try:
            return self.houses[side].order(turn.order, seconds=PATIENCE, budget=PATIENCE, **turn.details)
        except (Ended, TookTooLong) as error:
            raise GaveUp(f"{side} gave up at {self.size:,} memories, {what}: {error}") from error

    def shut(self) -> None:
        for house in self.houses.values():
            house.shut(PATIENCE)
        self.houses.clear()

    def end(self) -> None:
        """End what is still running. Safe to call at any time."""
        for house in self.houses.values():
            house.end()
        self.houses.clear()


def figures(rounds: list[Times]) -> dict[str, Any]:
    """Of clock and processor: the medians of each round and of all, and the least of all rounds for each place."""
    return {"clock": figure([one.clock for one in rounds]), "cpu": figure([one.cpu for one in rounds])}


def figure(rows: list[list[float]]) -> dict[str, Any]:
    places = [min(place) for place in zip(*rows, strict=True)]
    return {
        "median": statistics.median(one for row in rows for one in row),
        "least": statistics.median(places),
        "rounds": [statistics.median(row) for row in rows],
        "places": places,
    }
