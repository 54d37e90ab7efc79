"""The pages that a person sees in a browser. They load nothing from elsewhere, so they work without a network."""

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from json import dumps
from string import Template
from typing import Any

from scrubjay import __version__
from scrubjay.model import Stats

Operation = Mapping[str, Any]

_SENDS = {"post", "patch", "put"}
_JSON = "application/json"


def home(stats: Stats, *, url: str) -> str:
    """What this is, what it holds, and what to try."""
    kinds = " · ".join(f"{count:,} {escape(kind)}" for kind, count in sorted(stats.kinds.items())) or "nothing yet"
    return _page(
        "home.html",
        title="Scrubjay",
        memories=f"{stats.memories:,}",
        versions=f"{stats.versions:,}",
        scopes=f"{stats.scopes:,}",
        pending=f"{stats.pending:,}",
        kinds=kinds,
        records=escape(stats.records),
        embedder=escape(stats.embedder),
        url=escape(url),
    )


def key_needed(*, url: str) -> str:
    """What this is, for somebody who comes without a key where one is needed."""
    return _page("key.html", title="Scrubjay", url=escape(url))


def reference(document: Mapping[str, Any]) -> str:
    """Every route of the OpenAPI document, with an example and a form to try it."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = _operation(document, method, path, operation)
            groups.setdefault(operation["tags"][0], []).append(shown)
    rows = [row for tag, found in groups.items() for row in (f"<h2>{escape(tag.capitalize())}</h2>", *found)]
    return _page("reference.html", title="Scrubjay: HTTP reference", operations="\n".join(rows))


def lab() -> str:
    """Where somebody looks through the jobs that were done. It asks the service with the key that is typed there."""
    return _page("lab.html", title="Scrubjay: lab")


def _page(name: str, *, title: str, **values: str) -> str:
    body = Template(_file(name)).substitute(version=__version__, **values)
    return Template(_file("page.html")).substitute(title=title, style=_file("style.css"), body=body)


@cache
def _file(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


def _operation(document: Mapping[str, Any], method: str, path: str, operation: Operation) -> str:
    body, taken = _body(document, operation), operation.get("requestBody", {}).get("content", {})
    fields = "".join(_row(*field) for field in [*_parameters(operation), *_fields(body)])
    example = _lines(taken) or (dumps(_example(body), indent=2, ensure_ascii=False) if method in _SENDS else "")
    return Template(_file("operation.html")).substitute(
        method=method,
        type=next(iter(taken), _JSON),
        shown_method=method.upper(),
        path=escape(path),
        summary=escape(operation.get("summary", "")),
        description=escape(operation.get("description", "")).replace("\n\n", "<br><br>"),
        fields=f"<table><tr><th>name</th><th>where</th><th>what</th></tr>{fields}</table>" if fields else "",
        example=escape(example),
        rows=str(max(3, example.count("\n") + 1)),
        hidden="" if example else "hidden",
    )


def _body(document: Mapping[str, Any], operation: Operation) -> Mapping[str, Any]:
    """The schema of what is sent; of one thing or a list of them, that of the one."""
    schema = operation.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("schema", {})
    return _followed(document, schema.get("oneOf", schema.get("anyOf", [schema]))[0])


def _followed(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _lines(taken: Mapping[str, Any]) -> str:
    """The example of a body that is not JSON."""
    return next((str(one["example"]) for kind, one in taken.items() if kind != _JSON and "example" in one), "")


def _example(schema: Mapping[str, Any]) -> object:
    return next(iter(schema.get("examples", [])), {})


def _parameters(operation: Operation) -> Iterator[tuple[str, str, str]]:
    for one in operation.get("parameters", []):
        yield one["name"], one["in"], one.get("description", one["schema"].get("description", ""))


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", [])
    for name, one in schema.get("properties", {}).items():
        yield name, "body, required" if name in required else "body", one.get("description", "")


def _row(name: str, where: str, what: str) -> str:
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(where)}</td><td>{escape(what)}</td></tr>"
