"""Measure how long one request of each route holds the event loop, with the largest and oddest body it takes.

python scripts/loop_pauses.py                       every route of the OpenAPI document, some minutes
python scripts/loop_pauses.py --only memory --json  routes whose name holds this, as lines of JSON

The service runs in a process of its own, with a watcher: a callback of its event loop that should come every few
milliseconds. How late it came is a pause. The machine may be busy with something else meanwhile, so time in which the
loop's thread waited for a processor does not count, nor more than any one thread of the service computed in it. A
request whose pause is too long is sent again, and the shortest of its pauses counts.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import random
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import httpx

from scrubjay.doors.http import server
from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings

BOUND: Final = 0.05
"""Seconds for which no request may hold the loop."""

TICK: Final = 0.004
REPEATS: Final = 3
PATIENCE: Final = 30.0
"""Seconds until an answer is given up. What is done for it may go on."""

LONG: Final = 990_000
HUGE: Final = 15_900_000
"""Characters of a text that is within the bound of a content, and bytes of one that fills a whole body."""

LINES: Final = 1_000_000
"""Bytes of lines that hold nothing. A body of lines may be far larger, and is read as it comes."""

TEXTS: Final = {
    "han": "漢",
    "digits": "1 ",
    "secrets": "api_key=",
    "lines": "a\n",
    "json": '{"a":"',
    "word": "x",
    "emoji": "😀é",
}

SOUND: Final = {"task_id": "T-1", "id": "nothing", "query": "what"}


# In the process of the service


@dataclass
class Watcher:
    """The longest pause of an event loop since it was asked last, and where the loop stood then."""

    longest: float = 0.0
    where: str = ""
    _last: float = field(default_factory=time.monotonic)
    _spent: dict[str, tuple[int, int]] = field(default_factory=dict)
    _seen: str = ""
    _thread: int = 0

    def begin(self) -> None:
        """Watch the loop that runs here."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._own = str(threading.get_native_id())
        threading.Thread(target=self._look, daemon=True).start()
        self._tick()

    def taken(self) -> tuple[float, str]:
        """What was found, and begin anew."""
        found, self.longest, self.where = (self.longest, self.where), 0.0, ""
        return found

    def _tick(self) -> None:
        now, spent = time.monotonic(), _spent()
        late = now - self._last - TICK
        if late > TICK:
            waited = (spent[self._own][1] - self._spent.get(self._own, (0, 0))[1]) / 1e9
            busiest = max(spent[one][0] - self._spent.get(one, (0, 0))[0] for one in spent) / 1e9
            held = min(late - waited, busiest)
            if held > self.longest:
                self.longest, self.where = held, self._seen
        self._seen = ""
        self._last, self._spent = time.monotonic(), spent
        self._loop.call_later(TICK, self._tick)

    def _look(self) -> None:
        """See where the loop stands when it is late."""
        while True:
            time.sleep(2 * TICK)
            if time.monotonic() - self._last > BOUND / 2 and (frame := sys._current_frames().get(self._thread)):
                stack = [one for one in traceback.extract_stack(frame) if "asyncio" not in one.filename]
                ours = [one for one in stack if "scrubjay" in one.filename][-3:]
                self._seen = " > ".join(
                    f"{Path(one.filename).name}:{one.lineno}" for one in [*ours, *stack[-1:]] if one is not None
                )


def _spent() -> dict[str, tuple[int, int]]:
    """Nanoseconds that each thread of this process computed, and waited for a processor."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            computed, waited, _ = (task / "schedstat").read_text().split()
            found[task.name] = int(computed), int(waited)
    return found


def _serve(settings: dict[str, Any], pipe: Connection) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    watcher, hold = Watcher(), settings.pop("hold", 0)

    def compute() -> None:
        until = time.thread_time() + hold
        while time.thread_time() < until:
            pass
        asyncio.get_running_loop().call_later(0.2, compute)

    def answer() -> None:
        with suppress(EOFError):
            while pipe.recv():
                pipe.send((*watcher.taken(), time.process_time()))

    def ready() -> None:
        watcher.begin()
        if hold:
            compute()
        threading.Thread(target=answer, daemon=True).start()
        pipe.send(listener.getsockname()[1])

    server.serve_one(read_settings(**settings), listener, None, ready)


# In the process that asks


@dataclass(frozen=True)
class Case:
    """One request."""

    method: str
    path: str
    name: str
    body: Any = None
    """What is sent as JSON, or bytes that are sent as they are."""
    params: dict[str, Any] = field(default_factory=dict)

    def content(self, mark: str) -> bytes | None:
        """What is sent; texts begin with the mark, so that no two requests say the same."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body.replace(b"MARK", mark.encode()) if self.body else None
        return json.dumps(self.body, ensure_ascii=self.name.endswith("escaped")).replace("MARK", mark).encode()


