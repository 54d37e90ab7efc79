"""How well recall finds what agents and teams have noted, by themselves or beside talk.

    python benchmarks/recall/noted.py                       # stores and questions written by hand
    python benchmarks/recall/noted.py --save before.json
    python benchmarks/recall/noted.py --compare before.json

A conversation is known for one however it is told, which must not be to the harm of what is none. `noted.json` has
stores of 24 to 46 notes: of one agent or several, with and without authors, with a long trace among them, with headings
that look like roles, of tasks and their results, of a user's wishes, and of agents who talk. Each is asked its own
questions, and every question has one note that answers it.
"""

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from scrubjay import Settings
from scrubjay.models import embedder_of
from scrubjay.ports import Embedder
from scrubjay.wiring import wire

WRITTEN = Path(__file__).with_suffix(".json")
LIMIT = 20
console = Console(width=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="minilm", help="as in SCRUBJAY_EMBEDDER")
    parser.add_argument("--save", type=Path, help="write the rank of every answer to this file, as JSON")
    parser.add_argument("--compare", type=Path, help="show what changed since a run that was saved")
    given = parser.parse_args()
    written = json.loads(WRITTEN.read_text("utf-8"))
    earlier = json.loads(given.compare.read_text("utf-8")) if given.compare else {}
    ranks = {
        store["name"]: asyncio.run(asked(store, written["texts"], embedder_of(given.embedder)))
        for store in track(written["stores"], console=console, transient=True)
    }
    report(ranks, earlier)
    if given.save:
        given.save.write_text(json.dumps(ranks), encoding="utf-8")


async def asked(store: dict, texts: list[str], embedder: Embedder | None) -> list[int | None]:
    """The rank of each answer, from 1; None when it is not among the first twenty."""
    with tempfile.TemporaryDirectory() as home:
        async with wire(Settings(home=Path(home), background=False), embedder=embedder) as jay:
            told = [{**one, "content": texts[one["text"]], "user": "u-1"} for one in store["told"]]
            for one in told:
                del one["text"]
            stored = [one.memory.id for one in await jay.remember_many(told)]
            found = [await jay.recall(question, user="u-1", limit=LIMIT, touch=False) for question, _ in store["asked"]]
    answers = [[hit.memory.id for hit in hits] for hits in found]
    return [
        ids.index(stored[place]) + 1 if stored[place] in ids else None
        for ids, (_, place) in zip(answers, store["asked"], strict=True)
    ]


def report(ranks: dict[str, list[int | None]], earlier: dict[str, list[int | None]]) -> None:
    table = Table("store", "questions", "hit@1", "MRR", *(("MRR before", "worse") if earlier else ()))
    for name, own in ranks.items():
        row = [name, str(len(own)), f"{own.count(1) / len(own):.3f}", f"{mrr(own):.3f}"]
        if before := earlier.get(name):
            worse = sum((rank or LIMIT + 1) > (old or LIMIT + 1) for rank, old in zip(own, before, strict=True))
            row += [f"{mrr(before):.3f}", str(worse)]
        table.add_row(*row)
    console.print(table)


def mrr(ranks: list[int | None]) -> float:
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


if __name__ == "__main__":
    main()
