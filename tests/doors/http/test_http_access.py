"""Who may come in by HTTP, as whom, and how far."""

import asyncio
import re
from datetime import UTC, datetime

import pytest

from keyed import bearing, noticed, served, service
from scrubjay.doors.http import serve
from scrubjay.doors.http.access import OPEN
from scrubjay.errors import Misconfigured, Unauthenticated
from scrubjay.settings import read_settings
from scrubjay.testing.values import HOUR

TOLD = {"content": "Prefers tabs", "user": "anna"}


@pytest.fixture
def house():
    with service() as house:
        yield house


@pytest.fixture
def client(house):
    return house.client


@pytest.fixture
def key(house):
    """Makes keys for the store of this test."""
    return house.key


def test_no_key_is_needed_until_the_first_is_made(client, key):
    assert client.post("/v1/memory", json=TOLD).status_code == 201
    made = key()
    refused = noticed(lambda: client.get("/v1/memory"))
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert refused.headers["content-type"] == "application/problem+json"
    assert "scrubjay keys create" in refused.json()["detail"]
    assert client.get("/v1/memory", headers=bearing(made)).json()["memories"][0]["content"] == "Prefers tabs"


def test_a_revoked_key_does_not_open_the_door_to_everybody(client, key, house):
    made = key()
    with house.opened() as jay:
        jay.access.revoke(made.key.id)
    assert client.get("/v1/memory").status_code == 401


@pytest.mark.parametrize(
    "header", [{"authorization": "Bearer {}"}, {"authorization": "bearer {}"}, {"x-api-key": "{}"}]
)
def test_a_key_comes_in_either_header(client, key, header):
    made = key()
    carried = {name: value.format(made.text) for name, value in header.items()}
    assert client.get("/v1/memory", headers=carried).status_code == 200


def test_what_is_no_key_is_refused_without_showing_it(client, key):
    made = key()
    known, secret = made.text.split("_", 2)[1:]
    wrong = [f"sj_{known}_{'A' * 43}", f"sj_{'0' * 16}_{secret}", f"sj_{known}", secret, ""]
    wrong += [made.text + "x", made.text[:-1]]
    for text in wrong:
        refused = client.get("/v1/memory", headers={"authorization": f"Bearer {text}"})
        assert refused.status_code == 401, text
        assert secret[:10] not in refused.text
    assert client.get("/v1/memory", headers={"authorization": "Basic YTpi"}).status_code == 401


def test_the_tenant_comes_from_the_key(client, key):
    acme, evil = key(tenant="acme"), key(tenant="evil")
    told = client.post("/v1/memory", json=TOLD, headers=bearing(acme)).json()["memory"]
    assert client.get(f"/v1/memory/{told['id']}", headers=bearing(acme)).status_code == 200
    assert client.get(f"/v1/memory/{told['id']}", headers=bearing(evil)).status_code == 404
    assert client.get("/v1/memory", headers=bearing(evil)).json()["memories"] == []
    assert client.get("/v1/keys", headers=bearing(key(tenant="evil", rights=["admin"]))).json()[0]["id"] == evil.key.id


@pytest.mark.parametrize(
    ("rights", "reads", "writes", "administers"),
    [
        (["read"], True, False, False),
        (["write"], False, True, False),
        (["read", "write"], True, True, False),
        (["admin"], True, True, True),
    ],
)
def test_a_key_may_do_what_it_has_the_right_to(client, key, rights, reads, writes, administers):
    headers = bearing(key(rights=rights))
    asked = [client.get("/v1/memory", headers=headers)]
    asked.append(client.post("/v1/memory/recall", json={"query": "tabs"}, headers=headers))
    told = [client.post("/v1/memory", json=TOLD, headers=headers)]
    told.append(client.post("/v1/memory/forget", json={"everything": True}, headers=headers))
    looked_after = [client.get("/v1/keys", headers=headers), client.get("/v1/audit", headers=headers)]
    for answers, allowed in ((asked, reads), (told, writes), (looked_after, administers)):
        assert [answer.status_code != 403 for answer in answers] == [allowed] * len(answers)
        assert all("use another key" in answer.json()["detail"] for answer in answers if not allowed)


