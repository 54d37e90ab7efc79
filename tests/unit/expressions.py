"""Holds every regular expression of the package against hostile texts, and prints which of them take long."""

import ast
import dataclasses
import importlib
import json
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType

import scrubjay
from scrubjay.errors import ScrubjayError

ROOT = Path(str(scrubjay.__file__)).parent
SHORT, LONG = 1_000, 20_000
WORTH_A_LOOK = 0.0005
"""Seconds of processor time over a short text from which on a long one is tried: ten times as long as most take."""
MOST = 0.5
"""Seconds over a long text. What grows with the length takes 0.05 at most, what grows with its square takes more."""
PIECES = (
    "a", "A", "0", " ", "\t", "\n", "@", ".", "-", ":", "/", "\\", "{", "(", "[", "<", "=", "'", '"', "`", "é", "。",
    "a ", "A ", "a.", "A-", "a@", "a-", "a_", "a/", "1.", "1 ", ", ", "a\n", "Abc: ", "a@a.",
)  # fmt: skip
WAYS = {"match": "match", "fullmatch": "fullmatch", "search": "search"} | dict.fromkeys(
    ("finditer", "findall", "sub", "subn"), "finditer"
)
"""The ways to ask an expression, and those that stand for them."""

BOUNDS = {
    "scrubjay.memories.learning.fingerprints._STRIPPED": (2_000, "_READ there"),
    "scrubjay.read.clauses._SEAM": (400, "LONGEST in framing"),
}
"""Expressions whose callers hand them short texts only: how long these are at most, and why."""


def modules() -> list[ModuleType]:
    """Every module that makes expressions and can be imported here, and what these bring with them."""
    for file in sorted(ROOT.rglob("*.py")):
        if "import re\n" in file.read_text("utf-8"):
            name = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
            # What is missing is an extra that is not installed.
            with suppress(ImportError, ScrubjayError):
                importlib.import_module(name.removesuffix(".__init__"))
    return [module for name, module in sorted(sys.modules.items()) if name.startswith("scrubjay.")]


def held(name: str, value: object, seen: set[int]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The expressions in a value and in what it holds, each under the name by which it is asked."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif id(value) not in seen:
        seen.add(id(value))
        for called, part in parts(name, value):
            yield from held(called, part, seen)


def parts(name: str, value: object) -> Iterator[tuple[str, object]]:
    """What rules are made of: collections, fields, and what a function was given when it was made."""
    if isinstance(value, FunctionType):
        for free, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            yield free, cell.cell_contents
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield field.name, getattr(value, field.name, None)
    elif isinstance(value, Mapping):
        yield from ((name, one) for one in (*value.keys(), *value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from ((name, one) for one in value)


def ways_of(source: str) -> dict[str, set[str]]:
    """How this source asks things by name; under "" what it asks whatever it is called."""
    ways: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in WAYS:
            asked = node.value
            name = asked.id if isinstance(asked, ast.Name) else asked.attr if isinstance(asked, ast.Attribute) else ""
            ways.setdefault(name, set()).add(WAYS[node.attr])
            ways.setdefault("", set()).add(WAYS[node.attr])
    return ways


def texts(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Repeated pieces, and words of the expression itself, before what it does not expect and before a space."""
    own = re.findall(r"(?<!\\)[A-Za-z]{2,}[ :=_-]?", pattern.pattern)[:8]
    for piece in dict.fromkeys((*PIECES, *own)):
        half = piece * (length // len(piece) // 2 + 1)
        yield f"{half}\x00{half} \x00"


def ask(pattern: re.Pattern[str], way: str, text: str) -> None:
    """Ask the expression so, to the end."""
    if way == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, way)(text)


class Late(BaseException):
    """It took too long."""


def late(*_: object) -> None:
    raise Late


def seconds(pattern: re.Pattern[str], way: str, text: str) -> float:
    """Processor time, until it is too much."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * MOST)
    try:
        ask(pattern, way, text)
    except Late:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - began


def slowest(pattern: re.Pattern[str], way: str, longest: int) -> tuple[float, str]:
    """How long it takes over the worst of the long texts, as far as it takes long, and how that begins."""
    worst = (0.0, "")
    for short, long in zip(texts(pattern, min(SHORT, longest)), texts(pattern, min(LONG, longest)), strict=True):
        if seconds(pattern, way, short) > WORTH_A_LOOK:
            worst = max(worst, (seconds(pattern, way, long), long[:20]))
        if worst[0] > MOST:
            break
    return worst


def asked_as(name: str, called: str, module: str, sources: Mapping[str, dict[str, set[str]]]) -> set[str]:
    """How an expression is asked: a private one in its module only, and one of which that is not known in any way."""
    own = sources[module]
    if name == called and name.startswith("_"):
        return own.get(called) or own.get("") or {*WAYS.values()}
    return set().union(*(ways.get(called, ()) for ways in sources.values())) or own.get("") or {*WAYS.values()}


def main() -> None:
    """Say which are slow, how many were read, and which bounds nobody needs."""
    signal.signal(signal.SIGVTALRM, late)
    everything = modules()
    sources = {one.__name__: ways_of(Path(str(one.__file__)).read_text("utf-8")) for one in everything}
    seen: set[int] = set()
    read: set[re.Pattern[str]] = set()
    slow: list[str] = []
    unused = set(BOUNDS)
    for module in everything:
        for name, value in vars(module).items():
            for called, pattern in held(name, value, seen):
                if pattern in read or isinstance(pattern.pattern, bytes):
                    continue
                read.add(pattern)
                where = f"{module.__name__}.{name}"
                longest, _ = BOUNDS.get(where, (LONG, ""))
                unused.discard(where)
                for way in sorted(asked_as(name, called, module.__name__, sources)):
                    taken, begins = slowest(pattern, way, longest)
                    if taken > MOST:
                        slow.append(f"{where} {way} {pattern.pattern[:60]!r}: {taken:.1f} s over {begins!r}")
    sys.stdout.write(json.dumps({"slow": slow, "read": len(read), "unused_bounds": sorted(unused)}))


if __name__ == "__main__":
    main()