@dataclass(frozen=True)
class Found:
    """How long a request held the loop at least, and what was answered."""

    case: Case
    pause: float
    seconds: float
    status: int
    where: str


class Watched:
    """A service with a watcher."""

    def __init__(self, port: int, pipe: Connection) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)
        self._pipe = pipe
        self._number = 0

    def pause(self) -> tuple[float, str, float]:
        """The longest pause since this was asked last, where it was, and what the process has computed by now."""
        self._pipe.send("pause")
        return self._pipe.recv()

    def settle(self) -> None:
        """Wait until the service does nothing any more: it may be at work on what was given up."""
        for _ in range(600):
            before = self.pause()[2]
            time.sleep(0.05)
            if self.pause()[2] - before < 0.025:
                return

    def send(self, case: Case) -> tuple[float, int]:
        """Send it; how long it took, and the status. 0 when nothing was answered in time."""
        self._number += 1
        lines = "x-ndjson" if case.path.endswith("/import") else "json"
        content = case.content(f"{random.randrange(10**12):012}")
        headers = {"content-type": f"application/{lines}", "connection": "close"}
        began = time.monotonic()
        try:
            answer = self.client.request(case.method, case.path, content=content, params=case.params, headers=headers)
            status = answer.status_code
        except httpx.TransportError:
            status = 0
        return time.monotonic() - began, status

    def measured(self, case: Case, *, repeats: int = REPEATS) -> Found:
        """The shortest of the longest pauses of so many requests; of one, when that was short."""
        best: Found | None = None
        for _ in range(repeats):
            self.settle()
            seconds, status = self.send(case)
            time.sleep(0.02)
            pause, where, _ = self.pause()
            if best is None or pause < best.pause:
                best = Found(case, pause, seconds, status, where)
            if best.pause < BOUND:
                break
        assert best is not None
        return best


@contextmanager
def watched(**settings: Any) -> Iterator[Watched]:
    """A service in a process of its own, on a new store. `hold` are seconds for which it computes on its loop."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="scrubjay-loop-") as home:
        given = {"home": home, "embedder": "static", "background": False, "log_level": "error", **settings}
        process = context.Process(target=_serve, args=(given, theirs), daemon=True)
        process.start()
        theirs.close()
        try:
            yield Watched(ours.recv(), ours)
        finally:
            process.terminate()
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()


# The requests


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """Every route of the document, with the largest and oddest that it may be sent."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path == "/v1/events":  # It is not answered to its end.
                continue
            here = path
            for parameter in operation.get("parameters", ()):
                here = here.replace(f"{{{parameter['name']}}}", "one")
            content = operation.get("requestBody", {}).get("content", {})
            if "application/x-ndjson" in content:
                yield from lines(method.upper(), here)
            elif content:
                schema = content["application/json"]["schema"]
                for name, body in bodies(document, schema):
                    yield Case(method.upper(), here, name, body)
            else:
                yield Case(method.upper(), here, "plain", params=needed(document, operation))
                if method == "get" and path.startswith("/v1"):
                    params = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
                    full = {"limit": 10_000 if "/search" not in path else 1_000}
                    known = {name: value for name, value in full.items() if any(one["name"] == name for one in params)}
                    yield Case(method.upper(), here, "all", params=needed(document, operation) | known)