def test_a_bound_key_stays_inside(client, key):
    anna, admin = key(users=["anna"]), bearing(key(rights=["admin"]))
    bobs = client.post("/v1/memory", json={"content": "Bob's", "user": "bob"}, headers=admin).json()["memory"]["id"]
    mine = client.post("/v1/memory", json={"content": "Mine"}, headers=bearing(anna)).json()["memory"]
    assert mine["user"] == "anna"
    refused = client.post("/v1/memory", json={"content": "x", "user": "bob"}, headers=bearing(anna))
    assert refused.status_code == 403
    assert refused.json()["detail"] == "user is 'bob': this key is bound to user 'anna'"
    assert client.get("/v1/memory", params={"user": "bob"}, headers=bearing(anna)).status_code == 403
    assert client.get(f"/v1/memory/{bobs}", headers=bearing(anna)).status_code == 404
    assert client.delete(f"/v1/memory/{bobs}", headers=bearing(anna)).status_code == 404
    assert [one["id"] for one in client.get("/v1/memory", headers=bearing(anna)).json()["memories"]] == [mine["id"]]


def test_a_key_ends(client, key, monkeypatch):
    now = datetime.now(UTC)
    lasting = key(expires_at=now + HOUR)
    monkeypatch.setattr("scrubjay.wiring.memory.utc_now", lambda: now - 2 * HOUR)
    ended = key(expires_at=now - HOUR)
    assert client.get("/v1/memory", headers=bearing(lasting)).status_code == 200
    refused = client.get("/v1/memory", headers=bearing(ended))
    assert (refused.status_code, "expired" in refused.text) == (401, True)


def test_a_revoked_key_is_refused_by_every_process_on_its_next_request(client, key, house):
    admin, made = bearing(key(rights=["admin"])), key()
    with house.opened() as elsewhere:
        assert client.get("/v1/memory", headers=bearing(made)).status_code == 200
        assert elsewhere.access.authenticate(made.text).id == made.key.id
        assert client.delete(f"/v1/keys/{made.key.id}", headers=admin).json()["revoked_at"] is not None
        with pytest.raises(Unauthenticated, match="revoked"):
            elsewhere.access.authenticate(made.text)
        assert client.get("/v1/memory", headers=bearing(made)).status_code == 401
        other = key()
        elsewhere.access.revoke(other.key.id)
        assert client.get("/v1/memory", headers=bearing(other)).status_code == 401


def test_keys_are_looked_after_by_http(client, key):
    admin = bearing(key(rights=["admin"]))
    made = client.post("/v1/keys", json={"name": "ci", "rights": ["read"], "projects": ["shop"]}, headers=admin)
    assert made.status_code == 201
    assert re.fullmatch(r"sj_[0-9a-f]{16}_[\w-]{43}", made.json()["text"])
    rotated = client.post(f"/v1/keys/{made.json()['key']['id']}/rotate", json={"grace": 60}, headers=admin).json()
    assert rotated["key"]["bounds"]["projects"] == ["shop"]
    for text in (made.json()["text"], rotated["text"]):
        assert client.get("/v1/memory", headers={"x-api-key": text}).status_code == 200
    listed = client.get("/v1/keys", headers=admin)
    assert [one["name"] for one in listed.json()] == ["test", "ci", "ci"]
    assert rotated["text"][-20:] not in listed.text  # Of the secret, which may have a `_` itself.
    both = client.post("/v1/keys", json={"name": "x", "rights": ["admin"], "users": ["anna"]}, headers=admin)
    assert (both.status_code, "cannot be bound" in both.text) == (400, True)


