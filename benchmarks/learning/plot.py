"""A plot without a plotting library: Brier scores beside each other, and whether probabilities come true."""

import numpy as np

INK, PALE, BAR, OURS = "#2b2f36", "#d8dce3", "#9aa4b2", "#2f6db3"
WIDTH, HEIGHT = 860, 360
BINS = 5


def plotted(table: list[tuple], forecasts: dict[str, np.ndarray], outcomes: np.ndarray) -> str:
    """The figure as SVG."""
    ours = [name for name in forecasts if "the run" in name]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12" fill="{INK}">',
        "<style>text { font-family: sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_bars(table, ours),
        *_reliability(forecasts[ours[-1]], outcomes),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _text(x: float, y: float, text: str, anchor: str = "start", **more: str) -> str:
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{text}</text>'


def _bars(table: list[tuple], ours: list[str]) -> list[str]:
    parts = [_text(20, 28, "Brier score, lower is better", font_weight="bold")]
    scale = 160 / max(row[2] for row in table)
    for place, (name, _, brier, *_rest) in enumerate(table):
        y = 50 + place * 40
        parts.append(_text(20, y + 4, name))
        fill = OURS if name in ours else BAR
        parts.append(f'<rect x="290" y="{y - 10}" width="{brier * scale:.1f}" height="20" fill="{fill}"/>')
        parts.append(_text(296 + brier * scale, y + 4, f"{brier:.3f}"))
    return parts


def _reliability(told: np.ndarray, outcomes: np.ndarray) -> list[str]:
    left, top, side = 570, 50, 250
    parts = [
        _text(left, 28, "Does the probability come true? (whole trace)", font_weight="bold"),
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="{PALE}"/>',
        f'<line x1="{left}" y1="{top + side}" x2="{left + side}" y2="{top}" stroke="{PALE}" stroke-dasharray="4"/>',
        _text(left + side / 2, top + side + 34, "predicted", "middle"),
        _text(left - 8, top + 12, "1", "end"),
        _text(left - 8, top + side, "0", "end"),
        _text(left, top + side + 16, "0", "middle"),
        _text(left + side, top + side + 16, "1", "middle"),
        _text(left - 8, top + side / 2, "succeeded", "end"),
    ]
    for group in np.array_split(np.argsort(told), BINS):
        x, y = left + side * told[group].mean(), top + side * (1 - outcomes[group].mean())
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{OURS}"/>')
        parts.append(_text(x + 9, y + 4, f"{int(outcomes[group].sum())}/{len(group)}"))
    return parts
