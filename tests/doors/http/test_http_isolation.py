"""Nobody reads or changes what belongs to somebody else, by any operation of the service.

The operations are those of the OpenAPI document, and each is asked with all that a stranger may have got hold of: ids,
keys, receipts, versions and names. So a route that is added later is walked as well; one that asks for something new
fails here until `Owner.known` says what a stranger would give it.
"""

import json

import httpx
import pytest
from test_http_streams import Listener

from openapi_walk import ANNA, MARK, NDJSON, PLAIN, Owner, lines_with, operations
from scrubjay import wiring

pytestmark = pytest.mark.slow

STREAMS = {"events_listen"}
"""What never ends: strangers listen to it all the while."""

NOT_REACHED = {"workspace_cite", "agents_snapshot", "agents_restore", "workspace_ingest", "workspace_backfill"}
NOT_REACHED |= {"work_status"}
"""What reads the server's disk or tells of all tenants: these strangers are refused, see the test of it below."""


@pytest.fixture(scope="module")
def installation(start, tmp_path_factory):
    """A server, and the keys of an owner and of strangers."""
    home = tmp_path_factory.mktemp("walked")
    keys = {}
    everything = ("read", "write", "admin")
    for tenant in ("acme", "evil"):
        with wiring.open(home, tenant=tenant, embedder="none", background=False) as jay:
            keys[tenant] = jay.access.create_key(f"of {tenant}", rights=everything).text
            if tenant == "acme":
                keys["bob"] = jay.access.create_key("of bob", users=["bob"]).text
                keys["elsewhere"] = jay.access.create_key("of elsewhere", projects=["other"]).text
    limits = dict.fromkeys(("SCRUBJAY_LIMIT_READ", "SCRUBJAY_LIMIT_WRITE", "SCRUBJAY_LIMIT_HEAVY"), "0")
    with (
        start(home, SCRUBJAY_EMBEDDER="static", SCRUBJAY_BACKGROUND="false", **limits) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        yield client, server, {name: {"authorization": f"Bearer {key}"} for name, key in keys.items()}


NAMES = {"id", "key", "session", "agent", "task_id", "across_users", "everything"}

STRANGERS = {
    "another tenant with the same names": ("evil", ANNA, None),
    "another tenant that names nothing": ("evil", {}, ()),
    "a key of another user": ("bob", {"project": "shop"}, NAMES),
    "a key of another user that names the owner": ("bob", ANNA, ()),
    "a key of another project": ("elsewhere", {"user": "anna"}, ()),
}
"""Whose key it is, which place it names, and what it tries beyond what it has to give; None is all that it knows."""


@pytest.fixture(scope="module")
def listeners(installation):
    """Everybody listens from the beginning."""
    _, server, keys = installation
    return {name: Listener(server.url, headers=headers) for name, headers in keys.items()}


@pytest.fixture(scope="module")
def owner(installation, listeners):
    """Somebody who keeps something in every memory, while all the others listen."""
    client, _, keys = installation
    owner = Owner(client, keys["acme"])
    owner.fill()
    listeners["acme"].wait_for(10)
    assert [len(listeners[name].events) for name in ("evil", "bob", "elsewhere")] == [0, 0, 0]
    return owner


def test_no_stranger_reads_or_changes_anything(installation, listeners, owner):
    client, _, keys = installation
    before = owner.kept()
    assert json.dumps(before).count(MARK) > 20
    known, lines = owner.known(), lines_with(owner.ids[:2])
    walked = [one for one in operations(client.get("/openapi.json").json()) if one.name not in STREAMS]
    reached = set()
    for stranger, (name, where, tried) in STRANGERS.items():
        for operation in walked:
            for asked in operation.requests(known, where, lines, tried):
                answer = asked.send(client, keys[name])
                assert MARK not in answer.text, f"{stranger}: {asked} tells {answer.text[:500]}"
                assert answer.status_code < 500, f"{stranger}: {asked} gets {answer.text[:500]}"
                assert answer.status_code != 401, f"{asked}: the walk has to come in"
                # Refused for what it asks, and not for how it asks.
                if answer.status_code != 400:
                    reached.add(operation.name)
                # Refused for what the key may do, whatever it asks.
                if answer.status_code == 403 and ("the right to" in answer.text or "every tenant" in answer.text):
                    break
    everything = {operation.name for operation in walked}
    assert reached == everything, "each operation is asked at least once in the right way"
    assert owner.kept() == before
    assert listeners["evil"].events, "they listened all the while"
    assert MARK not in json.dumps([listener.events for listener in listeners.values()])


def test_the_owner_sees_what_strangers_do_not(installation, owner):
    """The walk has teeth: with the owner's key, the same requests tell."""
    client, _, keys = installation
    known, telling = owner.known(), set()
    reading = [one for one in operations(client.get("/openapi.json").json()) if one.name not in STREAMS]
    for operation in reading:
        if operation.method != "GET" and not operation.path.endswith(
            ("recall", "search", "context", "match", "prompt")
        ):
            continue
        for asked in operation.requests(known, ANNA, []):
            answer = asked.send(client, keys["acme"])
            if answer.is_success and MARK in answer.text:
                telling.add(operation.name)
                break
    assert len(telling) > 35, sorted({one.name for one in reading if one.method == "GET"} - telling)


def test_what_concerns_the_server_itself_is_for_whoever_runs_it(installation):
    client, _, keys = installation
    for operation in operations(client.get("/openapi.json").json()):
        if operation.name in NOT_REACHED:
            [asked, *_] = operation.requests(DISK, {}, [])
            assert asked.send(client, keys["evil"]).status_code == 403, operation.name


DISK = {
    "path": ["/srv"],
    "directory": ["/srv"],
    "to": ["/srv"],
    "agent": ["planner"],
    "content": ["mine"],
    "cites": [["shop.py"]],
}


def test_what_needs_no_key_tells_nothing(installation):
    client, _, _ = installation
    for path in PLAIN:
        answer = client.get(f"/{path}")
        assert answer.is_success
        assert MARK not in answer.text
    assert client.get("/v1/memory").status_code == 401
    assert client.post("/v1/memory/import", content=b"", headers={"content-type": NDJSON}).status_code == 401
