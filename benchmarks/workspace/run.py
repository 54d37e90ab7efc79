"""What code memory is worth, and what it costs.

    python benchmarks/workspace/repositories.py REPOSITORIES                         # once: fetch the source trees
    python benchmarks/workspace/run.py --data FOLDER --repositories REPOSITORIES     # all of it
    python benchmarks/workspace/run.py                                               # without localization

FOLDER holds `recall/past_tasks/`. `--embedder` is `none` unless you name one: with a model,
ingest is as fast as the model.
"""

import argparse
import asyncio
from pathlib import Path

import localization
import secrets_found
import timing
from rich.console import Console
from rich.table import Table

console = Console(width=120)


def shown(title: str, headings: tuple[str, ...], rows: list[tuple]) -> None:
    table = Table(*headings, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(table)


async def main(given: argparse.Namespace) -> None:
    by_kind, together = secrets_found.measured()
    shown("Redaction on a labelled set", ("kind", "texts", "right"), by_kind)
    shown("together", ("", ""), together)
    shown("Recording a job, microseconds", ("", "calls", "p50", "p99", "most"), await timing.enqueue())
    shown(
        f"Ingest of {given.files:,} files, embedder {given.embedder}",
        ("", "files", "pieces", "seconds", "CPU seconds", "files/s"),
        await timing.ingest(given.embedder, given.files),
    )
    if given.data is not None and given.repositories is not None:
        shown(
            "File localization",
            ("repository", "way", "questions", "hit@5", "R@10", "MRR"),
            await localization.measured(given.data, given.repositories, given.embedder),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument("--repositories", type=Path, help="the folder with the source trees")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--files", type=int, default=timing.FILES)
    asyncio.run(main(parser.parse_args()))
