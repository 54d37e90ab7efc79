"""What both this benchmark and the race read from the command line, and what they say about the machine."""

import argparse
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime


def sizes_of(parser: argparse.ArgumentParser, text: str) -> list[int]:
    """How many memories, from small to large."""
    try:
        sizes = sorted({int(size) for size in text.split(",")})
    except ValueError:
        parser.error(f"--sizes is {text!r}: give whole numbers with commas, such as 1000,10000")
    if sizes[0] < 100:
        parser.error(f"--sizes has {sizes[0]}: at least 100 are needed, one for each user")
    return sizes


def chosen_of(parser: argparse.ArgumentParser, option: str, text: str, known: Sequence[str]) -> list[str]:
    """The names in the text, all of which are known."""
    names = [name for name in text.split(",") if name]
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"{option} names {', '.join(unknown)}: there are {', '.join(known)}")
    return names


def machine() -> dict[str, object]:
    return {
        "day": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
