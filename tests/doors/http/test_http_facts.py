"""Facts over HTTP."""

import pytest


@pytest.fixture
def store(client, user):
    def tell(content: str, **details) -> dict:
        answer = client.post("/v1/facts", json={"content": content, "user": user, **details})
        assert answer.status_code == 201, answer.text
        return answer.json()

    return tell


def test_a_fact_is_stored_replaced_and_found_again(client, user, store):
    first = store("The port is 80", key="fact:port", type="PROJECT_FACT", execution="run-7")
    assert first["outcome"] == "stored"
    fact = first["fact"]
    assert (fact["type"], fact["level"], fact["execution"], fact["is_deleted"]) == ("fact", "USER", "run-7", False)
    second = store("The port is 8080", key="fact:port")
    assert (second["outcome"], second["replaced"]) == ("superseded", fact["memory"]["id"])
    assert store("The port is 8080", key="fact:port")["outcome"] == "refreshed"
    where = {"user": user}
    by_key = client.get("/v1/facts/by-key", params={"key": "fact:port", **where}).json()
    assert by_key["memory"]["content"] == "The port is 8080"
    by_id = client.get(f"/v1/facts/{fact['memory']['id']}", params=where).json()
    assert by_id["memory"]["content"] == "The port is 80"
    versions = client.get("/v1/facts/history", params={"key": "fact:port", **where}).json()
    assert {one["memory"]["content"] for one in versions} == {"The port is 80", "The port is 8080"}


def test_insert_only_replaces_nothing(client, user, store):
    store("The port is 80", key="fact:port")
    told = {"content": "The port is 8080", "key": "fact:port", "user": user}
    refused = client.post("/v1/facts", params={"insert_only": True}, json=told)
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:scrubjay:error:conflict"


def test_many_facts_are_answered_in_the_same_shape(client, user):
    told = [{"content": f"Fact {number}", "user": user, "key": f"fact:{number}"} for number in range(3)]
    assert [one["outcome"] for one in client.post("/v1/facts", json=told).json()] == ["stored"] * 3


def test_the_typed_shortcuts(client, user):
    told = {"user": user, "key": "indent", "content": "Prefers tabs"}
    assert client.post("/v1/facts/preferences", json=told).json()["fact"]["memory"]["key"] == "pref:indent"
    [preference] = client.get("/v1/facts/preferences", params={"user": user}).json()
    assert preference["type"] == "preference"
    project = {"project": user, "user": user, "key": "port", "content": "It listens on 8080"}
    assert client.post("/v1/facts/project", json=project).status_code == 201
    assert [
        one["memory"]["key"] for one in client.get("/v1/facts/project", params={"project": user, "user": user}).json()
    ] == ["fact:port"]
    skill = {"user": user, "key": "deploy", "content": "Push a tag"}
    assert client.post("/v1/facts/skills", json=skill).status_code == 201
    assert "skill:deploy" in [
        one["memory"]["key"] for one in client.get("/v1/facts/skills", params={"user": user}).json()
    ]


def test_facts_are_searched_and_written_for_a_prompt(client, user, store):
    store("The database is PostgreSQL 18", type="PROJECT_TECH_STACK")
    store("Always answer in English", type="USER_INSTRUCTION")
    asked = {"query": "which database?", "user": user, "types": ["tech_stack"]}
    [hit] = client.post("/v1/facts/search", json=asked).json()["hits"]
    assert hit["memory"]["content"] == "The database is PostgreSQL 18"
    prompt = client.post("/v1/facts/prompt", json={"user": user, "budget": 200}).json()
    assert "Always answer in English" in prompt["text"]
    assert prompt["as"] == "markdown"
    assert [one["type"] for one in prompt["categories"]["instructions"]] == ["instruction"]
    assert prompt["tokens"] <= 200


def test_the_past_is_asked(client, user, store):
    store("Ann leads", key="lead", valid_from="2026-01-01T00:00:00Z")
    store("Bob leads", key="lead", valid_from="2026-06-01T00:00:00Z")

    def lead(**when) -> str:
        [fact] = client.get("/v1/facts/as-of", params={"key": "lead", "user": user, **when}).json()
        return fact["memory"]["content"]

    assert lead(valid_at="2026-03-01T00:00:00Z") == "Ann leads"
    assert lead(valid_at="2026-09-01T00:00:00+02:00") == "Bob leads"


