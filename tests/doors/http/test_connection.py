"""A connection is heard in time and within bounds, and let go of when nobody reads at its other end."""

import asyncio
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
import uvicorn

from scrubjay.doors.http import connection
from scrubjay.doors.http.connection import Connection
from scrubjay.doors.http.streams import EventStream, as_lines

SOON = 0.2
"""Seconds that are waited for what takes as long as a person waits in the real service."""


class Served:
    """An application that answers, or streams for ever, and notes who went away."""

    def __init__(self):
        self.port = 0
        self.has_ended = asyncio.Event()

    async def __call__(self, scope, receive, send):
        gone = asyncio.create_task(self._notice(receive)) if scope["path"] == "/endless" else None
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while scope["path"] == "/endless" and not self.has_ended.is_set():
                await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
                await asyncio.sleep(0)
        finally:
            if gone is not None:
                gone.cancel()
            await send({"type": "http.response.body", "body": b"done"})

    async def _notice(self, receive):
        while (await receive())["type"] != "http.disconnect":
            pass
        self.has_ended.set()


@asynccontextmanager
async def serving(answer=None):
    app = Served()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # Who comes before the server is ready waits for it.
        app.port = listener.getsockname()[1]
        config = uvicorn.Config(answer or app, http=Connection, lifespan="off", log_level="error", ws="none")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(60):
            yield app
        server.should_exit = server.force_exit = True
        await task


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(connection, "READ_SECONDS", SOON)


async def ended(reader):
    """Wait until the server hangs up."""
    try:
        while await reader.read(65_536):
            pass
    except ConnectionError:
        pass


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nhost: x\r\n", b"GET / HTTP/1.1\r\n\r\nGET / HT"])
async def test_a_head_that_does_not_come_is_not_waited_for(hasty, said):
    async with serving() as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(said)
        await ended(reader)
        writer.close()


async def test_a_body_that_nobody_waits_for_may_not_drip_for_ever(hasty):
    async with serving() as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n")
        assert b"200" in await reader.readline()
        over = asyncio.create_task(ended(reader))
        while not over.done():
            writer.write(b"x")
            await asyncio.sleep(SOON / 10)
        writer.close()


@pytest.mark.parametrize("said", [b"x-long: " + b"x" * 1_000_000, b"x: y\r\n" * 200_000])
async def test_a_head_has_an_end(said):
    async with serving() as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n" + said)
        await ended(reader)
        writer.close()


async def test_a_body_may_be_much_longer_than_a_head():
    async with serving() as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1_000_000)
            assert b"200" in await reader.readuntil(b"done")
        writer.close()


@pytest.mark.parametrize("kind", ["lines", "events"])
async def test_who_leaves_a_stream_is_written_nothing_more(kind, caplog):
    told = []

    async def parts():
        for number in range(200_000):
            told.append(number)
            yield f"{number} {'x' * 1_000}"

    async def answer(scope, receive, send):
        feed = SimpleNamespace(stop=lambda: None)
        streamed = await as_lines(parts()) if kind == "lines" else EventStream(feed, parts())
        await streamed(scope, receive, send)

    async with serving(answer) as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(b"GET /v1/memory/export HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readexactly(1_000)
        writer.transport.abort()
        async with asyncio.timeout(60):
            while (before := len(told)) < 200_000:
                await asyncio.sleep(SOON)
                if len(told) == before:
                    break
    assert len(told) < 200_000
    assert "socket.send() raised exception" not in caplog.text


async def test_who_reads_nothing_is_cut_off(hasty):
    async with serving() as app:
        _, writer = await asyncio.open_connection("127.0.0.1", app.port, limit=1)
        writer.transport.pause_reading()
        writer.write(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n")
        await app.has_ended.wait()
        writer.close()


async def test_who_reads_slowly_is_not_cut_off(monkeypatch):
    """The system holds megabytes of an answer: of what waits here, nothing moves until a good part of that is read."""
    monkeypatch.setattr(connection, "READ_SECONDS", 1.5)
    async with serving() as app:
        with socket.create_connection(("127.0.0.1", app.port)) as reader:
            reader.sendall(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n")
            reader.setblocking(False)
            for _ in range(40):
                # Much less would not be heard of by who sends it: there is room again by the packet.
                await asyncio.get_running_loop().sock_recv(reader, 32_768)
                await asyncio.sleep(0.1)
            assert not app.has_ended.is_set()
            await app.has_ended.wait()
