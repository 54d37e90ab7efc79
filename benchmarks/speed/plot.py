"""Plots without a plotting library: recall against size, and how fast memories go in."""

import math
from typing import TYPE_CHECKING

from systems import SYSTEMS

if TYPE_CHECKING:
    from report import Figures

INK, PALE = "#2b2f36", "#d8dce3"
COLOURS = {
    "by-hand": "#8a929e",
    "scrubjay": "#2f6db3",
    "chroma": "#d9822b",
    "langgraph-sqlite": "#3d9970",
    "langgraph-memory": "#8fcfb0",
    "mem0": "#b04a5a",
    "mempalace": "#7d5ba6",
    "mcp-memory-service": "#a68a2b",
}
WIDTH, HEIGHT = 900, 400
SIDE, TOP, TALL = 250, 50, 270


def lines(figures: "Figures", *what: str) -> str:
    """Median milliseconds against the number of memories, both by powers of ten, a panel for each."""
    found = [figures.value(n, size, one, "p50") for n in figures.names for size in figures.sizes for one in what]
    values = [value for value in found if value]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    parts = []
    for panel, one in enumerate(what):
        left = 60 + panel * (SIDE + 70)
        parts += _frame(left, figures.sizes, low, high, "everybody's memories" if panel == 0 else "one user's: 1 %")
        for name in figures.names:
            places = [
                (_across(left, size, figures.sizes), _up(value, low, high))
                for size in figures.sizes
                if (value := figures.value(name, size, one, "p50"))
            ]
            parts += _line(places, name)
    parts += _legend(figures, 60 + len(what) * (SIDE + 70) - 20)
    return _svg(["Recall of ten, median milliseconds"], parts)


def bars(figures: "Figures", size: int) -> str:
    """Memories a second, in bulk and one by one, by powers of ten."""
    parts = []
    for panel, (what, title) in enumerate((("bulk", "in bulk"), ("single", "one by one"))):
        left = 190 + panel * 360
        parts.append(_text(left, TOP - 8, title, font_weight="bold"))
        values = {name: figures.value(name, size, what, "rate") for name in figures.names}
        scale = 230 / math.log10(max(value for value in values.values() if value))
        for place, (name, value) in enumerate(values.items()):
            y = TOP + 12 + place * 34
            if panel == 0:
                parts.append(_text(left - 8, y + 14, SYSTEMS[name].title, "end"))
            if value:
                wide = max(1.0, math.log10(value) * scale)
                parts.append(f'<rect x="{left}" y="{y}" width="{wide:.1f}" height="20" fill="{COLOURS[name]}"/>')
                parts.append(_text(left + wide + 6, y + 14, f"{value:,.0f}"))
            else:
                parts.append(_text(left + 2, y + 14, "cut off"))
    return _svg([f"Memories stored in a second, among {size:,}, logarithmic"], parts)


def _svg(titles: list[str], parts: list[str]) -> str:
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12" fill="{INK}">',
        "<style>text { font-family: sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *(_text(20, 22, title, font_weight="bold") for title in titles),
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def _text(x: float, y: float, text: str, anchor: str = "start", **more: str) -> str:
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{text}</text>'


def _across(left: float, size: int, sizes: list[int]) -> float:
    if len(sizes) == 1:
        return left + SIDE / 2
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])
    return left + SIDE * (math.log10(size) - first) / (last - first)


def _up(value: float, low: int, high: int) -> float:
    return TOP + TALL * (1 - (math.log10(value) - low) / max(1, high - low))


def _frame(left: float, sizes: list[int], low: int, high: int, title: str) -> list[str]:
    parts = [_text(left, TOP - 10, title)]
    for power in range(low, high + 1):
        y = _up(10.0**power, low, high)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + SIDE}" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(_text(left - 6, y + 4, f"{10.0**power:g}", "end"))
    for size in sizes:
        x = _across(left, size, sizes)
        parts.append(_text(x, TOP + TALL + 18, f"{size:,}", "middle"))
    return parts


def _line(places: list[tuple[float, float]], name: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    wide = 3 if name == "scrubjay" else 1.5
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{COLOURS[name]}"/>' for x, y in places]
    return [f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="{wide}"/>', *dots]


def _legend(figures: "Figures", left: float) -> list[str]:
    parts = []
    for place, name in enumerate(figures.names):
        y = TOP + 12 + place * 26
        parts.append(f'<rect x="{left}" y="{y - 10}" width="14" height="12" fill="{COLOURS[name]}"/>')
        parts.append(_text(left + 22, y, SYSTEMS[name].title))
    return parts