def test_importance_is_set_and_boosted(client, user, store):
    stored_id = store("It matters")["fact"]["memory"]["id"]
    where = {"user": user}
    assert client.put(f"/v1/facts/{stored_id}/importance", params=where, json={"importance": 0.95}).json()["memory"][
        "importance"
    ] == pytest.approx(0.95)
    boosted = client.post(f"/v1/facts/{stored_id}/boost", params=where, json={"by": 0.1}).json()
    assert boosted["fact"]["memory"]["importance"] == 1
    assert boosted["was_clamped"] is True
    assert client.put(f"/v1/facts/{stored_id}/importance", params=where, json={"importance": 7}).status_code == 400


def test_a_fact_is_deleted_restored_and_purged(client, user, store):
    stored = store("Not for ever", key="fact:gone")["fact"]["memory"]
    where = {"user": user}
    assert client.delete(f"/v1/facts/{stored['id']}", params={**where, "reason": "wrong"}).json()["purged"] is False
    [restored] = client.post("/v1/facts/restore", json={"key": "fact:gone", **where}).json()
    assert restored["memory"]["content"] == "Not for ever"
    assert client.delete("/v1/facts", params={"key": "fact:gone", **where}).json()["ids"] == [restored["memory"]["id"]]
    client.post("/v1/facts/restore", json={"key": "fact:gone", **where})
    receipt = client.post("/v1/facts/purge", json={"key": "fact:gone", **where}).json()
    assert receipt["purged"] is True
    assert set(receipt["remaining"].values()) == {0}
    assert client.get("/v1/facts/by-key", params={"key": "fact:gone", **where}).status_code == 404


def test_what_has_expired_is_cleaned_up(client, user, store):
    stored_id = store("Soon gone", expires_at="2026-01-02T00:00:00Z", valid_from="2026-01-01T00:00:00Z")["fact"][
        "memory"
    ]["id"]
    assert client.post("/v1/facts/cleanup", json={"user": user, "purge": True}).json()["ids"] == [stored_id]


def test_a_contradiction_is_flagged_and_settled(client, user, store):
    one = store("Deploys run on Monday")
    other = store("Deploys run on Tuesday")
    [flag] = other["conflicts"]
    assert flag["relation"] == "contradiction"
    where = {"user": user}
    [listed] = client.get("/v1/facts/conflicts", params=where).json()
    assert listed["id"] == flag["id"]
    kept = client.post(
        f"/v1/facts/conflicts/{flag['id']}/resolve", params=where, json={"keep": other["fact"]["memory"]["id"]}
    ).json()
    assert [fact["memory"]["content"] for fact in kept] == ["Deploys run on Tuesday"]
    assert client.get("/v1/facts/conflicts", params=where).json() == []
    assert one["fact"]["memory"]["id"] != other["fact"]["memory"]["id"]


def test_facts_are_listed_by_pages(client, user, store):
    told = [store(f"Fact {number}", key=f"fact:{number}")["fact"]["memory"]["id"] for number in range(5)]
    first = client.get("/v1/facts", params={"user": user, "limit": 3, "order": "oldest"}).json()
    second = client.get(
        "/v1/facts", params={"user": user, "limit": 3, "order": "oldest", "after": first["next"]}
    ).json()
    assert [one["memory"]["id"] for one in [*first["facts"], *second["facts"]]] == told
    assert second["next"] is None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"content": "x", "type": "GUESS"}, "type is 'GUESS'"),
        ({"content": "x", "level": "SESSION"}, "no session is named"),
        ({"content": "x", "execution": "e", "source": "s"}, "give one"),
        ({"content": "x", "valid_from": "2026-01-01T00:00:00"}, "without a time zone"),
        ({"content": "x", "tenant": "other"}, "tenant is not known here"),
    ],
)
def test_a_wrong_fact_is_refused(client, body, says):
    answer = client.post("/v1/facts", json=body)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