def test_what_is_deleted_by_a_key_is_written_down(client, key):
    admin = key(rights=["admin"])
    told = client.post("/v1/memory", json={"content": "Ornithorhynchus"}, headers=bearing(admin)).json()["memory"]
    gone = client.delete(
        f"/v1/memory/{told['id']}", params={"purge": True}, headers={**bearing(admin), "x-request-id": "r-42"}
    )
    assert gone.status_code == 200
    log = client.get("/v1/audit", headers=bearing(admin))
    assert "Ornithorhynchus" not in log.text
    [entry, *_] = log.json()
    assert (entry["key"], entry["action"], entry["request"]) == (admin.key.id, "memory.purged", "r-42")
    assert entry["ids"] == [told["id"]]


def test_what_an_administrator_does_is_written_down(client, key):
    admin = key(rights=["admin"])
    assert client.post("/v1/upkeep/retry", json={}, headers=bearing(admin)).status_code == 200
    [entry, *_] = client.get("/v1/audit", headers=bearing(admin)).json()
    assert (entry["action"], entry["target"]) == ("admin.requested", "POST /v1/upkeep/retry")


def test_what_concerns_every_tenant_is_for_the_installations_own(client, key):
    assert client.get("/v1/upkeep", headers=bearing(key(rights=["admin"]))).status_code == 200
    refused = client.get("/v1/upkeep", headers=bearing(key(tenant="acme", rights=["admin"])))
    assert (refused.status_code, "of the installation's own tenant" in refused.text) == (403, True)


def operations(client):
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), re.sub(r"{.*?}", "x", path), operation


def test_no_operation_answers_without_a_key(client, key):
    key()
    walked = 0
    for method, path, operation in operations(client):
        if path in OPEN:
            assert client.request(method, path).status_code == 200
            continue
        assert {"bearer": []} in operation["security"], f"{method} {path} asks for no right"
        assert client.request(method, path, json={}).status_code == 401, f"{method} {path}"
        walked += 1
    assert walked > 50


def test_a_key_is_good_under_any_name_and_no_key_only_under_ours(client, key):
    foreign = {"host": "memory.example"}
    assert client.get("/v1/memory", headers=foreign).status_code == 421
    assert client.get("/readyz", headers=foreign).status_code == 421
    assert client.get("/healthz", headers=foreign).status_code == 200
    assert client.get("/v1/memory", headers={**foreign, **bearing(key())}).status_code == 200


async def test_where_others_can_reach_it_nobody_is_served_without_a_key(tmp_path):
    async with served(host="0.0.0.0") as house:
        assert (await house.client.get("/healthz")).status_code == 200
        assert (await house.client.get("/v1/memory")).status_code == 401
    settings = read_settings(home=tmp_path, host="0.0.0.0", port=0, embedder="none")
    with pytest.raises(Misconfigured, match="`scrubjay keys create NAME`"):
        await asyncio.to_thread(serve, settings)


def test_a_key_that_is_made_over_http_is_noticed_at_once(client):
    assert client.get("/v1/memory").status_code == 200
    made = client.post("/v1/keys", json={"name": "first"}).json()
    assert client.get("/v1/memory").status_code == 401
    assert client.get("/v1/memory", headers={"x-api-key": made["text"]}).status_code == 200


def test_the_home_page_says_what_to_do_without_a_key(client, key):
    assert client.get("/").status_code == 200
    made = key()
    for_programs = noticed(lambda: client.get("/"))
    assert for_programs.status_code == 401
    assert for_programs.headers["content-type"] == "application/problem+json"
    page = client.get("/", headers={"accept": "text/html,application/xhtml+xml;q=0.9"})
    assert page.status_code == 401
    assert page.headers["www-authenticate"].startswith("Bearer")
    assert page.headers["content-type"].startswith("text/html")
    assert "scrubjay keys create NAME" in page.text
    assert "http://127.0.0.1/v1/whoami" in page.text
    assert client.get("/", headers={"accept": "text/html", **bearing(made)}).status_code == 200
    assert client.get("/lab").status_code == 200, "nothing that is stored is in it: what it asks for needs the key"
    assert client.get("/v1/memory/search").status_code == 401
    elsewhere = client.get("/v1/memory", headers={"accept": "text/html"})
    assert elsewhere.headers["content-type"] == "application/problem+json"


