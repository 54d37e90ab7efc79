"""Every verb over HTTP, on a real server."""

from datetime import UTC, datetime

import pytest


def test_remember_one(client, user):
    told = {"content": "Prefers tabs over spaces", "user": user, "kind": "preference", "key": "pref:indent"}
    first = client.post("/v1/memory", json=told)
    assert first.status_code == 201
    assert first.json()["outcome"] == "stored"
    assert {name: first.json()["memory"][name] for name in told} == told
    again = client.post("/v1/memory", json=told)
    assert again.status_code == 200
    assert again.json()["outcome"] == "unchanged"
    assert again.json()["memory"]["id"] == first.json()["memory"]["id"]
    changed = client.post("/v1/memory", json={**told, "content": "Prefers spaces"})
    assert changed.status_code == 201
    assert changed.json()["outcome"] == "superseded"
    assert changed.json()["replaced"] == first.json()["memory"]["id"]


def test_what_was_forgotten_is_refused_under_its_own_id_and_left_alone_in_a_list(client, user):
    told = {"content": "Lunch at noon", "id": f"lunch of {user}", "user": user}
    assert client.post("/v1/memory", json=told).status_code == 201
    assert client.delete(f"/v1/memory/lunch of {user}", params={"user": user}).status_code == 200
    refused = client.post("/v1/memory", json=told)
    assert refused.status_code == 409
    assert "is not believed any more" in refused.json()["detail"]
    again = client.post("/v1/memory", json=[told])
    assert (again.status_code, again.json()[0]["outcome"]) == (200, "unchanged")


def test_remember_many_answers_in_the_same_shape(client, user):
    told = [{"content": f"The {place}th thing", "user": user} for place in range(3)]
    answer = client.post("/v1/memory", json=told)
    assert answer.status_code == 201
    assert [one["memory"]["content"] for one in answer.json()] == [one["content"] for one in told]
    assert client.post("/v1/memory", json=told).status_code == 200
    assert client.post("/v1/memory", json=[]).json() == []


def test_of_many_all_are_checked_before_any_is_stored(client, user):
    told = [{"content": "fine", "user": user}, {"content": "wrong", "user": user, "importance": 7}]
    answer = client.post("/v1/memory", json=told)
    assert answer.status_code == 400
    assert "item 1: importance is 7" in answer.json()["detail"]
    assert client.get("/v1/memory", params={"user": user}).json()["memories"] == []


def test_all_details_come_back(client, user, remember):
    source = remember("The log says so", kind="observation", trust="observed")
    told = {
        "kind": "fact",
        "key": "port",
        "data": {"port": 8080, "tags": ["a", None], "deep": {"er": 0.5}},
        "importance": 0.9,
        "source": "deploy.yaml",
        "author": "ops",
        "reason": "the rollout",
        "derived_from": [source["id"]],
        "valid_from": "2026-03-01T12:00:00+02:00",
        "valid_to": "2090-01-01T00:00:00Z",
        "expires_at": "2080-01-01T00:00:00Z",
        "project": "p",
        "agent": "a",
        "session": "s",
        "workflow": "w",
    }
    stored = remember("It listens on 8080", **told)
    moments = {"valid_from": "2026-03-01T10:00:00Z"}
    assert {name: stored[name] for name in told} == told | moments
    assert stored["trust"] == "observed", "no more trusted than what it was made from"
    assert client.get(f"/v1/memory/{stored['id']}", params={"user": user}).json() == stored


def test_secrets_do_not_reach_the_store(remember):
    stored = remember("The key is AKIAIOSFODNN7EXAMPLE, keep it safe")
    assert "AKIAIOSFODNN7EXAMPLE" not in stored["content"]
    assert stored["redacted"]


def test_recall(client, user, remember):
    remember("The database is PostgreSQL 18", kind="fact")
    remember("Lunch is at noon")
    answer = client.post("/v1/memory/recall", json={"query": "which database?", "user": user, "limit": 1})
    assert answer.status_code == 200
    [hit] = answer.json()["hits"]
    assert hit["memory"]["content"] == "The database is PostgreSQL 18"
    assert 0 < hit["score"] <= 1
    assert "words: database" in hit["why"]
    assert "signals" not in hit
    assert answer.json()["degraded"] == []


