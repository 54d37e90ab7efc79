"""What learning from executions is worth, and what it costs.

    python benchmarks/learning/run.py --data FOLDER            # all of it, about ten minutes; writes the page
    python benchmarks/learning/run.py --data FOLDER --quick    # fewer seeds and executions; writes nothing

FOLDER holds `tasks/airline.jsonl` and `recall/past_tasks/`. Every figure is out of sample: learned on the past,
measured on what came after it.
"""

import argparse
import asyncio
from pathlib import Path

import cost
import prediction
import recovery
import retrieval
from plot import plotted
from rich.console import Console
from rich.table import Table

PAGES = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
console = Console(width=120)


def shown(title: str, headings: tuple[str, ...], rows: list[tuple]) -> str:
    """Print a table, and return it for the page."""
    table = Table(*headings, title=title, title_justify="left")
    texts = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    for row in texts:
        table.add_row(*row)
    console.print(table)
    lines = [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *texts)]
    return "\n".join(lines)


def planted_rows(seeds: int) -> list[tuple]:
    rows = []
    for many in (500, 1_000, 2_000):
        told = recovery.recovery(seeds, many=many, families=10)
        rows.append((f"{many:,}", many // 10, told["precision"], told["recall"], told["indicators"]))
    return rows


def shuffled_rows(seeds: int) -> list[tuple]:
    rows = []
    for name, many, attempts in (
        ("every task tried once", 300, 1),
        ("every task tried once", 1_000, 1),
        ("every task tried four times, always ending alike", 400, 4),
    ):
        histories, findings = recovery.shuffled(seeds, many=many, families=5, attempts=attempts)
        rows.append((name, f"{many:,}", f"{histories} of {seeds}", histories / seeds, findings))
    return rows


async def measure(data: Path, *, quick: bool) -> None:
    forecasts, told, outcomes = await prediction.measured(data)
    parts = {
        "PREDICTION": shown(
            "Success prediction, airline",
            ("forecast", "AUC", "Brier", "skill", "gain, lower", "gain, upper"),
            forecasts,
        ),
        "UNSEEN": shown("Tasks never tried before", ("forecast", "AUC", "Brier", "skill"), prediction.unseen(data)),
        "PLANTED": shown(
            "Planted effects",
            ("executions", "per family", "precision", "recall", "indicators per history"),
            planted_rows(3 if quick else 20),
        ),
        "SHUFFLED": shown(
            "Shuffled outcomes",
            ("", "executions", "histories with any finding", "rate", "findings"),
            shuffled_rows(10 if quick else 200),
        ),
        "RETRIEVAL": shown("Similar tasks", ("mode", "R@5", "R@10", "MRR"), await retrieval.measured(data)),
        "COST": shown("Cost", ("", ""), await cost.measured(5_000 if quick else 100_000)),
    }
    if quick:
        return
    PAGES.mkdir(exist_ok=True)
    page = (Path(__file__).parent / "page.txt").read_text(encoding="utf-8")
    for name, table in parts.items():
        page = page.replace(f"<!-- {name} -->", table)
    (PAGES / "learning.md").write_text(page, encoding="utf-8")
    (PAGES / "learning.svg").write_text(plotted(forecasts, told, outcomes), encoding="utf-8")
    console.print(f"wrote {PAGES / 'learning.md'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and executions; writes nothing")
    given = parser.parse_args()
    asyncio.run(measure(given.data, quick=given.quick))


if __name__ == "__main__":
    main()
