"""A write that is sent again is done once, and answered alike; what is kept for it goes when it has to."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from keyed import bearing, served, service
from scrubjay.settings import Settings

ONCE = {"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


@pytest.fixture
def house():
    with service() as house:
        yield house


@pytest.fixture
def client(house):
    return house.client


def kept(house):
    """All that is kept of answers, as bytes."""
    with closing(sqlite3.connect(house.home / "scrubjay.db")) as connection:
        rows = connection.execute("SELECT * FROM kept_answers").fetchall()
    return b" ".join(cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row)


def test_the_same_request_is_done_once(client):
    said = {"messages": "hello", "session": "s"}
    first = client.post("/v1/working/messages", json=said, headers=ONCE)
    again = client.post("/v1/working/messages", json=said, headers=ONCE)
    assert first.status_code < 300, first.text
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/json"
    other = client.post("/v1/working/messages", json=said, headers={"idempotency-key": "another"})
    assert other.content != first.content


def test_the_same_key_with_another_request_is_refused(client):
    client.post("/v1/memory", json={"content": "one"}, headers=ONCE)
    for refused in (
        client.post("/v1/memory", json={"content": "two"}, headers=ONCE),
        client.post("/v1/memory?user=anna", json={"content": "one"}, headers=ONCE),
        client.patch("/v1/memory/x", json={"content": "one"}, headers=ONCE),
    ):
        assert refused.status_code == 422
        assert refused.json()["type"] == "urn:scrubjay:error:another-request"


def test_what_failed_may_be_sent_again(client):
    assert client.post("/v1/memory", json={"content": ""}, headers=ONCE).status_code == 400
    assert client.post("/v1/memory", json={"content": "mended"}, headers=ONCE).status_code == 201


def test_what_only_reads_is_not_kept(client, house):
    client.post("/v1/memory", json={"content": "Ornithorhynchus"})
    for _ in range(2):
        answer = client.post("/v1/memory/recall", json={"query": "ornithorhynchus"}, headers=ONCE)
        assert "idempotency-replayed" not in answer.headers
        assert b"Ornithorhynchus" in answer.content
    assert kept(house) == b""


def test_neither_the_name_nor_the_request_is_kept(client, house):
    client.post("/v1/memory", json={"content": "Ornithorhynchus"}, headers=ONCE)
    assert b"Ornithorhynchus" in kept(house)
    assert ONCE["idempotency-key"].encode() not in kept(house)


def test_a_purge_takes_what_answers_said(client, house):
    told = client.post("/v1/memory", json={"content": "Ornithorhynchus"}, headers=ONCE).json()["memory"]
    client.delete(f"/v1/memory/{told['id']}", params={"purge": True}, headers={"idempotency-key": "gone"})
    stored = b"".join(file.read_bytes() for file in house.home.glob("scrubjay.db*"))
    assert b"Ornithorhynchus" not in stored
    again = client.post("/v1/memory", json={"content": "Ornithorhynchus"}, headers=ONCE)
    assert (again.status_code, "was purged since" in again.text) == (409, True)
    assert client.get("/v1/memory").json()["memories"] == []


def test_a_new_key_is_never_kept(client, house):
    admin = bearing(house.key(rights=["admin"]))
    made = client.post("/v1/keys", json={"name": "ci"}, headers={**admin, **ONCE}).json()
    assert made["text"][-20:].encode() not in kept(house)
    again = client.post("/v1/keys", json={"name": "ci"}, headers={**admin, **ONCE})
    assert again.status_code == 409
    assert len(client.get("/v1/keys", headers=admin).json()) == 2


def test_keys_do_not_share_names(client, house):
    one, other = (bearing(house.key(name)) for name in ("one", "other"))
    assert client.post("/v1/memory", json={"content": "one"}, headers={**one, **ONCE}).status_code == 201
    assert client.post("/v1/memory", json={"content": "two"}, headers={**other, **ONCE}).status_code == 201


@pytest.mark.parametrize("name", ["", "x" * 256, "a\tb"])
def test_a_name_that_is_none(client, name):
    refused = client.post("/v1/memory", json={"content": "one"}, headers={"idempotency-key": name})
    assert (refused.status_code, "Idempotency-Key is" in refused.text) == (400, True)


def test_a_large_body_is_refused_alike(client):
    most = Settings.model_fields["request_bytes"].default
    refused = client.post("/v1/memory", content=b" " * (most + 1), headers=ONCE)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:scrubjay:error:content-too-large")


async def test_of_many_at_once_one_is_done():
    async with served() as house:
        client = house.client
        said = {"messages": "hello", "session": "s"}
        sent = (client.post("/v1/working/messages", json=said, headers=ONCE) for _ in range(8))
        answers = await asyncio.gather(*sent)
        for answer in answers:
            assert answer.status_code in (200, 201, 409), answer.text
            assert answer.status_code != 409 or answer.headers["retry-after"] == "2"
        session = (await client.get("/v1/working/session", params={"session": "s"})).json()
        assert session["messages"] == 1


async def test_a_request_that_takes_too_long_is_given_up():
    async def slowly():
        yield b'{"content": '
        await asyncio.sleep(30)

    async with served(host="0.0.0.0", request_seconds=0.2) as house:
        sent = {"content-type": "application/json", **bearing(await asyncio.to_thread(house.key))}
        refused = await house.client.post("/v1/memory", content=slowly(), headers=sent)
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:scrubjay:error:took-too-long"
        assert "SCRUBJAY_REQUEST_SECONDS" in refused.json()["detail"]


@pytest.mark.parametrize("named", [{}, {"Idempotency-Key": "once"}], ids=["plain", "named"])
async def test_a_request_that_a_stop_cuts_short_may_be_sent_again(named):
    begun = asyncio.Event()

    async def slowly():
        yield b'{"content": '
        begun.set()
        await asyncio.sleep(30)

    async with served() as house:
        headers = {"content-type": "application/json", **named}
        under_way = asyncio.create_task(house.client.post("/v1/memory", content=slowly(), headers=headers))
        await begun.wait()
        # As uvicorn does when the time that requests get to finish is over.
        house.app.state.leaving.set()
        under_way.cancel()
        refused = await under_way
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:scrubjay:error:unavailable")
        assert "send it again" in refused.json()["detail"]
        assert ("is held for 8 seconds" in refused.json()["detail"]) is ("Idempotency-Key" in named)


def test_large_answers_are_packed(client):
    for number in range(20):
        client.post("/v1/memory", json={"content": f"{number} " + "word " * 50})
    assert client.get("/v1/memory", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in client.get("/v1/memory", headers={"accept-encoding": "identity"}).headers
