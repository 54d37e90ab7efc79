"""The same memories and the same questions on every profile, asked in turns.

    python benchmarks/backends/run.py --write docs/benchmarks/backends.md      # the usual profiles: about ten minutes
    python benchmarks/backends/run.py --size 10000 --profiles sqlite,pgvector,qdrant
    python benchmarks/backends/run.py --profiles all                           # every profile: most of an hour

Every profile lives in a process of its own with servers of its own, so that memory and disk are told apart. They are
filled one after the other and then asked in turns, each question to all of them before the next one, so that a noisy
machine disturbs all alike. PostgreSQL syncs every commit to disk, as in production. `search` is the vector engine
alone, by the vector of the question, and its recall@10 is against the exact ten nearest of the same filter. `recall`
is the whole verb, by words and by meaning, with the vector of the question looked up rather than computed. On a page
that is there already, `--write` replaces the tables and leaves the rest as it is.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from profiles import AT_ONCE, PROFILES, WIDTHS, Asked, Filled, Inhabitant, Taken
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from scrubjay.models import embedder_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from stretched import Stretched
from texts import questions, sentences

TOP = 10
USUAL = ("sqlite", "postgres", "pgvector", "qdrant-redis", "chroma")
"""The profiles that are compared unless others are named."""

WARM = 20
"""Questions that are asked before counting: graphs are read, caches filled, connections made."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000, help="how many memories")
    parser.add_argument("--questions", type=int, default=100, help="how many to ask for each filter")
    parser.add_argument("--profiles", default=",".join(USUAL), help="which ones, separated by commas, or `all`")
    parser.add_argument("--write", type=Path, help="also write the tables to this page")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    names = list(PROFILES) if given.profiles == "all" else given.profiles.split(",")
    if unknown := set(names) - set(PROFILES):
        parser.error(f"--profiles names {', '.join(sorted(unknown))}: there are {', '.join(PROFILES)}")
    with tempfile.TemporaryDirectory(prefix="scrubjay-backends-") as folder:
        asked = prepare(given.size, given.questions, Path(folder))
        seen = measure(names, asked, Path(folder))
    if given.json:
        print(json.dumps(seen, indent=1))
    else:
        console = Console(width=130)
        console.print(table(seen, given.size))
    if given.write:
        given.write.parent.mkdir(parents=True, exist_ok=True)
        before = given.write.read_text(encoding="utf-8") if given.write.exists() else ""
        whole = page(seen, given.size, given.questions)
        given.write.write_text(with_tables(before, seen) if before else whole, encoding="utf-8")


def prepare(size: int, many: int, folder: Path) -> Asked:
    """Texts, their vectors, questions, and the exact answers, in one file that every profile reads."""
    texts = sentences(size)
    model = Stretched(embedder_of("minilm", url="", key="", threads=0))
    asking = questions(texts, many + WARM)

    async def embedded() -> tuple[np.ndarray, np.ndarray]:
        await model.learn(texts)
        return np.array([model.known[text] for text in texts]), await model.embed(asking, question=True)

    documents, wanted = asyncio.run(embedded())
    np.savez(folder / "vectors.npz", documents=documents, questions=wanted)
    (folder / "texts.json").write_text(json.dumps({"texts": texts, "questions": asking}), encoding="utf-8")
    exact: dict[str, list[list[int]]] = {}
    for name, admits in WIDTHS.items():
        inside = np.flatnonzero(admits(np.arange(size)))
        near = wanted @ documents[inside].T
        best = np.argsort(-near, axis=1)[:, :TOP]
        exact[name] = inside[best].tolist()
    return Asked(count=len(asking), exact=exact)


def measure(names: list[str], asked: Asked, folder: Path) -> dict[str, dict[str, object]]:
    spawn = get_context("spawn")
    seen: dict[str, dict[str, object]] = {}
    lines: dict[str, Connection] = {}
    houses = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        filling = progress.add_task("filling", total=len(names))
        for name in names:
            progress.update(filling, description=f"filling {name}")
            here, there = spawn.Pipe()
            house = spawn.Process(target=Inhabitant.live, args=(name, folder, there), daemon=False)
            house.start()
            there.close()  # So that the end of the process is the end of the line.
            houses.append(house)
            filled = heard(here, name)
            assert isinstance(filled, Filled)
            progress.console.print(
                f"{name}: {filled.rate:,.0f} stored a second, searchable {filled.settled:.0f} s later"
            )
            seen[name] = {"fill": asdict(filled)}
            lines[name] = here
            progress.advance(filling)
        asking = progress.add_task("asking", total=len(WIDTHS) * asked.count)
        for width in WIDTHS:
            taken: dict[str, list[Taken]] = {name: [] for name in names}
            for place in range(asked.count):
                # The order turns with every question: being asked first after a pause is not always the same one's lot.
                for name in names[place % len(names) :] + names[: place % len(names)]:
                    lines[name].send((width, place))
                    taken[name].append(heard(lines[name], name))
                progress.advance(asking)
            for name in names:
                seen[name][width] = summary(taken[name][WARM:], asked.exact[width][WARM:])
    for name in names:
        lines[name].send(None)
        seen[name]["size"] = heard(lines[name], name)
    for house in houses:
        house.join()
    return seen


