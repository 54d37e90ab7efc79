"""The measurements, one after the other, each over all systems.

What takes a moment (a question, a single write) is done in turns: a few by one system, the same few by the next, and
round again, so that a busy machine disturbs all alike. Every row says how busy it was.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from houses import Ended, House, TookTooLong
from systems import SYSTEMS

WIDTHS = ("all", "1 %")
TURN = 20
"""Questions, or single writes, that a system gets at a time."""

PATIENCE = 3.0
"""Times its budget that an order may take before its process is ended: a budget is looked at between calls only."""

SETTLED_FROM = 100_000
"""From this size on, a system may have work of its own to do once it was filled, and gets the time for it."""

OPENING = 120.0
"""Seconds that a system may take to open a store, or to close it."""

Row = dict[str, Any]
Turn = Callable[[House, range, float], Row]
"""Has a system do these, by their numbers, in so many seconds."""


@dataclass(kw_only=True)
class Bench:
    """The systems at one size: fills them, and keeps their processes while they are asked."""

    size: int
    pythons: dict[str, Path]
    material: Path
    folder: Path
    embedder: str
    budget: float
    many: int
    warm: int
    singles: int
    starts: int
    told: Callable[[str, str], None]
    """Called with what is measured and with whom it is."""
    kept: Path | None = None
    """Where stores stay for another run, which then does not fill them."""
    rows: list[Row] = field(default_factory=list)
    houses: dict[str, House] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    """Those that hold everything, in the order of the table."""

    def store(self, name: str) -> Path:
        return (self.kept or self.folder) / f"{name}-{self.size}"

    def filled(self, name: str) -> Path:
        """The file beside a kept store that says how it was filled, once it holds everything."""
        return self.store(name).with_suffix(".filled.json")

    def house(self, name: str, *, looks_up: bool = True) -> House:
        return House(
            SYSTEMS[name],
            self.pythons.get(name, Path(sys.executable)),
            material=self.material,
            questions=self.folder,
            store=self.store(name),
            embedder=self.embedder,
            looks_up=looks_up,
        )

    def row(self, name: str, what: str, **found: object) -> None:
        self.rows.append({"system": name, "size": self.size, "what": what, "load": os.getloadavg()[0], **found})

    def lost(self, name: str, what: str, error: Exception) -> None:
        """A system that failed or was ended takes no further part at this size, and the table says why."""
        self.row(name, what, failed=str(error)[:300])
        if name in self.houses:
            self.houses.pop(name).end()
        if name in self.ready:
            self.ready.remove(name)

    # Filling and starting

    def fill(self) -> None:
        for name in self.pythons:
            if self.kept and self.filled(name).exists():
                self.rows.append(json.loads(self.filled(name).read_text("utf-8")))
                self.ready.append(name)
                continue
            self.told("filling", name)
            house = self.house(name)
            try:
                filled = house.order("fill", seconds=self.budget * PATIENCE, size=self.size, budget=self.budget)
                rate = filled["stored"] / filled["seconds"]
                found = {"rate": rate, "stored": filled["stored"], "memory": filled["memory"]}
                found["cpu ms"] = 1000 * filled["cpu"] / filled["stored"]
                if SYSTEMS[name].on_disk:
                    house.shut(OPENING)
                    found["disk MB"] = megabytes(self.store(name))
                self.row(name, "bulk", **found)
            except (Ended, TookTooLong) as error:
                house.end()
                self.lost(name, "bulk", error)
                continue
            if filled["stored"] == self.size:
                self.ready.append(name)
                if not SYSTEMS[name].on_disk:
                    self.houses[name] = house
                elif self.kept:
                    self.filled(name).write_text(json.dumps(self.rows[-1]), encoding="utf-8")
            else:
                house.end()

    def settle(self) -> None:
        """Let a new process of each work by itself, after a first question, until it does nothing any more."""
        for name in [name for name in self.ready if SYSTEMS[name].on_disk and self.size >= SETTLED_FROM]:
            self.told("settling", name)
            try:
                with self.house(name) as house:
                    house.order("ask", seconds=OPENING, width="all", places=[0], budget=OPENING)
                    taken = house.settled(self.budget * PATIENCE)
                    house.shut(OPENING)
            except (Ended, TookTooLong) as error:
                self.lost(name, "settled", error)
                continue
            self.row(name, "settled", seconds=taken)

    def start(self) -> None:
        """Time from the start of a process to its first answer; the last process stays."""
        for name in [name for name in self.ready if SYSTEMS[name].on_disk]:
            self.told("starting", name)
            taken = []
            try:
                for again in reversed(range(self.starts)):
                    house = self.houses[name] = self.house(name)
                    house.order("ask", seconds=OPENING, width="all", places=[0], budget=OPENING)
                    taken.append(time.perf_counter() - house.began)
                    if again:
                        house.shut(OPENING)
            except (Ended, TookTooLong) as error:
                self.lost(name, "start", error)
                continue
            self.row(name, "start", milliseconds=1000 * statistics.median(taken))

    def warm_up(self) -> None:
        """Ask the processes that stay a few questions, and let each finish what it begins with them."""
        for name, house in list(self.houses.items() if self.size >= SETTLED_FROM else ()):
            self.told("warming up", name)
            try:
                house.order("ask", seconds=OPENING, width="all", places=list(range(self.warm)), budget=OPENING)
                house.settled(self.budget * PATIENCE)
            except (Ended, TookTooLong) as error:
                self.lost(name, "recall", error)

    # In turns

    def ask(self) -> None:
        for width in WIDTHS:
            self.in_turns("recall" if width == "all" else "recall 1 %", self.many, self.asked(width), warm=self.warm)
        for name in self.ready:
            if name in self.houses:
                self.row(name, "memory", megabytes=self.houses[name].order("rest", seconds=OPENING)["memory"])

    def asked(self, width: str) -> Turn:
        def asked(house: House, places: range, left: float) -> Row:
            seconds = self.budget * PATIENCE
            return house.order("ask", seconds=seconds, width=width, places=list(places), budget=left)

        return asked

    def single(self) -> None:
        def written(house: House, places: range, left: float) -> Row:
            seconds, start, many = self.budget * PATIENCE, places.start, len(places)
            return house.order("single", seconds=seconds, start=start, many=many, writer="s", budget=left)

        self.in_turns("single", self.singles, written)

    def in_turns(self, what: str, many: int, order: Turn, *, warm: int = 0) -> None:
        """A turn for each system, and round again; the order moves on, so that nobody is always first."""
        taken: dict[str, list[float]] = {name: [] for name in self.houses}
        worked = dict.fromkeys(self.houses, 0.0)
        found = dict.fromkeys(self.houses, 0)
        names = list(self.houses)
        if not names:
            return
        turns = [range(warm)] if warm else []
        turns += [range(start, min(start + TURN, warm + many)) for start in range(warm, warm + many, TURN)]
        for turn, places in enumerate(turns):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                left = self.budget - sum(taken[name])
                if name not in self.houses or left <= 0:
                    continue
                self.told(what, name)
                try:
                    answer = order(self.houses[name], places, left)
                except (Ended, TookTooLong) as error:
                    self.lost(name, what, error)
                    continue
                if places.start >= warm:
                    taken[name] += answer["taken"]
                    worked[name] += answer["cpu"]
                    found[name] += answer.get("found", 0)
        for name in self.houses:
            times = sorted(1000 * one for one in taken[name])
            self.row(
                name,
                what,
                asked=len(times),
                p50=at(times, 0.50),
                p95=at(times, 0.95),
                rate=1000 * len(times) / sum(times),
                **{"cpu ms": 1000 * worked[name] / len(times), "found": found[name] / len(times)},
            )

    def shut(self) -> None:
        for house in self.houses.values():
            try:
                house.shut(OPENING)
            except (Ended, TookTooLong):
                house.end()
        self.houses.clear()

    def end(self) -> None:
        """End what is still running. Safe to call at any time."""
        for house in self.houses.values():
            house.end()
        self.houses.clear()


def at(ordered: list[float], share: float) -> float:
    """The value that this share of them does not pass."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def megabytes(folder: Path) -> float:
    """What the files really take on disk."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
