"""Which room of the house may know which. Read from the source, so that nothing has to be imported."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INNER = ("elapsed", "errors", "files", "lazily", "logs", "model", "off_loop", "ports")
CORE = (*INNER, "write", "read", "core", "access", "memories", "jobs", "service")

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "elapsed": (),
    "errors": (),
    "files": ("errors",),
    "lazily": (),
    "logs": (),
    "off_loop": (),
    "model": ("errors",),
    "ports": ("errors", "model"),
    "settings": ("errors", "logs", "model", "usual_variables"),
    "usual_variables": (),
    "write": INNER,
    "read": INNER,
    "parts": (*INNER, "write", "read"),
    "core": (*INNER, "write", "read", "parts"),
    "access": (*INNER, "core"),
    "memories": (*INNER, "write", "read", "core"),
    "jobs": (*INNER, "write", "read", "core", "memories"),
    "service": (*INNER, "write", "read", "core", "access", "memories", "jobs"),
    "sync": CORE,
    "client": (*CORE, "sync"),
    "backends": INNER,
    "models": INNER,
    "wiring": (*CORE, "settings", "sync", "backends", "models"),
    "doors": (
        *("errors", "files", "logs", "model", "off_loop", "service", "sync", "client", "settings", "usual_variables"),
        "wiring",
    ),
    "adapters": ("errors", "logs", "model", "memories", "service", "sync"),
    "testing": (*INNER, "write", "read", "core", "memories"),
}
"""Every room, and the other rooms it may import from. A room always may import from itself."""

USERS = ("doors", "adapters")
"""Rooms that may use the package as a user would: `import scrubjay`."""


@dataclass(frozen=True)
class Arrow:
    """One import, from a room to a room. The room of the package itself is the empty name."""

    file: str
    line: int
    source: str
    target: str
    names: tuple[str, ...]

    @property
    def is_allowed(self) -> bool:
        if self.target == "":
            return self.source in USERS or self.names == ("__version__",)
        return self.target == self.source or self.target in MAY_IMPORT[self.source]

    def __str__(self) -> str:
        allowed = ", ".join(MAY_IMPORT[self.source]) or "no other room"
        return f"{self.file}:{self.line}: {self.source} imports {self.target or 'scrubjay'}; it may import {allowed}"


def arrows_of(text: str, path: Path) -> Iterator[Arrow]:
    """Every import of another part of Scrubjay in this source. `path` is relative to the package."""
    room = path.with_suffix("").parts[0]
    package = ("scrubjay", *path.parent.parts)
    for node in ast.walk(ast.parse(text)):
        for module, names in _imports(node, package):
            if module[:1] == ("scrubjay",):
                for target, found in _rooms(module[1:], names):
                    yield Arrow(str(path), node.lineno, room, target, found)


def _rooms(inside: tuple[str, ...], names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if inside:
        yield inside[0], names
        return
    for name in names or ("",):
        yield (name, ()) if name in MAY_IMPORT else ("", (name,))


def _imports(node: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The dotted module and the names taken from it, for each import in one statement or call."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield tuple(alias.name.split(".")), ()
        case ast.ImportFrom(module=module, names=aliases, level=level):
            base = package[: len(package) - level + 1] if level else ()
            yield (*base, *(module.split(".") if module else ())), tuple(alias.name for alias in aliases)
        case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[ast.Constant(value=str() as name), *_]):  # fmt: skip  # noqa: E501 -- a pattern reads best on one line
            yield tuple(name.split(".")), ()
