"""Play `scrubjay demo` and keep what it shows as docs/images/demo.svg, for the README."""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from scrubjay.doors.cli.demo import play

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "demo.svg"
WIDTH = 100

NIGHT = TerminalTheme(
    (18, 24, 33),
    (214, 222, 235),
    [
        (62, 74, 92),
        (239, 107, 115),
        (127, 214, 142),
        (240, 198, 116),
        (110, 160, 255),
        (199, 146, 234),
        (94, 205, 228),
        (214, 222, 235),
    ],
)

# The picture has to look alike wherever it is shown, and asks no server for a font.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "font-family: Fira Code, monospace", "font-family: 'Fira Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)


def main() -> None:
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", markup=False
    )
    play(console, pause=0)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    picture = console.export_svg(title="scrubjay demo", theme=NIGHT, code_format=FORMAT, unique_id="demo")
    TARGET.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")
    print(f"wrote {TARGET.name}, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
