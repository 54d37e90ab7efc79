"""How well recall finds what it should, through the public verbs, on real data, next to simpler ways.

    python benchmarks/recall/run.py --data FOLDER                      # every set, the part that was never tuned on
    python benchmarks/recall/run.py --data FOLDER --sets locomo,beam --vectors kept.db --save run.json
    python benchmarks/recall/run.py --data FOLDER --compare run.json   # what changed since
    python benchmarks/recall/run.py --data FOLDER --sets locomo --told notes   # the same, told in another way
    python benchmarks/recall/run.py --data FOLDER --quick              # a little of each set, to see that it works

FOLDER holds `recall/NAME/corpus.jsonl` and `queries.jsonl`, or is that `recall` itself. A set is told to a fresh store
with `remember_many`, every group as a user of its own, and every question is asked with `recall`. Half of the
questions, by the hash of their ids, are `dev`: constants are chosen on them. The rest reports, unless `--part` says
otherwise. Vectors of stored texts can be kept in a file for the next run; questions are always embedded, and timed.
"""

import argparse
import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sets
import tellings
from ask import SYSTEMS, Outcome, run
from kept import Kept
from measures import MEASURES, SESSIONS, interval
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from scrubjay.models import embedder_of

console = Console(width=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--sets", default="", help="names of data sets, with commas; all when left out")
    parser.add_argument("--part", choices=sets.PARTS, default="rest", help="which questions; default rest")
    parser.add_argument("--told", choices=tellings.WAYS, default="usual", help="how the memories are told")
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--vectors", type=Path, help="keep the vectors of stored texts in this file")
    parser.add_argument("--save", type=Path, help="write every question's figures to this file, as JSON")
    parser.add_argument("--compare", type=Path, help="show what changed since a run that was saved")
    parser.add_argument("--quick", action="store_true", help="a little of each set; the figures mean nothing")
    given = parser.parse_args()
    folder = given.data / "recall" if (given.data / "recall").is_dir() else given.data
    known = sorted(path.parent.name for path in folder.glob("*/queries.jsonl"))
    names = given.sets.split(",") if given.sets else known
    if missing := sorted(set(names) - set(known)):
        parser.error(f"--sets names {', '.join(missing)}: {folder} has {', '.join(known) or 'no data set'}")
    earlier = json.loads(given.compare.read_text("utf-8")) if given.compare else {}
    results = {}
    for name in names:
        data = sets.read(folder / name, part=given.part, quick=given.quick, told=given.told)
        outcomes, rate = measured(data, given.embedder, given.vectors)
        results[name] = [asdict(one) for one in outcomes]
        report(name, outcomes, rate, len(data.told), given.part)
        if name in earlier:
            changed(name, outcomes, earlier[name])
    if given.save:
        given.save.write_text(json.dumps(results), encoding="utf-8")


def measured(data: sets.DataSet, embedder: str, vectors: Path | None) -> tuple[list[Outcome], float]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress, tempfile.TemporaryDirectory() as home:
        telling = progress.add_task(f"{data.name}: telling", total=len(data.told))
        asking = progress.add_task(f"{data.name}: asking", total=len(data.asked))
        return asyncio.run(
            run(
                data,
                Path(home),
                Kept(embedder_of(embedder), vectors),
                told=lambda: progress.advance(telling),
                answered=lambda: progress.advance(asking),
            )
        )


def report(name: str, outcomes: list[Outcome], rate: float, memories: int, part: str) -> None:
    judged = [one for one in outcomes if one.measures]
    has_sessions = any(SESSIONS[0] in one.measures["recall"] for one in judged)
    shown = ("R@1", "R@5", "R@10", "R@20", "hit@5", "hit@10", "all@5", "MRR", "nDCG@10")
    shown += SESSIONS if has_sessions else ()
    title = f"{name}, part {part}: {len(judged)} questions, {memories:,} memories, told at {rate:,.0f} a second"
    table = Table("", "questions", *shown, title=title, title_justify="left")
    for system in SYSTEMS:
        table.add_row(system, str(len(judged)), *(f"{mean(judged, system, one):.3f}" for one in shown))
    table.add_section()
    categories = sorted({one.category for one in judged})
    for category in categories if len(categories) > 1 else ():
        some = [one for one in judged if one.category == category]
        table.add_row(f"  {category}", str(len(some)), *(f"{mean(some, 'recall', one):.3f}" for one in shown))
    console.print(table)
    for measure in ("R@5", "R@10", *(SESSIONS[1:] if has_sessions else ())):
        low, high = interval(values(judged, "recall", measure))
        best = max(("BM25", "vectors"), key=lambda system: mean(judged, system, measure))
        gains = np.subtract(values(judged, "recall", measure), values(judged, best, measure))
        least, most = interval(gains)
        console.print(
            f"  {measure}: {mean(judged, 'recall', measure):.3f}, with 95 % confidence {low:.3f} to {high:.3f}; "
            f"{gains.mean():+.3f} against {best}, {least:+.3f} to {most:+.3f}"
        )
    times = [one.milliseconds for one in outcomes]
    console.print(
        f"  a recall of 10 takes {np.percentile(times, 50):.1f} ms, p95 {np.percentile(times, 95):.1f} ms, with "
        f"embedding the question, and gives {np.mean([one.tokens for one in outcomes]):,.0f} tokens"
    )
    if name in sets.PUBLISHED:
        console.print(f"  published: {sets.PUBLISHED[name]}")
    console.print()


def changed(name: str, outcomes: list[Outcome], earlier: list[dict]) -> None:
    """The difference to an earlier run on the questions that both asked, and whether it is more than chance."""
    before = {one["id"]: one["measures"]["recall"] for one in earlier if one["measures"]}
    both = [one for one in outcomes if one.id in before]
    table = Table("", "before", "now", "change", "95 %", title=f"{name}: {len(both)} questions", title_justify="left")
    for measure in (*MEASURES, *SESSIONS):
        pairs = [
            (before[one.id][measure], one.measures["recall"][measure]) for one in both if measure in before[one.id]
        ]
        if pairs:
            old, new = np.transpose(pairs)
            low, high = interval(new - old)
            style = "green" if low > 0 else "red" if high < 0 else ""
            change = f"{(new - old).mean():+.3f}"
            table.add_row(
                measure, f"{old.mean():.3f}", f"{new.mean():.3f}", change, f"{low:+.3f} … {high:+.3f}", style=style
            )
    console.print(table)


def values(outcomes: list[Outcome], system: str, measure: str) -> list[float]:
    return [one.measures[system][measure] for one in outcomes if measure in one.measures[system]]


def mean(outcomes: list[Outcome], system: str, measure: str) -> float:
    return float(np.mean(values(outcomes, system, measure) or [float("nan")]))


if __name__ == "__main__":
    main()
