"""The rows of a race as tables."""

from typing import Any

import numpy as np
from equal import ANSWER, HIT, is_slight
from measures import interval
from report import brief
from rich.console import Console
from rich.table import Table
from systems import FLOOR, SYSTEMS
from turns import NEW, OLD, SIDES

Row = dict[str, Any]
EXAMPLES = 8
"""Differences that are printed; --json and --save have all of them."""

CLOCKS = ("clock", "cpu")
BY = ("clock", "cpu", "least cpu")
ENOUGH = 6
"""Rounds below which an interval says nothing: that all of so few point one way happens by chance."""


def compared(rows: list[Row]) -> list[Row]:
    """The same rows, each with how many times as long it takes as the sides before it."""
    known = {(row["size"], row["what"], row["side"]): row for row in rows}
    return [
        {
            **row,
            "times": {
                other: times_as_long(row, known[row["size"], row["what"], other])
                for other in SIDES[: SIDES.index(row["side"])]
            },
        }
        for row in rows
    ]


def times_as_long(row: Row, other: Row) -> dict[str, Row]:
    """By the clock, by the processor, and by the least that the processor took for each place."""
    return {
        "clock": ratio(row["clock"]["rounds"], other["clock"]["rounds"]),
        "cpu": ratio(row["cpu"]["rounds"], other["cpu"]["rounds"]),
        # Without an interval: processes of one version differ by more than their own least times do.
        "least cpu": {"ratio": float(np.median(np.divide(row["cpu"]["places"], other["cpu"]["places"])))},
    }


def ratio(own: list[float], others: list[float]) -> Row:
    """The median of the rounds' ratios, and where it lies with 95 % confidence."""
    each = np.divide(own, others)
    low, high = interval(each, of=np.median)
    return {"ratio": float(np.median(each)), "low": low, "high": high, "rounds": len(each)}


def show(seen: Row, console: Console) -> None:
    if seen["rows"]:
        console.print(times(seen))
    for row in seen["equal"]:
        console.print(verdict(row))
    differs = [{"store": row["store"], **one} for row in seen["equal"] for one in row["differs"] if not is_slight(one)]
    for one in differs[:EXAMPLES]:
        asked = {key: value for key, value in one["asked"].items() if key != "query"}
        console.print(f"  {one['store']}, {one['asked']['query'][:60]!r} {asked or ''} {one['field']}:", markup=False)
        console.print(f"    old {str(one['old'])[:140]}\n    new {str(one['new'])[:140]}", markup=False)
    if len(differs) > EXAMPLES:
        console.print(f"  and {len(differs) - EXAMPLES:,} more; --save FILE has all of them")


def times(seen: Row) -> Table:
    loads = [row["load"] for row in seen["rows"]]
    title = (
        f"Milliseconds for one, {seen['rounds']} rounds: {seen['old']} against {seen['new']}; "
        f"{min(loads):.0f} to {max(loads):.0f} programs wanted a processor"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("memories", "", "side"):
        table.add_column(heading, no_wrap=True)
    for heading in ("clock", "least", "CPU", "least", "× old: clock", "CPU", "least CPU", "× script: CPU"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in seen["rows"]:
        title = SYSTEMS[FLOOR].title if row["side"] == FLOOR else row["side"]
        cells = [brief(row[clock][figure]) for clock in CLOCKS for figure in ("median", "least")]
        cells += [stated(row["times"].get(OLD), by) for by in BY]
        cells.append(brief(row["times"][FLOOR]["cpu"]["ratio"]) if FLOOR in row["times"] else "")
        first = row["side"] == SIDES[0]
        table.add_row(f"{row['size']:,}" if first else "", row["what"] if first else "", title, *cells)
        if row["side"] == NEW:
            table.add_section()
    return table


def stated(times: Row | None, by: str) -> str:
    """The ratio with its interval, or without where there are too few to have one."""
    if times is None:
        return ""
    found = times[by]
    if found.get("rounds", 0) < ENOUGH:
        return f"[dim]{found['ratio']:.3f}[/]"
    style = "green" if found["high"] < 1 else "red" if found["low"] > 1 else "dim"
    return f"[{style}]{found['ratio']:.3f} ({found['low']:.3f} … {found['high']:.3f})[/]"


def verdict(row: Row) -> str:
    """One line about a store: how many answers are the same, and how many differ in what."""
    said = f"{row['store']}: {row['asked']:,} answers"
    if not row["differs"]:
        return f"[green]{said}, all the same on both sides[/]"
    parts = []
    for field in ("ids", *ANSWER, *HIT):
        found = [one for one in row["differs"] if one["field"] == field]
        slight = sum(is_slight(one) for one in found)
        most = max((one["by"] for one in found if one["by"] is not None), default=None)
        if len(found) > slight:
            by = "" if most is None else f", by up to {most:.2g}"
            parts.append(f"{field} differ in {len(found) - slight:,}{by}")
        if slight:
            parts.append(f"{field} in the last digits in {slight:,}")
    return f"[red]{said}: {'; '.join(parts)}[/]"
