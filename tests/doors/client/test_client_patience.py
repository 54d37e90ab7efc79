"""What the client does when the server, or the way to it, has a bad moment: a scripted server that speaks real HTTP."""

import asyncio
import importlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scrubjay import errors
from scrubjay.client import connect, connect_async, connection
from scrubjay.errors import (
    Closed,
    Conflict,
    InvalidInput,
    NotFound,
    ScrubjayError,
    TookTooLong,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

COUNT = (200, {}, {"count": 3, "tenant": "default"})
"""Also what a client asks when it is started."""


def problem(kind: str, status: int, detail: str = "because", **headers: str):
    words = "".join(f"-{sign.lower()}" if sign.isupper() else sign for sign in kind).lstrip("-")
    return status, headers, {"type": f"urn:scrubjay:error:{words}", "status": status, "detail": detail}


class Scripted:
    """A server that answers as it was told to, one after the other, and remembers what it was asked."""

    def __init__(self) -> None:
        self.script: list = []
        self.asked: list = []
        script, asked = self.script, self.asked

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append((self.command, self.path, dict(self.headers), body))
                told = script.pop(0) if script else COUNT
                if told == "hang up":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                status, headers, content = told
                sent = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_POST = answer  # noqa: N815 -- as the standard library calls them

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def scripted(monkeypatch) -> Iterator[Scripted]:
    monkeypatch.setattr(connection, "PAUSE", 0.002)
    found = Scripted()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def jay(scripted):
    with connect(scripted.url, key="sj_a_b") as found:
        scripted.asked.clear()
        yield found


REMEMBERED = (
    201,
    {},
    {
        "outcome": "stored",
        "memory": {
            "id": "01970a3c-5e1f-7c3a-9f0e-2b7d5a1c4e88",
            "content": "tea",
            "created_at": "2026-03-01T12:00:00Z",
            "valid_from": "2026-03-01T12:00:00Z",
            "a_field_of_tomorrow": 1,
        },
    },
)


def test_the_key_is_sent(scripted, jay):
    jay.count()
    assert scripted.asked[0][2]["Authorization"] == "Bearer sj_a_b"


def test_a_write_is_tried_again_as_the_same_request(scripted, jay):
    scripted.script += ["hang up", problem("StoreUnavailable", 503), problem("UnderWay", 409), REMEMBERED]
    assert jay.remember("tea", user="anna").memory.content == "tea"
    keys = {headers["Idempotency-Key"] for *_, headers, _ in scripted.asked}
    bodies = {body for *_, body in scripted.asked}
    assert (len(scripted.asked), len(keys), len(bodies)) == (4, 1, 1)


def test_a_write_that_a_crash_cut_short_gets_through_once_it_is_let_go_of(scripted, jay):
    away, held = ["hang up"] * (connection.TRIES - 1), [problem("UnderWay", 409)] * (connection.TRIES - 1)
    scripted.script += [*away, *held, REMEMBERED]
    assert jay.remember("tea").memory.content == "tea"
    scripted.script += [problem("UnderWay", 409)] * connection.TRIES
    with pytest.raises(errors.UnderWay):
        jay.remember("tea")
    assert not scripted.script


def test_two_writes_are_two_requests(scripted, jay):
    scripted.script += [REMEMBERED, REMEMBERED]
    jay.remember("tea")
    jay.remember("tea")
    assert len({headers["Idempotency-Key"] for *_, headers, _ in scripted.asked}) == 2


def test_reading_carries_no_key_of_its_own(scripted, jay):
    scripted.script += ["hang up", (200, {}, {"hits": [], "degraded": [], "milliseconds": 1})]
    assert len(jay.recall("tea")) == 0
    assert all("Idempotency-Key" not in headers for *_, headers, _ in scripted.asked)
    assert len(scripted.asked) == 2


@pytest.mark.parametrize(("kind", "status"), [("TooManyRequests", 429), ("Overloaded", 503)])
def test_it_waits_as_long_as_it_is_asked_to(scripted, jay, kind, status):
    scripted.script.append(problem(kind, status, **{"Retry-After": "1"}))
    began = time.monotonic()
    assert jay.count() == 3
    assert time.monotonic() - began >= 1


def test_it_gives_up_in_the_end_with_the_servers_own_error(scripted, jay):
    scripted.script += [problem("SchemaOutdated", 503, "run `scrubjay migrate`")] * connection.TRIES
    with pytest.raises(errors.SchemaOutdated, match="scrubjay migrate"):
        jay.count()
    assert len(scripted.asked) == connection.TRIES


def test_what_took_too_long_is_not_asked_again(scripted, jay):
    scripted.script.append(problem("TookTooLong", 503))
    with pytest.raises(TookTooLong):
        jay.count()
    assert len(scripted.asked) == 1


@pytest.mark.parametrize(
    ("told", "raised"),
    [
        (problem("NotFound", 404, "there is no memory 7"), NotFound),
        (problem("InvalidInput", 400, "importance is 7"), InvalidInput),
        (problem("Conflict", 409, "it has a value"), Conflict),
        (problem("Unauthenticated", 401, "a key is needed"), Unauthenticated),
        (problem("ContentTooLarge", 413, "the body is larger"), InvalidInput),
        (problem("InternalServerError", 500, "something went wrong"), ScrubjayError),
        ((404, {}, b"<html>nginx</html>"), Unavailable),
        ((200, {}, b"<html>hello</html>"), Unavailable),
        ((200, {}, {"other": 1}), Unsupported),
        ((200, {}, ["list"]), Unsupported),
        ((200, {}, {"memories": "many", "versions": 1, "generations": 3}), Unsupported),
    ],
)
def test_a_problem_is_the_error_that_it_was(scripted, jay, told, raised):
    scripted.script.append(told)
    with pytest.raises(ScrubjayError) as caught:
        jay.stats()
    assert type(caught.value) is raised
    if isinstance(told[2], dict) and "detail" in told[2]:
        assert str(caught.value) == told[2]["detail"]


def test_every_error_comes_back_as_itself(scripted, jay):
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ScrubjayError)]
    for kind in kinds:
        scripted.script[:] = [problem(kind.__name__, 418, "so it is")] * connection.TRIES
        with pytest.raises(kind, match="so it is") as caught:
            jay.count()
        assert type(caught.value) is kind
    assert len(kinds) > 15


