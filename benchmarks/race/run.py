"""Two versions of Scrubjay, and the script written by hand, in turns: what a change costs, and whether answers stay.

    python benchmarks/race/run.py --old HEAD                           # what is not committed yet, against what is
    python benchmarks/race/run.py --old HEAD~3 --parts recall,narrow --sizes 10000 --rounds 30
    python benchmarks/race/run.py --old FOLDER --new FOLDER --data FOLDER --save run.json
    python benchmarks/race/run.py --old HEAD --quick                   # to see that it works

A side is a revision of this repository, or a folder with `src/scrubjay` in it. Each has a process and a store of its
own, filled with the same texts and the same vectors, which are looked up but for the part `model`. They take turns of a
few questions or writes. A ratio is the median of all rounds, with its interval of 95 %, drawn again and again of them.
"""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "speed"))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "recall"))
from equal import CannotAnswer, Pair
from given import chosen_of, machine, sizes_of
from material import Asked, Material
from systems import FLOOR, ROOT
from table import compared, show
from trees import NoTree, taken
from turns import NEW, OLD, Course, GaveUp, contests

from scrubjay.models import embedder_of

LOOKED_UP = ("recall", "narrow", "single", "callers", "bulk")
"""In this order: what is written changes what a recall takes."""

PARTS = ("equality", *LOOKED_UP, "model")
SIZES = (1_000, 10_000, 100_000)
Seen = dict[str, Any]


def main() -> None:
    given = arguments()
    seen: Seen = {"machine": machine(), "old": given.old, "new": given.new, "rounds": given.rounds}
    seen |= {"rows": [], "equal": []}
    # What was measured until somebody had enough is shown and saved all the same.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stopped = None
    try:
        with tempfile.TemporaryDirectory(prefix="scrubjay-race-", dir=given.stores) as folder:
            raced(given, Path(folder).resolve(), seen)
    except NoTree as error:
        sys.exit(str(error))
    except (CannotAnswer, GaveUp) as error:
        stopped = str(error)
    except KeyboardInterrupt:
        stopped = "interrupted: this is what was measured until then"
    seen["rows"] = compared(seen["rows"])
    if given.save:
        given.save.write_text(json.dumps(seen, indent=1), encoding="utf-8")
    if given.json:
        print(json.dumps(seen, indent=1))
    else:
        show(seen, Console(width=160))
    sys.exit(stopped)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True, help="a revision, or a folder with src/scrubjay in it")
    parser.add_argument("--new", default=str(ROOT), help="the same; this working tree when left out")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"any of {', '.join(PARTS)}, with commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many memories, with commas")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side; one more warms up")
    parser.add_argument("--questions", type=int, default=30, help="questions, or single writes, in a turn")
    parser.add_argument("--data", type=Path, help="the folder with the data sets; Python's manual when left out")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--quick", action="store_true", help="200 memories, few rounds; the figures mean nothing")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache", help="where vectors are kept")
    parser.add_argument("--stores", type=Path, help="a folder on the disk to measure; the temporary one when left out")
    parser.add_argument("--save", type=Path, help="write the figures to this file, as JSON")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of tables")
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.rounds, given.questions = "200", 3, 10
    given.sizes = sizes_of(parser, given.sizes)
    given.parts = chosen_of(parser, "--parts", given.parts, PARTS)
    if given.rounds < 1 or given.questions < 1:
        parser.error(f"--rounds is {given.rounds} and --questions {given.questions}: at least 1 of each is needed")
    return given


def raced(given: argparse.Namespace, folder: Path, seen: Seen) -> None:
    """Everything that was asked for, put into `seen` as it comes."""
    sources = {OLD: taken("--old", given.old, folder / "old"), NEW: taken("--new", given.new, folder / "new")}
    cache = given.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    pair = Pair(sources=sources, embedder=given.embedder, vectors=cache / f"race-{given.embedder}.db")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding texts", total=None)
        material = Material(cache / "speed", embedder_of(given.embedder), given.data)
        for done, whole in material.prepare(given.sizes[-1]):
            progress.update(task, completed=done, total=whole)
        material.ask(given.sizes[0], Asked(many=given.questions * (given.rounds + 1), warm=0), folder)
        for size in given.sizes:
            course = Course(
                size=size,
                sources={FLOOR: sources[NEW], **sources},
                material=material.folder,
                folder=folder,
                embedder=given.embedder,
                rounds=given.rounds,
                many=given.questions,
                told=telling(progress, task, f"{size:,} memories"),
            )
            look_at(course, pair, given.parts, seen)
        if given.data and "equality" in given.parts:
            for queries in sorted(given.data.glob("**/queries.jsonl")):
                progress.update(task, description=f"asking both about {queries.parent.name}", advance=1)
                seen["equal"].append(pair.on_set(queries.parent, folder))


def look_at(course: Course, pair: Pair, parts: list[str], seen: Seen) -> None:
    """All parts at one size."""
    course.fill()
    if "equality" in parts:
        course.told("asking the same of", "both")
        seen["equal"].append(pair.on_notes(course.size, course.store(OLD), course.folder, course.many))
    try:
        for looks_up, some in ((True, LOOKED_UP), (False, ("model",))):
            if chosen := [part for part in some if part in parts]:
                course.open(looks_up=looks_up)
                for part in chosen:
                    for what, contest in contests(part, course.many):
                        seen["rows"] += course.run(what, contest)
                course.shut()
    finally:
        course.end()


def telling(progress: Progress, task: TaskID, about: str):
    def told(what: str, name: str) -> None:
        progress.update(task, description=f"{about}, {what}: {name}", advance=1, total=None)

    return told


if __name__ == "__main__":
    main()