def needed(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """What has to be in the query."""
    found = (one for one in operation.get("parameters", ()) if one["in"] == "query" and one["required"])
    return {one["name"]: SOUND.get(one["name"], sound(document, one["schema"])) for one in found}


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def sound(document: dict[str, Any], schema: dict[str, Any]) -> Any:
    """The smallest value that a schema takes."""
    schema = resolved(document, schema)
    if "enum" in schema or "const" in schema:
        return schema.get("enum", [schema.get("const")])[0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return sound(document, schema[choice][0])
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {name: sound(document, properties[name]) for name in schema.get("required", ())}
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0)) + 1
    return {"string": "MARK", "integer": least, "number": 1.0, "boolean": True, "array": []}.get(
        schema.get("type"), "x"
    )


def fields(document: dict[str, Any], schema: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each text, list and object in what a route takes: where it is, which of these, and its schema."""
    schema = resolved(document, schema)
    for choice in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(choice, ()):
            yield from fields(document, one, place)
    if schema.get("type") == "array":
        yield place, "list", schema
        if len(place) < 5:
            yield from fields(document, schema.get("items", {}), (*place, "[]"))
    if schema.get("type") == "object" and "properties" not in schema:
        yield place, "object", schema
    if schema.get("type") == "string" and not {"enum", "format", "const", "pattern"} & schema.keys():
        yield place, "text", schema
    for name, inner in schema.get("properties", {}).items():
        if len(place) < 5:
            yield from fields(document, inner, (*place, name))


def filled(document: dict[str, Any], schema: dict[str, Any], place: tuple[str, ...], value: Any) -> Any:
    """The smallest body that a route takes, with this value in this place."""
    schema = resolved(document, schema)
    if not place:
        return value
    for choice in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(choice, ()):
            found = resolved(document, one)
            if (place[0] == "[]") == (found.get("type") == "array") and (
                place[0] == "[]" or place[0] in found.get("properties", {})
            ):
                return filled(document, found, place, value)
    if place[0] == "[]":
        return [filled(document, schema["items"], place[1:], value)]
    inner = filled(document, schema["properties"][place[0]], place[1:], value)
    return {**sound(document, schema), place[0]: inner}


def text(kind: str, size: int) -> str:
    """A text of so many characters."""
    return "MARK" + TEXTS[kind] * (size // len(TEXTS[kind]))


def bodies(document: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a route may be sent, each with a name."""
    yield "sound", sound(document, schema)
    yield "no JSON", b"[" * HUGE
    yield "a text without end", b'{"a": "' + b"\\u6f22" * (HUGE // 6)
    yield "many names", {f"name {number}": 1 for number in range(90_000)}
    seen = set()
    for place, kind, inner in fields(document, schema):
        if (place, kind) in seen:
            continue
        seen.add((place, kind))
        where = ".".join(place) or "body"
        match kind:
            case "text":
                for name in TEXTS if place[-1] in ("content", "query", "[]", "text", "value") else ("han", "secrets"):
                    yield f"{where}: {name}", filled(document, schema, place, text(name, LONG))
                yield f"{where}: huge", filled(document, schema, place, text("secrets", HUGE))
                yield f"{where}: huge, escaped", filled(document, schema, place, text("han", HUGE // 6))
            case "list":
                most = inner.get("maxItems", 10_000)
                one = sound(document, inner.get("items", {}))
                yield f"{where}: {most:,}", filled(document, schema, place, [_numbered(one, at) for at in range(most)])
            case "object":
                yield f"{where}: values", filled(document, schema, place, {"a": [[number] for number in range(49_000)]})
                yield f"{where}: names", filled(document, schema, place, {f"MARK{at}": at for at in range(90_000)})
                deep: Any = "x"
                for _ in range(90):
                    deep = {"a": deep}
                yield f"{where}: deep", filled(document, schema, place, deep)
                for name in ("han", "secrets", "json"):
                    yield f"{where}: {name}", filled(document, schema, place, {"a": text(name, LONG)})
                texts = {"a": ["api_key=MARK and 漢 " * 10] * 4_000}
                yield f"{where}: texts", filled(document, schema, place, texts)


def _numbered(one: Any, number: int) -> Any:
    """The same, with a number in its texts, so that no two say the same."""
    if isinstance(one, dict):
        return {name: _numbered(value, number) for name, value in one.items()}
    return one.replace("MARK", f"MARK {number}") if isinstance(one, str) else one


def lines(method: str, path: str) -> Iterator[Case]:
    """What may be sent to a route that takes lines."""
    if "tasks" in path:
        header, one = b"", {"task_id": "T-MARK", "execution_summary": "MARK", "success": True}
        field = "execution_summary"
    else:
        header = b'{"format": "scrubjay-memories", "version": 1}\n'
        moment = "2026-01-01T00:00:00Z"
        one = {"content": "MARK", "created_at": moment, "valid_from": moment}
        field = "content"

    numbers = itertools.count()

    def told(**more: Any) -> bytes:
        if "tasks" not in path:
            more["id"] = f"00000000-{next(numbers) % 65_536:04x}-7000-8000-MARK"
        return json.dumps({**one, **more}, ensure_ascii=False).encode() + b"\n"

    yield Case(method, path, "empty lines", header + b"\n" * LINES)
    yield Case(method, path, "refused lines", header + b"{}\n" * (LINES // 3))
    yield Case(method, path, "spaces", header + b" \n" * (LINES // 2))
    yield Case(method, path, "one line", header + b"[" * HUGE)
    yield Case(method, path, "one line of texts", header + told(data={"a": ["x" * 70] * 190_000}))
    for name in TEXTS:
        yield Case(method, path, name, header + b"".join(told(**{field: text(name, LONG)}) for _ in range(3)))
    many = [told(**_numbered(one, number)) for number in range(20_000)]
    yield Case(method, path, "20,000", header + b"".join(many))
    if "tasks" not in path:
        key = b"".join(told(**_numbered(one, at), key="port") for at in range(20_000))
        yield Case(method, path, "one key", header + key, {"mend": "true"})
        moments = [f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z" for at in range(20_000)]
        rising = b"".join(
            told(**{**_numbered(one, at), "created_at": moment, "valid_from": moment}, key="port")
            for at, moment in enumerate(moments)
        )
        yield Case(method, path, "one key, later and later", header + rising, {"mend": "true"})


def fill(service: Watched) -> None:
    """Store something that reading finds: some long texts, and many short ones."""
    for _ in range(3):
        service.send(Case("POST", "/v1/memory", "", {"content": text("lines", LONG), "user": "u-1"}))
    many = [{"content": f"what number {number} MARK", "user": "u-1"} for number in range(10_000)]
    service.send(Case("POST", "/v1/memory", "", many))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="routes and bodies whose name holds this")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each request")
    parser.add_argument("--each", action="store_true", help="print each request, not the worst of each route")
    asked = parser.parse_args()
    from rich.console import Console
    from rich.table import Table

    with tempfile.TemporaryDirectory() as home:
        document = application(read_settings(home=Path(home), embedder="none", background=False)).openapi()
    worst: dict[str, Found] = {}
    with watched() as service:
        service.send(Case("POST", "/v1/memory", "", {"content": "warm"}))
        fill(service)
        for case in cases(document):
            route = f"{case.method} {case.path}"
            if asked.only not in f"{route} {case.name}":
                continue
            found = service.measured(case)
            if asked.json:
                said = {"route": route, "body": case.name, "milliseconds": round(found.pause * 1000, 1)}
                print(json.dumps(said | {"status": found.status, "where": found.where}), flush=True)
            if route not in worst or found.pause > worst[route].pause or asked.each:
                worst[f"{route} {case.name}" if asked.each else route] = found
    if not asked.json:
        table = Table("route", "body", "ms", "status", "where", title="Longest pause of the event loop")
        for route, found in sorted(worst.items(), key=lambda one: -one[1].pause):
            table.add_row(
                route,
                found.case.name,
                f"{found.pause * 1000:.0f}",
                str(found.status),
                found.where if found.pause > BOUND else "",
            )
        Console().print(table)
    sys.exit(any(found.pause > BOUND for found in worst.values()))


if __name__ == "__main__":
    main()