def test_nobody_there(monkeypatch):
    monkeypatch.setattr(connection, "PAUSE", 0.002)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unavailable, match=rf"cannot reach {url}.*scrubjay serve"):
            connect(url)


@pytest.mark.parametrize("url", ["", "localhost:7285", "ftp://x", "http://", None])
def test_a_url_that_is_none(url):
    with pytest.raises(InvalidInput, match="url is"):
        connect(url)


def test_closed_is_closed(scripted):
    jay = connect(scripted.url)
    jay.close()
    jay.close()
    with pytest.raises(Closed):
        jay.count()


async def test_closed_is_closed_with_await(scripted):
    async with connect_async(scripted.url) as jay:
        assert await jay.count() == 3
    with pytest.raises(Closed):
        await jay.count()


async def test_many_at_once(scripted):
    async with connect_async(scripted.url) as jay:
        assert await asyncio.gather(*(jay.count() for _ in range(50))) == [3] * 50


def test_what_no_server_can_do_says_so(jay):
    with pytest.raises(Unsupported, match="`reindex` cannot be asked of a server: run `scrubjay reindex`"):
        jay.reindex()
    with pytest.raises(Unsupported, match="connect with another one"):
        jay.for_tenant("other")


def test_what_cannot_be_sent_is_refused_here(jay):
    with pytest.raises(InvalidInput, match=r"data\.x is <object"):
        jay.remember("tea", data={"x": object()})
    with pytest.raises(InvalidInput, match="importance is nan: use a finite number"):
        jay.remember("tea", importance=float("nan"))
    with pytest.raises(InvalidInput, match=r"executions holds .* outside of"):
        jay.tasks.store_many([{"task_id": "t", "project": "other"}], project="shop")
    with pytest.raises(InvalidInput, match="items is"):
        jay.remember_many("a text")
    with pytest.raises(InvalidInput, match="surrogate"):
        jay.get("\ud800")
    with pytest.raises(InvalidInput, match="surrogate"):
        jay.count(user="\ud800")
    with pytest.raises(InvalidInput, match="id is ''"):
        jay.get("")
    with pytest.raises(InvalidInput, match="a line is 7"):
        jay.import_lines([7])
    with pytest.raises(TypeError):
        jay.recall()


@pytest.mark.parametrize("key", ["", "sj_ä", "two words", "line\nbreak"])
def test_a_key_that_is_none_is_never_sent_nor_shown(scripted, key):
    with pytest.raises(InvalidInput, match="key is not one") as caught:
        connect(scripted.url, key=key)
    assert not key or key not in str(caught.value)
    assert not scripted.asked


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    for name in [name for name in sys.modules if name.startswith("scrubjay.client")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(errors.Misconfigured, match=r"pip install 'scrubjay\[client\]'"):
        importlib.import_module("scrubjay.client")
