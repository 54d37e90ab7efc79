"""The rows of a run as tables, on the terminal and on a page."""

import re
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from plot import bars, lines
from probes import CALLERS, crowd_of
from rich.console import Console
from rich.table import Table
from systems import ALONE, FLOOR, STORES, SYSTEMS

NOTE = "note"
PATHS = re.compile(r"(?<![^\s(])/\S+")
Seen = dict[str, Any]
BEGIN, END = "<!-- measured: written by benchmarks/speed/run.py -->", "<!-- measured, end -->"


class Shown(NamedTuple):
    """A table with its heading; the first columns are words."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 2


class Figures:
    """The rows of a run by system, size and what was measured."""

    def __init__(self, seen: Seen) -> None:
        self._rows = {(row["system"], row["size"], row["what"]): row for row in seen["rows"]}
        self.sizes = sorted({size for _, size, _ in self._rows})
        self.names = [name for name in STORES if any(name == system for system, _, _ in self._rows)]

    def row(self, name: str, size: int, what: str) -> dict[str, Any]:
        """What was found, or nothing."""
        return self._rows.get((name, size, what), {})

    def value(self, name: str, size: int, what: str, key: str) -> float | None:
        return self.row(name, size, what).get(key)

    def times(self, name: str, size: int, what: str, key: str) -> float | None:
        """How many times as long as the plain script; a rate counts by its reciprocal."""
        own, floor = self.value(name, size, what, key), self.value(FLOOR, size, what, key)
        if not own or not floor:
            return None
        return floor / own if key == "rate" else own / floor

    def load(self, name: str, size: int, *what: str) -> float | None:
        found = [self.row(name, size, one)["load"] for one in what if self.row(name, size, one)]
        return max(found, default=None)


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def brief(value: float | None) -> str:
    """Two or three digits that mean something."""
    if value is None:
        return "–"
    if value < 0.1:
        return f"{value:.3f}" if value else "0"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def tables(seen: Seen) -> list[Shown]:
    figures = Figures(seen)
    made = [
        recall(figures),
        writing(figures),
        crowds(figures),
        holding(figures),
        model(figures),
        together(figures),
    ]
    return [without_empty_notes(table) for table in made if table.rows]


def without_empty_notes(table: Shown) -> Shown:
    """Drop the last column when it is for notes and there are none."""
    if table.headings[-1] != NOTE or any(row[-1] for row in table.rows):
        return table
    return table._replace(headings=table.headings[:-1], rows=[row[:-1] for row in table.rows])


def recall(figures: Figures) -> Shown:
    rows = []
    for size in figures.sizes:
        for name in figures.names:
            bulk = figures.row(name, size, "bulk")
            if not bulk:
                continue
            cells = [f"{size:,}", SYSTEMS[name].title]
            for what in ("recall", "recall 1 %"):
                cells += [brief(figures.value(name, size, what, key)) for key in ("p50", "p95")]
                cells.append(brief(figures.times(name, size, what, "p50")))
                cells += with_ratio(figures, name, size, what, "cpu ms")
            found = figures.value(name, size, "recall", "found")
            cells += [number(found and 100 * found), number(figures.value(name, size, "recall", "asked"))]
            cells.append(number(figures.load(name, size, "recall", "recall 1 %"), 1))
            failures = [figures.row(name, size, what).get("failed") for what in ("start", "recall", "recall 1 %")]
            rows.append((*cells, ended(bulk, size) or next(filter(None, failures), "")))
    both = ("p50", "p95", "×", "CPU", "×", "1 %: p50", "p95", "×", "CPU", "×")
    headings = ("memories", "system", *both, "found %", "asked", "load", NOTE)
    return Shown("Recall of ten, vectors looked up, in milliseconds", headings, rows)


def writing(figures: Figures) -> Shown:
    rows = []
    for size in figures.sizes:
        for name in figures.names:
            bulk = figures.row(name, size, "bulk")
            if not bulk:
                continue
            cells = [f"{size:,}", SYSTEMS[name].title]
            for what in ("bulk", "single"):
                cells.append(number(figures.value(name, size, what, "rate")))
                cells.append(brief(figures.times(name, size, what, "rate")))
                cells += with_ratio(figures, name, size, what, "cpu ms")
            cells.append(brief(figures.value(name, size, "syncs", "each")))
            cells.append(number(figures.load(name, size, "bulk", "single"), 1))
            rows.append((*cells, ended(bulk, size)))
    both = ("bulk/s", "×", "CPU", "×", "single/s", "×", "CPU", "×")
    return Shown(
        "Writing, vectors looked up; CPU in milliseconds for each memory",
        ("memories", "system", *both, "syncs each", "load", NOTE),
        rows,
    )


def crowds(figures: Figures) -> Shown:
    rows = []
    for size in figures.sizes:
        floor = figures.value(FLOOR, size, crowd_of(1), "rate")
        for name in figures.names:
            cells: list[str] = []
            for callers in CALLERS:
                rate = figures.value(name, size, crowd_of(callers), "rate")
                cells += [number(rate), brief(rate and floor and floor / rate)]
                cells.append(brief(figures.value(name, size, crowd_of(callers), "cpu ms")))
            what = [crowd_of(callers) for callers in CALLERS]
            if any(figures.row(name, size, one) for one in what):
                rows.append((f"{size:,}", SYSTEMS[name].title, *cells, number(figures.load(name, size, *what), 1)))
    each = tuple(heading for callers in CALLERS for heading in (f"{callers} at once/s", "×", "CPU"))
    return Shown(
        "Single writes by several callers of one process; × of the script's time with one",
        ("memories", "system", *each, "load"),
        rows,
    )


def with_ratio(figures: Figures, name: str, size: int, what: str, key: str) -> list[str]:
    return [brief(figures.value(name, size, what, key)), brief(figures.times(name, size, what, key))]


def briefly(said: str) -> str:
    """What went wrong, without the folders of the machine on which it did."""
    return PATHS.sub("…", said)[:90]


def ended(bulk: dict[str, Any], size: int) -> str:
    if "failed" in bulk:
        return f"failed: {briefly(bulk['failed'])}"
    return "" if bulk["stored"] == size else f"cut off at {bulk['stored']:,}"


def holding(figures: Figures) -> Shown:
    rows = [
        (
            f"{size:,}",
            SYSTEMS[name].title,
            number(figures.value(name, size, "settled", "seconds")),
            number(figures.value(name, size, "start", "milliseconds")),
            brief(figures.times(name, size, "start", "milliseconds")),
            number(figures.value(name, size, "memory", "megabytes")),
            number(figures.value(name, size, "bulk", "memory")),
            number(figures.value(name, size, "bulk", "disk MB"), 1),
            number(figures.load(name, size, "start"), 1),
        )
        for size in figures.sizes
        for name in figures.names
        if figures.row(name, size, "memory")
    ]
    headings = ("memories", "system", "settled s", "start ms", "×", "memory MB", "while filling", "disk MB", "load")
    return Shown("Start to first answer, memory and disk", headings, rows)


def model(figures: Figures) -> Shown:
    rows = []
    for size in figures.sizes:
        for name in (ALONE, *figures.names):
            asked, stored = figures.row(name, size, "model recall"), figures.row(name, size, "model bulk")
            if not asked:
                continue
            cells = [brief(asked.get("p50")), brief(asked.get("p95")), brief(asked.get("cpu ms"))]
            cells.append(brief(figures.times(name, size, "model recall", "p50")))
            cells += [number(stored.get("rate")), number(stored.get("share") and 100 * stored["share"])]
            rows.append((f"{size:,}", SYSTEMS[name].title, *cells, number(asked["load"], 1), asked.get("failed", "")))
    headings = ("memories", "system", "recall p50 ms", "p95 ms", "CPU", "×", "bulk/s", "% of the model's", "load", NOTE)
    return Shown("With the bundled model in place of look-up", headings, rows)


def together(figures: Figures) -> Shown:
    rows = []
    for size in figures.sizes:
        for name in figures.names:
            found = figures.row(name, size, "together")
            if not found:
                continue
            cells = [number(found.get(key)) for key in ("written/s", "read/s", "errors", "lost")]
            sees = "–" if "failed" in found else "yes" if found["all see all"] else "no"
            said = found.get("failed") or found.get("first error") or ""
            rows.append((f"{size:,}", SYSTEMS[name].title, *cells, sees, number(found["load"], 1), briefly(said)))
    headings = ("memories", "system", "written/s", "read/s", "errors", "lost", "all see all", "load", NOTE)
    return Shown("Two processes write and two read on one store", headings, rows)


def show(seen: Seen, console: Console) -> None:
    for shown in tables(seen):
        table = Table(title=shown.title, title_justify="left")
        for place, heading in enumerate(shown.headings):
            is_words = place < shown.words or heading == NOTE
            table.add_column(heading, justify="left" if is_words else "right", no_wrap=place < shown.words)
        for row in shown.rows:
            table.add_row(*row)
        console.print(table)


def markdown(shown: Shown) -> str:
    aligned = [
        "---" if place < shown.words or heading == NOTE else "---:" for place, heading in enumerate(shown.headings)
    ]
    body = [shown.headings, tuple(aligned), *(tuple(cell.replace("|", "\\|") for cell in row) for row in shown.rows)]
    return f"### {shown.title}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in body)


def write(seen: Seen, page: Path) -> None:
    """Exchange the measured part of the page, and write its plots beside it."""
    figures = Figures(seen)
    plots = {
        "recall": lines(figures, "recall", "recall 1 %"),
        "writing": bars(figures, seen["probed"]),
    }
    for name, drawn in plots.items():
        (page.parent / f"{page.stem}-{name}.svg").write_text(drawn, encoding="utf-8")
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    measured = "\n\n".join([machine(seen), *(markdown(shown) for shown in tables(seen))])
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}", encoding="utf-8")


def machine(seen: Seen) -> str:
    about = seen["machine"]
    loads = [row["load"] for row in seen["rows"]]
    said = (
        f"{about['day']}, {about['cores']} cores, {about['system']}, Python {about['python']}, Scrubjay "
        f"{about['scrubjay']}, texts of {about['texts']}, a budget of {seen['budget']:.0f} s for each figure. "
        f"{min(loads):.0f} to {max(loads):.0f} programs wanted a processor meanwhile."
    )
    if statistics.median(loads) > 2 * about["cores"]:
        said += (
            " **The machine was busy with other work**, so that wall-clock times are several times what they are on a "
            "quiet one, and more systems were cut off. Compare processor time."
        )
    return said