def test_recall_says_how_sure_it_is(client, user, remember):
    remember("The database is PostgreSQL 18", kind="fact")

    def confidence(query: str, **narrow) -> float | None:
        asked = {"query": query, "user": user, **narrow}
        return client.post("/v1/memory/recall", json=asked).json()["confidence"]

    assert confidence("is the database PostgreSQL?") > 0.9
    assert confidence("who bakes the bread?") < 0.2
    assert confidence("database", kinds=["rule"]) == 0
    assert confidence("database", mode="words") is None


def test_recall_is_narrowed(client, user, remember):
    remember("Port 80", kind="fact", data={"port": 80}, key="port:web", importance=0.2)
    remember("Port 8080", kind="fact", data={"port": 8080}, key="port:app", importance=0.9)
    remember("Port of Hamburg", kind="note")

    def found(**narrow) -> set[str]:
        answer = client.post("/v1/memory/recall", json={"query": "port", "user": user, **narrow})
        return {hit["memory"]["content"] for hit in answer.json()["hits"]}

    assert found() == {"Port 80", "Port 8080", "Port of Hamburg"}
    assert found(kinds=["note"]) == {"Port of Hamburg"}
    assert found(key="port:web") == {"Port 80"}
    assert found(key_prefix="port:") == {"Port 80", "Port 8080"}
    assert found(data={"port": {"gte": 1024}}) == {"Port 8080"}
    assert found(least_importance=0.8) == {"Port 8080"}
    assert found(mode="words", query="hamburg") == {"Port of Hamburg"}
    assert found(until="2020-01-01T00:00:00Z") == set()


def test_recall_explains_and_asks_the_past(client, user, remember):
    remember("The lead is Ann", key="lead", valid_from="2026-01-01T00:00:00Z")
    before = datetime.now(UTC).isoformat()
    remember("The lead is Bob", key="lead")

    def lead(**asked) -> str:
        answer = client.post("/v1/memory/recall", json={"query": "who leads?", "user": user, **asked})
        return answer.json()["hits"][0]["memory"]["content"]

    assert lead() == "The lead is Bob"
    assert lead(as_of=before) == "The lead is Ann"
    assert lead(as_of={"valid_at": "2026-02-01T00:00:00Z"}) == "The lead is Ann"
    explained = client.post("/v1/memory/recall", json={"query": "who leads?", "user": user, "explain": True})
    assert "relevance" in explained.json()["hits"][0]["signals"]


def test_context_keeps_to_its_budget(client, user, remember):
    remember("Always answer in English", kind="instruction")
    for number in range(20):
        remember(f"Formatter setting {number} is switched on in the project", kind="fact")
    asked = {"query": "set up the formatter", "user": user, "budget": 100}
    answer = client.post("/v1/memory/context", json=asked).json()
    assert "Always answer in English" in answer["text"]
    assert 0 < answer["tokens"] <= answer["budget"] == 100
    assert answer["items"]
    assert answer["left_out"]


def test_context_has_sections_and_forms(client, user, remember):
    remember("Always answer in <English>", kind="instruction")
    remember("The formatter is black", kind="fact")
    asked = {"query": "set up the formatter", "user": user, "sections": ["facts"], "as": "xml"}
    answer = client.post("/v1/memory/context", json=asked).json()
    assert "<memory>Always answer in &lt;English&gt;</memory>" in answer["text"]
    assert "score" not in answer["items"][0]
    assert 0 < answer["items"][1]["score"] < 1
    assert "messages" not in answer
    told = client.post("/v1/memory/context", json={**asked, "as": "messages"}).json()
    assert [one["role"] for one in told["messages"]] == ["system"]
    wrong = client.post("/v1/memory/context", json={**asked, "as": "pdf"})
    assert wrong.status_code == 400
    assert "messages" in wrong.text


def test_get_by_an_id_of_ones_own(client, user, remember):
    stored = remember("Ticket 7 is done", id="ticket-7")
    assert client.get("/v1/memory/ticket-7").json()["id"] == stored["id"]