def test_whoever_asks_is_told_who_they_are(client, key):
    assert client.get("/v1/whoami").json() == {
        "tenant": "default",
        "rights": ["read", "write", "admin"],
        "users": [],
        "projects": [],
        "agents": [],
    }
    made = key("bot", tenant="acme", rights=["write"], users=["anna"])
    told = client.get("/v1/whoami", headers=bearing(made)).json()
    assert told == {
        "tenant": "acme",
        "key": made.key.id,
        "name": "bot",
        "rights": ["write"],
        "users": ["anna"],
        "projects": [],
        "agents": [],
    }
    assert noticed(lambda: client.get("/v1/whoami")).status_code == 401


@pytest.mark.parametrize(
    "origin",
    [
        "https://elsewhere.example",
        "null",
        "http://localhost.elsewhere.example",
        "http://[",
        "http://elsewhere.example\\@localhost",
        "http://localhost:80@elsewhere.example",
        "http://[::1].elsewhere.example",
    ],
)
def test_without_a_key_no_foreign_page_makes_a_browser_write(client, origin):
    """What has no body needs no permission: a browser sends it, and only keeps the answer from the page."""
    refused = client.post("/v1/consolidate", headers={"origin": origin})
    assert (refused.status_code, repr(origin) in refused.json()["detail"]) == (403, True)
    assert client.get("/v1/memory", headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "host", ["elsewhere.example", "[::1].elsewhere.example", "localhost@elsewhere.example", "localhost:7285:1", "[::1"]
)
def test_without_a_key_only_names_of_this_machine_are_served(client, host):
    refused = client.get("/v1/memory", headers={"host": host})
    assert (refused.status_code, host in refused.json()["detail"]) == (421, True)
    assert client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:", "LOCALHOST:1", "127.0.0.1:7285", "[::1]:7285", "[::1]"])
def test_this_machine_has_several_names(client, host):
    assert client.get("/v1/memory", headers={"host": host}).status_code == 200


def test_without_a_key_no_foreign_page_asks_anything(client, key):
    """A browser keeps the answer from the page, but the question would take time and count as a use."""
    foreign = {"sec-fetch-site": "cross-site"}
    assert client.get("/v1/memory", headers=foreign).status_code == 403
    assert [client.get(path, headers=foreign).status_code for path in ("/", "/healthz", "/docs")] == [200] * 3
    # For a browser 127.0.0.1 and localhost are two sites. They are one machine.
    assert client.get("/v1/memory", headers={**foreign, "origin": "http://127.0.0.1:3000"}).status_code == 200
    assert client.get("/v1/memory", headers={**foreign, "origin": "https://elsewhere.example"}).status_code == 403
    for site in ("none", "same-origin", "same-site"):
        assert client.get("/v1/memory", headers={"sec-fetch-site": site}).status_code == 200
    assert client.get("/v1/memory", headers={**bearing(key()), **foreign}).status_code == 200


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "tauri://localhost"])
def test_a_page_of_this_machine_may_write_without_a_key(client, origin):
    assert client.post("/v1/memory", json={"content": "Hello"}, headers={"origin": origin}).status_code == 201


def test_a_key_may_come_from_any_page(client, key):
    sent = {**bearing(key()), "origin": "https://elsewhere.example"}
    assert client.post("/v1/memory", json={"content": "Hello"}, headers=sent).status_code == 201


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/memory", "/v1/memory/nothing-here", "/no-such-route"])
def test_every_answer_tells_a_browser_to_load_and_frame_nothing(client, path):
    answer = client.get(path)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