def heard(line: Connection, name: str) -> object:
    try:
        answer = line.recv()
    except EOFError:
        sys.exit(f"{name} ended before it answered; what it said is above")
    return answer


def summary(taken: list[Taken], exact: list[list[int]]) -> dict[str, float]:
    found = [len(set(one.found) & set(best)) / len(best) for one, best in zip(taken, exact, strict=True)]
    return {
        "recall@10": statistics.mean(found),
        "search p50": statistics.median(one.search for one in taken),
        "search p95": float(np.percentile([one.search for one in taken], 95)),
        "recall p50": statistics.median(one.recall for one in taken),
        "recall p95": float(np.percentile([one.recall for one in taken], 95)),
    }


HEADINGS = ("profile", "filter", "recall@10", "search p50", "p95", "recall p50", "p95")


def rows(seen: dict) -> list[tuple[str, ...]]:
    return [
        (
            PROFILES[name].title,
            width,
            f"{row['recall@10']:.3f}",
            *(f"{row[key]:.1f}" for key in ("search p50", "search p95", "recall p50", "recall p95")),
        )
        for width in WIDTHS
        for name, row in ((name, seen[name][width]) for name in seen)
    ]


SIZES = ("profile", "stored/s", "until searchable s", "disk MB", "server MB", "process MB")


def sizes(seen: dict) -> list[tuple[str, ...]]:
    return [
        (
            PROFILES[name].title,
            f"{found['fill']['rate']:,.0f}",
            f"{found['fill']['settled']:.0f}",
            f"{found['size']['disk']:.0f}",
            f"{found['size']['servers']:.0f}",
            f"{found['size']['process']:.0f}",
        )
        for name, found in seen.items()
    ]


SINGLE = ("profile", *(heading for many in AT_ONCE for heading in (f"stored/s by {many}", "p50")))


def single(seen: dict) -> list[tuple[str, ...]]:
    return [
        (
            PROFILES[name].title,
            *(
                f"{found['fill']['singles'][many][key]:,.{digits}f}"
                for many in AT_ONCE
                for key, digits in (("rate", 0), ("median", 1))
            ),
        )
        for name, found in seen.items()
    ]


def table(seen: dict, size: int) -> Table:
    outer = Table.grid(padding=(1, 0))
    titles = (
        f"{size:,} memories, milliseconds",
        "What they take",
        "One memory at a time, by so many writers at once",
    )
    for title, (headings, found) in zip(titles, tables(seen), strict=True):
        inner = Table(title=title, title_justify="left")
        for heading in headings:
            inner.add_column(heading, justify="left" if heading in ("profile", "filter") else "right")
        for row in found:
            inner.add_row(*row)
        outer.add_row(inner)
    return outer


def markdown(headings: tuple[str, ...], found: list[tuple[str, ...]]) -> str:
    aligned = ["---" if heading in ("profile", "filter") else "---:" for heading in headings]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, aligned, *found))


def with_tables(before: str, seen: dict) -> str:
    """The page with these tables in place of those that have the same headings."""
    new = {markdown(headings, []): markdown(headings, found) for headings, found in tables(seen)}

    def replaced(block: str) -> str:
        return next((table for heading, table in new.items() if block.startswith(heading)), block)

    return "\n\n".join(map(replaced, before.split("\n\n")))


def tables(seen: dict) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    return [(HEADINGS, rows(seen)), (SIZES, sizes(seen)), (SINGLE, single(seen))]


def page(seen: dict, size: int, many: int) -> str:
    return f"""# Backends side by side

The same {size:,} memories of 26 words, with vectors of 384 dimensions, and the same {many} questions for each filter,
on every profile in one run of `benchmarks/backends/run.py` on a machine with two cores. Each question went to all
profiles before the next one was asked. Milliseconds differ by half from run to run; their ratios less.

- `search` is the vector engine alone. recall@10 compares its answer with the exact ten nearest under the same filter.
- `recall` is the whole verb: words and meaning, fused, read from the records and ranked. The question's vector is
  looked up.
- `all` searches the tenant's memories, `1 %` one user's of a hundred, `10 %` one kind of ten.

{markdown(HEADINGS, rows(seen))}

`stored/s` is `remember_many` in batches of 1,000, with vectors looked up, every commit synced to disk. `until
searchable` is how long servers and process went on working on their indexes after the last write and the first
searches. `process` is what Scrubjay's own process holds more than before it opened the store.

{markdown(SIZES, sizes(seen))}

`remember`, one memory at a time, by one writer, by 8 and by 32 at once in one process: how many a second they store
together, and how long each of them waits, in milliseconds.

{markdown(SINGLE, single(seen))}
"""


if __name__ == "__main__":
    main()
