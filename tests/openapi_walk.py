"""Requests made from the OpenAPI document: every operation, with all that somebody may know of somebody else."""

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

MARK = "Ornithorhynchus"
"""A word in every text of the owner. A stranger never says it, and must never hear it."""

ANNA = {"user": "anna", "project": "shop"}
SESSION = "s-of-anna"

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


class Owner:
    """What somebody keeps in every memory, and what a stranger knows of it."""

    def __init__(self, client, headers):
        self.client = client
        self.headers = headers

    def tell(self, method, path, told=None, **params):
        answer = self.client.request(method, path, json=told, params=params, headers=self.headers)
        assert answer.is_success, f"{path}: {answer.text}"
        return answer.json()

    def fill(self):
        note = self.tell("POST", "/v1/memory", {"content": f"{MARK} note", "key": "note", "id": "my-own-id", **ANNA})
        facts = [
            self.tell("POST", "/v1/facts", {"content": f"{MARK} {text}", **ANNA, **details})
            for text, details in {
                "port is 8080": {"key": "fact:port"},
                "is gone": {"key": "fact:gone"},
                "deploys run on Monday": {},
                "deploys run on Tuesday": {},
            }.items()
        ]
        self.tell("DELETE", "/v1/facts", None, key="fact:gone", **ANNA)
        preference = {"key": "indent", "content": f"{MARK} tabs", **ANNA}
        self.tell("POST", "/v1/facts/preferences", preference)
        self.tell("POST", "/v1/facts/skills", {"key": "deploy", "content": f"{MARK} tag", **ANNA})
        told = {"task_description": f"deploy the {MARK} shop", "task_type": "deploy", **ANNA}
        executions = [
            {
                "task_id": f"SHOP-{number}",
                "execution_summary": f"{MARK} {tool}",
                "success": tool == "migrate",
                "tools": [tool],
                **told,
            }
            for number, tool in enumerate(["migrate", "guess"] * 6)
        ]
        self.tell("POST", "/v1/memory/store", executions)
        [similar] = self.tell("POST", "/v1/memory/search", {"task_description": "deploy the shop", "top_k": 1, **ANNA})
        [pattern, *_] = self.tell("POST", "/v1/memory/patterns/learn", ANNA)
        in_session = {"session": SESSION, **ANNA}
        said = self.tell("POST", "/v1/working/messages", {"messages": [f"{MARK} hello"], **in_session})
        scratch = self.tell("PUT", "/v1/working/scratch", {"name": "plan", "value": f"{MARK} plan", **in_session})
        episode = self.tell("POST", "/v1/episodes", {"content": f"{MARK} happened", **in_session})
        files = [{"path": "shop.py", "content": f"# {MARK}\n"}]
        job = {"goal": f"{MARK} job", "repo_path": "/srv/shop", "task_id": "J-1", "files": files, **ANNA}
        completion = self.tell("POST", "/v1/workspace/completions", job)
        agent = self.tell("POST", "/v1/agents", {"agent": "planner", "directives": f"{MARK} plan", **ANNA})
        self.tell("POST", "/v1/agents/planner/cycles", {"goal": f"{MARK} goal", **ANNA})
        self.tell("POST", "/v1/agents/planner/proposals", {"tool": f"{MARK}", **ANNA})
        self.tell("POST", "/v1/agents/planner/records", {"kind": "plan", "content": f"{MARK} record", **ANNA})
        key = self.tell("POST", "/v1/keys", {"name": f"{MARK} key"})
        self.ids = [note["memory"]["id"], *(one["fact"]["memory"]["id"] for one in facts), similar["memory_id"]]
        self.said = said[0]["id"]
        self.ids += [episode["memory"]["id"], completion["id"], agent["id"]]
        self.conflict = facts[-1]["conflicts"][0]["id"]
        self.pattern, self.receipt, self.version = pattern["id"], similar["receipt"], scratch["version"]
        self.key = key["key"]["id"]

    def kept(self):
        """All that the owner has. What only counts reading is left out: it is written a little later."""
        exported = self.client.get("/v1/memory/export", params=ANNA, headers=self.headers).text
        memories = [json.loads(line) for line in exported.splitlines()]
        for memory in memories:
            memory.pop("uses", None)
            memory.pop("used_at", None)
        in_session = {"session": SESSION, **ANNA}
        return [
            memories,
            self.tell("GET", "/v1/working/messages", **in_session),
            self.tell("GET", "/v1/working/scratch", **in_session),
            self.tell("GET", "/v1/working/session", **in_session),
            self.tell("GET", "/v1/agents/planner/resume", **ANNA),
            [one["revoked_at"] for one in self.tell("GET", "/v1/keys")],
        ]

    def known(self):
        """What a stranger would give under each name, in turn."""
        # One of each sort: a note, a fact, a completed job, an agent, an id of one's own, a key.
        taken = [self.ids[0], self.ids[1], *self.ids[-2:], "my-own-id", self.key]
        asked = ["deploy the port, host and shop"]
        return {
            "id": taken,
            "after": [self.ids[0], 1],
            "conflict": [self.conflict],
            "pattern_id": [self.pattern],
            "keep": ["both", self.ids[3]],
            "derived_from": [self.ids[:1]],
            "key": ["note", "fact:port", "pref:indent", "skill:deploy"],
            "key_prefix": ["fact:", "task:"],
            "receipt": [self.receipt],
            "task_id": ["SHOP-1", "J-1"],
            "name": ["plan", "memory.*"],
            "expect": [self.version],
            "session": [SESSION],
            "agent": ["planner"],
            "cycle": [1],
            "index": [1],
            "user": ["anna"],
            "project": ["shop"],
            **dict.fromkeys(("query", "description", "task_description", "q"), asked),
            **{name: ["mine"] for name in ("content", "execution_summary", "reason", "note", "goal", "directives")},
            "messages": [["mine"], [{"id": self.said, "content": "mine"}]],
            "value": ["mine"],
            "tool": ["mine"],
            "kind": ["plan", "note"],
            "to": ["other"],
            "before": [1],
            "success": [True],
            "outcome": ["helped", "hurt", "succeeded"],
            "importance": [0.0],
            "by": [-1.0],
            "task_type_pattern": ["deploy"],
            "min_samples": [1],
            "helpful": [False],
            "everything": [True],
            "purge": [True],
            "history": [True],
            "across_projects": [True],
            "across_users": [True],
            "auto_extract_patterns": [True],
            "around": [5],
            "repo": ["/srv/shop"],
            "repo_path": ["/srv/shop"],
            "most_bytes": [1],
            "status": ["archived", "abandoned", "rejected"],
            "path": ["/srv/shop"],
            "directory": ["/srv/shop"],
            "cites": [["shop.py"]],
            "file": ["archive.ndjson.gz"],
            "archived": [True],
            "snapshot": [1],
            "source": ["working", "records"],
        }
