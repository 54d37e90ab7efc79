"""Scrubjay beside other memories and beside a plain script: writing, recall, start, memory, disk, several processes.

    python benchmarks/speed/run.py                             # 1,000 to 100,000 memories, every system: half an hour
    python benchmarks/speed/run.py --data FOLDER               # texts of the data sets instead of Python's manual
    python benchmarks/speed/run.py --quick                     # to see that it works
    python benchmarks/speed/run.py --save run.json --write docs/benchmarks/speed.md
    python benchmarks/speed/run.py --sizes 1000000 --peers by-hand,scrubjay --budget 300 --beside run.json
    python benchmarks/speed/run.py --sizes 1000000 --peers by-hand,scrubjay --keep FOLDER     # fills them only once

Every system runs in a process of its own, peers in environments of their own with pinned versions, made on first use.
All store the same texts with the same vectors, looked up rather than computed, so that the stores are compared; at one
size the bundled model computes them. A system that does not finish within the budget is cut off, and the table says so.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from given import chosen_of, machine, sizes_of
from material import Asked, Material
from measure import Bench
from probes import crowd, syncs, together, with_model
from report import Seen, show, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from systems import ROOT, STORES, SYSTEMS, CannotInstall, python_of

import scrubjay
from scrubjay.models import embedder_of

SIZES = (1_000, 10_000, 100_000)
PROBED = 10_000
"""The size at which syncs, several processes and bulk with the model are looked at, or else the smallest asked for."""

WARM = 5
STARTS = 3
PARTS = ("stores", "processes", "model")
console = Console(width=160)


def main() -> None:
    given = arguments()
    if given.saved:
        seen = json.loads(given.saved.read_text("utf-8"))
    else:
        with tempfile.TemporaryDirectory(prefix="scrubjay-speed-", dir=given.stores) as folder:
            seen = measured(given, Path(folder))
    if given.beside:
        seen = beside(seen, json.loads(given.beside.read_text("utf-8")))
    if given.save:
        given.save.write_text(json.dumps(seen, indent=1), encoding="utf-8")
    if given.write:
        write(seen, given.write)
    if given.json:
        print(json.dumps(seen, indent=1))
    else:
        show(seen, console)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the data sets; Python's manual when left out")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many memories, with commas")
    parser.add_argument("--peers", default=",".join(STORES), help="which systems, with commas; all when left out")
    parser.add_argument("--budget", type=float, default=45.0, help="seconds for each figure of a system at a size")
    parser.add_argument("--questions", type=int, default=200, help="how many to ask at each size and width")
    parser.add_argument("--singles", type=int, default=200, help="how many to store one by one")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument(
        "--quick", action="store_true", help="200 memories and a few questions; the figures mean nothing"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache", help="where environments and vectors are kept")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"any of {', '.join(PARTS)}; stores always takes part")
    parser.add_argument("--stores", type=Path, help="a folder on the disk to measure; the temporary one when left out")
    parser.add_argument("--keep", type=Path, help="recall alone, on stores in this folder, which are filled only once")
    parser.add_argument("--save", type=Path, help="write the figures to this file, as JSON")
    parser.add_argument("--saved", type=Path, help="show a run that was saved, and measure nothing")
    parser.add_argument("--beside", type=Path, help="add the figures of a run that was saved, where this one has none")
    parser.add_argument("--write", type=Path, help="write tables and plots into this page")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of tables")
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.questions, given.singles = "200", 20, 20
    given.sizes = sizes_of(parser, given.sizes)
    given.parts = chosen_of(parser, "--parts", given.parts, PARTS)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        given.parts = ["stores"]
    given.peers = chosen_of(parser, "--peers", given.peers, STORES)
    return given


def measured(given: argparse.Namespace, folder: Path) -> Seen:
    seen: Seen = {
        "machine": {
            **machine(),
            "scrubjay": scrubjay.__version__,
            "texts": "the data sets" if given.data else "Python's manual",
        },
        "budget": given.budget,
        "probed": PROBED if PROBED in given.sizes else given.sizes[0],
        "rows": [],
    }
    model = embedder_of(given.embedder)
    material = Material(given.cache / "speed", model, given.data)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding texts", total=None)
        for done, whole in material.prepare(given.sizes[-1]):
            progress.update(task, completed=done, total=whole)
        material.ask(given.sizes[0], Asked(many=given.questions, warm=WARM), folder)
        pythons = installed(given, seen, progress)
        for size in given.sizes:
            task = progress.add_task(f"{size:,}")
            bench = Bench(
                size=size,
                pythons=pythons,
                material=material.folder,
                folder=folder,
                embedder=given.embedder,
                budget=given.budget,
                many=given.questions,
                warm=WARM,
                singles=given.singles,
                starts=1 if given.quick else STARTS,
                told=telling(progress, task, size),
                kept=given.keep,
                rows=seen["rows"],
            )
            try:
                look_at(bench, given.parts, is_probed=size == seen["probed"])
            finally:
                bench.end()
            progress.remove_task(task)
    return seen


def look_at(bench: Bench, parts: list[str], *, is_probed: bool) -> None:
    """Everything at this size; some parts are looked at in one size only."""
    bench.fill()
    bench.settle()
    bench.start()
    bench.warm_up()
    bench.ask()
    # A store that is kept has what is written one by one from the run before.
    if bench.kept is None:
        bench.single()
    if bench.kept is None and is_probed:
        crowd(bench)
    if "processes" in parts and is_probed:
        syncs(bench)
    bench.shut()
    if "processes" in parts and is_probed:
        together(bench)
    if "model" in parts:
        with_model(bench, stores=is_probed)
        bench.shut()


def installed(given: argparse.Namespace, seen: Seen, progress: Progress) -> dict[str, Path]:
    """The Python of each system. One that cannot be installed is left out, and the table says why."""
    pythons = {}
    task = progress.add_task("installing peers", total=len(given.peers))
    for name in given.peers:
        progress.update(task, description=f"installing {name}")
        try:
            pythons[name] = python_of(SYSTEMS[name], given.cache)
        except CannotInstall as error:
            for size in given.sizes:
                row = {"system": name, "size": size, "what": "bulk", "load": os.getloadavg()[0]}
                seen["rows"].append({**row, "failed": str(error)})
        progress.advance(task)
    progress.remove_task(task)
    return pythons


def telling(progress: Progress, task: TaskID, size: int):
    def told(what: str, name: str) -> None:
        progress.update(task, description=f"{size:,} memories, {what}: {name}", advance=1)

    return told


def beside(seen: Seen, earlier: Seen) -> Seen:
    """The rows of both; where both have one, that of this run."""

    def key(row: dict) -> tuple:
        return row["system"], row["size"]

    known = {key(row) for row in seen["rows"]}
    rows = [*(row for row in earlier["rows"] if key(row) not in known), *seen["rows"]]
    return {**earlier, "rows": rows}


if __name__ == "__main__":
    main()