def test_update(client, user, remember):
    old = remember("Prefers tabs", kind="preference")
    answer = client.patch(f"/v1/memory/{old['id']}", params={"user": user}, json={"content": "Prefers tabs of 4"})
    assert answer.status_code == 200
    new = answer.json()["memory"]
    assert answer.json()["replaced"] == old["id"]
    assert (new["content"], new["kind"]) == ("Prefers tabs of 4", "preference")
    assert client.get(f"/v1/memory/{old['id']}").json()["superseded_by"] == new["id"]
    kept = client.patch(f"/v1/memory/{new['id']}", params={"user": user}, json={"importance": 0.9})
    assert kept.json()["outcome"] == "unchanged"
    assert kept.json()["memory"]["importance"] == 0.9
    late = client.patch(f"/v1/memory/{old['id']}", params={"user": user}, json={"content": "Too late"})
    assert late.status_code == 404
    assert "superseded" in late.json()["detail"]


def test_update_takes_an_expiry_off_but_no_importance(client, user, remember):
    told = remember("Prefers tabs", expires_at="2999-01-01T00:00:00Z")
    there = {"url": f"/v1/memory/{told['id']}", "params": {"user": user}}
    assert client.patch(**there, json={"importance": 0.9}).json()["memory"]["expires_at"] == "2999-01-01T00:00:00Z"
    kept = client.patch(**there, json={"expires_at": None})
    assert (kept.status_code, kept.json()["memory"].get("expires_at")) == (200, None)
    refused = client.patch(**there, json={"importance": None})
    assert (refused.status_code, refused.json()["detail"]) == (400, "importance is None: use a number from 0 to 1")


def test_history(client, user, remember):
    first = remember("Ann", key="lead")
    second = remember("Bob", key="lead")
    for version in (first, second):
        versions = client.get(f"/v1/memory/{version['id']}/history", params={"user": user}).json()
        assert [versions[0]["id"], versions[-1]["content"]] == [first["id"], "Bob"]


def test_forget_closes(client, user, remember):
    stored = remember("Not for long")
    receipt = client.delete(f"/v1/memory/{stored['id']}", params={"user": user, "reason": "asked to"}).json()
    assert receipt["ids"] == [stored["id"]]
    assert receipt["purged"] is False
    closed = client.get(f"/v1/memory/{stored['id']}").json()
    assert "asked to" in closed["closed_because"]
    assert client.delete(f"/v1/memory/{stored['id']}", params={"user": user}).status_code == 404


def test_purge_leaves_nothing(client, user, remember):
    stored = remember("Gone for good")
    receipt = client.delete(f"/v1/memory/{stored['id']}", params={"user": user, "purge": "true"}).json()
    assert receipt["purged"] is True
    assert set(receipt["remaining"].values()) == {0}
    assert client.get(f"/v1/memory/{stored['id']}").status_code == 404


def test_list_walks_every_page_once(client, user, remember):
    told = [remember(f"Thing {number}")["id"] for number in range(7)]
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = client.get("/v1/memory", params={"user": user, "limit": 3, "order": "oldest", **after}).json()
        seen += [one["id"] for one in page["memories"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == told


def test_list_takes_several_kinds(client, user, remember):
    remember("a", kind="fact")
    remember("b", kind="rule")
    remember("c", kind="note")
    listed = client.get("/v1/memory", params={"user": user, "kinds": ["fact", "rule"]}).json()["memories"]
    assert {one["content"] for one in listed} == {"a", "b"}


@pytest.mark.parametrize("verb", ["get", "history", "patch", "delete", "recall"])
def test_another_users_memory_is_out_of_reach(client, remember, verb):
    stored = remember("The launch code word is marzipan")
    there = {"user": "somebody-else"}
    path = f"/v1/memory/{stored['id']}"
    match verb:
        case "get":
            assert client.get(path, params=there).status_code == 404
        case "history":
            assert client.get(f"{path}/history", params=there).status_code == 404
        case "patch":
            assert client.patch(path, params=there, json={"content": "taken over"}).status_code == 404
        case "delete":
            assert client.delete(path, params=there).status_code == 404
        case "recall":
            found = client.post("/v1/memory/recall", json={"query": "marzipan", **there}).json()["hits"]
            assert stored["id"] not in [hit["memory"]["id"] for hit in found]
    assert client.get(path).json()["content"] == stored["content"]
