"""Requests made from the OpenAPI document: every operation, with all that somebody may know of somebody else."""

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

NDJSON = "application/x-ndjson"
PLAIN = ("healthz", "readyz", "metrics", "version")

HARMLESS = {"execution_summary", "reason", "note", "goal", "importance", "min_samples", "most_bytes", "outcome"}
"""What says nothing of where something is: given where it has to be, and not tried beyond that."""


@dataclass(frozen=True)
class Asked:
    """One request, ready to be sent."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None

    def send(self, client, headers):
        """What is answered. The content type is said for lines only: httpx says it for JSON."""
        told = {**headers, "content-type": NDJSON} if self.content is not None else headers
        body = {"content": self.content} if self.content is not None else {"json": self.json}
        return client.request(self.method, self.path, params=self.params, headers=told, **body)


@dataclass(frozen=True)
class Operation:
    """A method of a path, and the names of what it takes."""

    name: str
    method: str
    path: str
    in_path: tuple[str, ...]
    in_query: dict[str, bool]
    in_body: dict[str, bool]
    takes_lines: bool

    def requests(
        self, known: dict[str, list], where: dict[str, str], lines: list[bytes], tried: Container[str] | None = None
    ) -> Iterator[Asked]:
        """A request with what has to be given, then one for each other thing that is known, or that is to be tried."""
        needed = [*self.in_path, *(name for name, is_needed in self._all() if is_needed and name not in where)]
        unknown = [name for name in needed if name not in known]
        assert not unknown, f"{self.name} needs {unknown}: say in `known` what a stranger would give"
        base = {name: known[name][0] for name in needed} | {
            name: value for name, value in where.items() if name in dict(self._all())
        }
        if self.takes_lines:
            yield from (self._asked(base, body) for body in lines)
            return
        yield self._asked(base, None)
        for name in (*self.in_path, *dict(self._all())):
            for value in known.get(name, ()):
                is_tried = name in tried if tried is not None else name in needed or name not in HARMLESS
                if is_tried and name not in where and base.get(name) != value:
                    yield self._asked({**base, name: value}, None)

    def _all(self) -> list[tuple[str, bool]]:
        return [*self.in_query.items(), *self.in_body.items()]

    def _asked(self, given: dict[str, Any], content: bytes | None) -> Asked:
        path = self.path
        for name in self.in_path:
            path = path.replace(f"{{{name}}}", str(given[name]))
        params = {name: value for name, value in given.items() if name in self.in_query}
        body = {name: value for name, value in given.items() if name in self.in_body}
        is_sent = bool(self.in_body) or self.method in ("POST", "PUT", "PATCH")
        return Asked(self.method, path, params, body if is_sent and content is None else None, content)


def operations(document: dict[str, Any]) -> list[Operation]:
    """Every operation of the document."""
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = operation.get("parameters", [])
            content = operation.get("requestBody", {}).get("content", {})
            found.append(
                Operation(
                    name=operation["operationId"],
                    method=method.upper(),
                    path=path,
                    in_path=tuple(one["name"] for one in parameters if one["in"] == "path"),
                    in_query={one["name"]: one["required"] for one in parameters if one["in"] == "query"},
                    in_body=_properties(document, content.get("application/json", {}).get("schema", {})),
                    takes_lines=NDJSON in content,
                )
            )
    return found


def _properties(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, bool]:
    first = next(iter(schema.get("oneOf", [schema])))
    named = document["components"]["schemas"].get(first.get("$ref", "").rpartition("/")[2], first)
    needed = named.get("required", [])
    return {name: name in needed for name in named.get("properties", {})}


def lines_with(ids: list[str]) -> list[bytes]:
    """Lines to import, each with an id that is taken; and an execution of a task that is known."""
    told = {"content": "mine", "created_at": "2026-01-01T00:00:00Z", "valid_from": "2026-01-01T00:00:00Z"}
    header = json.dumps({"format": "scrubjay-memories", "version": 1})
    execution = json.dumps({"task_id": "SHOP-1", "execution_summary": "mine", "success": False})
    return [*(f"{header}\n{json.dumps({**told, 'id': one})}\n".encode() for one in ids), f"{execution}\n".encode()]
