"""What is looked at in one size only: syncs to disk, several processes on one store, the model instead of look-up."""

import re
import shutil
import signal
import statistics
import subprocess
from contextlib import ExitStack

from houses import Ended, TookTooLong
from measure import OPENING, PATIENCE, WIDTHS, Bench
from systems import ALONE, SYSTEMS

SYNCED = 20
"""Single writes that are watched."""

WRITERS, READERS = 2, 2
TOGETHER = 4.0
"""Seconds that several processes work on one store."""

CALLERS = (1, 8, 32)
ROUNDS = 3
CROWDED = 10.0
"""Seconds that one round of so many callers takes at most."""

EMBEDDED = 500
"""Memories that are stored with the model."""


def syncs(bench: Bench) -> None:
    """How often a single write waits for the disk: fsync and fdatasync, seen by strace where it is installed."""
    strace = shutil.which("strace")
    if strace is None:
        return
    for name, house in list(bench.houses.items()):
        bench.told("counting syncs", name)
        seen = bench.folder / f"{name}.strace"
        watch = [strace, "-f", "-e", "trace=fsync,fdatasync", "-o", seen, "-p", str(house.pid)]
        with subprocess.Popen(watch, stderr=subprocess.PIPE, text=True) as watching:
            attached = "attached" in watching.stderr.readline()
            try:
                if attached:
                    house.order("single", seconds=OPENING, start=0, many=SYNCED, writer="y", budget=OPENING)
            except (Ended, TookTooLong) as error:
                bench.lost(name, "syncs", error)
                continue
            finally:
                watching.send_signal(signal.SIGINT)
        if attached:
            calls = len(re.findall(r"\b(?:fsync|fdatasync)\(", seen.read_text("utf-8")))
            bench.row(name, "syncs", each=calls / SYNCED)


def crowd(bench: Bench) -> None:
    """Single writes by several callers of one process at once, as a server has them; the median of rounds in turns."""
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for turn in range(ROUNDS):
        for callers in CALLERS:
            for name, house in list(bench.houses.items()):
                bench.told(f"{callers} callers", name)
                order = {"start": turn * bench.singles, "many": bench.singles, "writer": f"c{callers}x"}
                try:
                    done = house.order("crowd", seconds=OPENING, callers=callers, budget=CROWDED, **order)
                except (Ended, TookTooLong) as error:
                    bench.lost(name, crowd_of(callers), error)
                    continue
                found.setdefault((name, callers), []).append(done)
    for (name, callers), rounds in found.items():
        rate = statistics.median(one["stored"] / one["seconds"] for one in rounds)
        cpu = statistics.median(1000 * one["cpu"] / one["stored"] for one in rounds)
        bench.row(name, crowd_of(callers), rate=rate, **{"cpu ms": cpu})


def crowd_of(callers: int) -> str:
    """What a row of so many callers is called."""
    return f"callers {callers}"


def together(bench: Bench) -> None:
    """Two processes write and two read on one store at once; afterwards a new one counts what is there."""
    for name in [name for name in bench.ready if SYSTEMS[name].on_disk]:
        bench.told("several processes", name)
        try:
            bench.row(name, "together", **_together(bench, name))
        except (Ended, TookTooLong) as error:
            bench.row(name, "together", failed=str(error)[:300])


def _together(bench: Bench, name: str) -> dict[str, object]:
    before = counted(bench, name)
    with ExitStack() as closing:
        houses = [closing.enter_context(bench.house(name)) for _ in range(WRITERS + READERS)]
        for house in houses:
            house.order("count", seconds=OPENING)
        for place, house in enumerate(houses):
            verb = "write" if place < WRITERS else "read"
            house.tell("keep_on", verb=verb, writer="abcdefgh"[place], seconds=TOGETHER)
        done = [house.hear(TOGETHER + OPENING) for house in houses]
        see = [house.order("count", seconds=OPENING)["count"] for house in houses]
        for house in houses:
            house.shut(OPENING)
    after = counted(bench, name)
    writers, readers = done[:WRITERS], done[WRITERS:]
    return {
        "written/s": sum(one["done"] for one in writers) / TOGETHER,
        "read/s": sum(one["done"] for one in readers) / TOGETHER,
        "errors": sum(one["failed"] for one in done),
        "first error": next((one["first"] for one in done if one["first"]), None),
        "lost": before + sum(one["done"] for one in writers) - after,
        "all see all": set(see) == {after},
    }


def counted(bench: Bench, name: str) -> int:
    with bench.house(name) as house:
        found = house.order("count", seconds=OPENING)["count"]
        house.shut(OPENING)
        return found


def with_model(bench: Bench, *, stores: bool) -> None:
    """The same questions with the vectors computed by the model, beside the model alone; and a few hundred texts."""
    for name in [ALONE, *(name for name in bench.ready if SYSTEMS[name].on_disk)]:
        bench.told("with the model", name)
        house = bench.houses[name] = bench.house(name, looks_up=False)
        try:
            house.order("ask", seconds=OPENING, width="all", places=[0], budget=OPENING)
        except (Ended, TookTooLong) as error:
            bench.lost(name, "model recall", error)
    bench.warm_up()
    bench.in_turns("model recall", bench.many, bench.asked(WIDTHS[0]), warm=bench.warm)
    for name in [name for name in bench.houses if name != ALONE and stores]:
        bench.told("with the model", name)
        try:
            # Each beside the model, since what the model reaches changes with what else the machine does.
            alone = _rate(bench, ALONE)
            rate = _rate(bench, name)
        except (Ended, TookTooLong) as error:
            bench.lost(name, "model bulk", error)
            continue
        bench.row(name, "model bulk", rate=rate, alone=alone, share=rate / alone)


def _rate(bench: Bench, name: str) -> float:
    seconds = bench.budget * PATIENCE
    stored = bench.houses[name].order("bulk", seconds=seconds, many=EMBEDDED, writer="m", budget=bench.budget)
    return stored["stored"] / stored["seconds"]
