"""What streams: import and export as lines of JSON, and events as they happen."""

import json
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import httpx
import pytest

from scrubjay.doors.http.guard import Allowance
from scrubjay.doors.http.server import GRACE
from scrubjay.doors.http.streams import lines_of

LINES = {"content-type": "application/x-ndjson"}


def test_what_is_exported_can_be_imported_elsewhere(client, user, remember, start, tmp_path):
    told = [remember(f"Thing {number}", key=f"k{number % 3}") for number in range(7)]
    answer = client.get("/v1/memory/export", params={"user": user})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = answer.text.splitlines()
    assert json.loads(lines[0]) == {"format": "scrubjay-memories", "version": 1}
    assert {json.loads(line)["id"] for line in lines[1:]} >= {one["id"] for one in told}
    current = client.get("/v1/memory/export", params={"user": user, "history": False}).text.splitlines()
    assert len(current) == 1 + 3
    with start(tmp_path) as other:
        done = httpx.post(f"{other.url}/v1/memory/import", content=answer.content, headers=LINES, timeout=60).json()
        assert done == {"new": len(lines) - 1, "known": 0}
        again = httpx.post(f"{other.url}/v1/memory/import", content=answer.content, headers=LINES, timeout=60).json()
        assert again == {"new": 0, "known": len(lines) - 1}
        assert httpx.get(f"{other.url}/v1/memory/export", params={"user": user}, timeout=60).text == answer.text
        remember("Thing 7", key="k0")
        newer = client.get("/v1/memory/export", params={"user": user}).content
        done = httpx.post(f"{other.url}/v1/memory/import", content=newer, headers=LINES, timeout=60).json()
        assert done["new"] == len(newer.splitlines()) - len(lines) > 0
        assert httpx.get(f"{other.url}/v1/memory/export", params={"user": user}, timeout=60).content == newer
        httpx.post(f"{other.url}/v1/memory", json={"content": "Theirs", "key": "k1", "user": user}, timeout=60)
        remember("Ours", key="k1")
        rival = client.get("/v1/memory/export", params={"user": user}).content
        refused = httpx.post(f"{other.url}/v1/memory/import", content=rival, headers=LINES, timeout=60)
        assert refused.status_code == 409
        assert "key 'k1' has two current values" in refused.json()["detail"]
        mend = {"mend": "true"}
        mended = httpx.post(f"{other.url}/v1/memory/import", params=mend, content=rival, headers=LINES, timeout=60)
        assert (mended.status_code, mended.json()["new"] > 0) == (200, True)
        found = httpx.get(f"{other.url}/v1/memory", params={"user": user, "key": "k1"}, timeout=60).json()["memories"]
        assert [one["content"] for one in found] == ["Ours"]


def test_an_import_reads_lines_that_come_in_pieces(client, user, remember):
    remember("Grüße aus dem Süden")
    exported = client.get("/v1/memory/export", params={"user": user}).content

    def pieces():
        for start in range(0, len(exported), 7):
            yield exported[start : start + 7]

    done = client.post("/v1/memory/import", content=pieces(), headers=LINES)
    assert done.json() == {"new": 0, "known": 1}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "there is nothing to import"),
        (b"hello\n", "line 1 is not JSON"),
        (b'{"format":"other"}\n', "expected the header"),
        (b'{"format":"scrubjay-memories","version":1}\n\n{"id": 7}\n', "line 3: content is missing"),
        (b'{"format":"scrubjay-memories","version":1}\n\xff\xfe\n', "not UTF-8"),
    ],
)
def test_a_faulty_line_is_named(client, body, says):
    answer = client.post("/v1/memory/import", content=body, headers=LINES)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]


def test_lines_have_to_be_declared(client):
    answer = client.post("/v1/memory/import", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 400
    assert "application/x-ndjson" in answer.json()["detail"]


def test_an_import_stays_inside_its_place(client, user, remember):
    remember("Mine")
    exported = client.get("/v1/memory/export", params={"user": user}).content
    answer = client.post("/v1/memory/import", params={"user": "somebody-else"}, content=exported, headers=LINES)
    assert answer.status_code == 400
    assert "outside" in answer.json()["detail"]


def test_executions_are_imported(client, user):
    lines = [
        json.dumps({"task_id": f"T-{number}", "execution_summary": "Done", "success": True}) for number in range(3)
    ]
    body = "\n".join([*lines, "not one"]).encode()
    done = client.post("/v1/memory/tasks/import", params={"user": user}, content=body, headers=LINES).json()
    assert (done["stored"], [one["line"] for one in done["rejected"]]) == (3, [4])


class Listener:
    """Reads a stream on a thread of its own."""

    def __init__(self, url: str, headers: dict[str, str] | None = None, **params) -> None:
        self.events: list[dict] = []
        self.ended = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(url, headers or {}, params), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    def _read(self, url: str, headers: dict[str, str], params: dict) -> None:
        # The server may be killed at the end of all tests, while somebody listens still.
        with (
            suppress(httpx.HTTPError),
            httpx.stream("GET", f"{url}/v1/events", headers=headers, params=params, timeout=60) as answer,
        ):
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            event: dict = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line == ": listening":
                    self._ready.set()
                elif not line and "data" in event:
                    self.events.append({**event, "data": json.loads(event["data"])})
                    event = {}
                elif name:
                    event[name] = value
        self.ended.set()

    def wait_for(self, count: int) -> list[dict]:
        until = time.monotonic() + 60
        while len(self.events) < count and time.monotonic() < until:
            time.sleep(0.01)
        assert len(self.events) >= count
        return self.events


def test_events_are_heard_as_they_happen(server, user, remember):
    listener = Listener(server.url, user=user, name="memory.*")
    stored = remember("Something new", session="s-1")
    [event] = listener.wait_for(1)
    assert event["event"] == event["data"]["name"] == "memory.stored"
    assert event["id"] == event["data"]["id"]
    assert event["data"]["data"]["ids"] == [stored["id"]]
    assert event["data"]["scope"] == {"user": user, "session": "s-1"}
    assert event["data"]["at"].endswith("Z")
    assert "Something new" not in json.dumps(event)


def test_a_listener_that_was_away_catches_up(client, server, user, remember):
    first = Listener(server.url, user=user)
    remember("One")
    last = first.wait_for(1)[0]["id"]
    missed = [remember(f"Missed {number}")["id"] for number in range(3)]
    back = Listener(server.url, headers={"Last-Event-ID": last}, user=user)
    remember("Now")
    events = back.wait_for(4)
    assert [event["data"]["data"]["ids"][0] for event in events[:3]] == missed
    assert [event["id"] for event in events] == sorted({event["id"] for event in events})
    asked = client.get("/v1/events/missed", params={"user": user, "after": last, "name": "memory.stored"}).json()
    assert [event["data"]["ids"][0] for event in asked[:3]] == missed
    everything = [event["id"] for event in Listener(server.url, user=user, after="").wait_for(5)]
    assert {last, *(event["id"] for event in events)} <= set(everything)


def test_another_user_hears_nothing(server, user, remember):
    stranger, own = Listener(server.url, user="somebody-else"), Listener(server.url, user=user)
    remember("Not yours")
    own.wait_for(1)
    assert stranger.events == []


@pytest.mark.parametrize(
    ("headers", "params", "says"),
    [
        ({}, {"name": "no name!"}, "the event name is 'no name!'"),
        ({"Last-Event-ID": "7"}, {}, "the event id is '7'"),
        ({}, {"usr": "x"}, "usr is not known here"),
    ],
)
def test_what_cannot_be_heard_is_refused_before_it_streams(client, headers, params, says):
    answer = client.get("/v1/events", headers=headers, params=params)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]


def test_listeners_do_not_keep_the_server_from_stopping(start, tmp_path):
    with start(tmp_path) as server:
        listener = Listener(server.url)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < GRACE, "nobody waited until they had gone"
        assert listener.ended.wait(60)


def test_both_names_are_one_route(client, user, remember):
    stored_id = remember("Under both names")["id"]
    for prefix in ("/v1", "/api/v1"):
        assert client.get(f"{prefix}/memory/{stored_id}", params={"user": user}).json()["content"] == "Under both names"
    assert not [path for path in client.get("/openapi.json").json()["paths"] if path.startswith("/api")]


class InPieces:
    """A request whose body comes a few bytes at a time."""

    headers = LINES

    def __init__(self, pieces):
        self._pieces = pieces
        self.state = SimpleNamespace(allowance=Allowance(10, 1.0, None))

    async def stream(self):
        for piece in self._pieces:
            yield piece


async def test_lines_come_in_pieces_of_any_size():
    told = [line async for line in lines_of(InPieces([b"a", b"b\nc\n\nd", b"", b"e", b"\n", b"f"]))]
    assert told == ["ab", "c", "", "de", "f"]


async def test_a_line_in_very_many_pieces_is_read_in_linear_time():
    """Everybody else waits meanwhile, and whoever sends it chooses the pieces."""
    began = time.process_time()
    [line] = [line async for line in lines_of(InPieces([b"ab"] * 100_000))]
    assert len(line) == 200_000
    assert time.process_time() - began < 30
