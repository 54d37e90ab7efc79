"""Working memory and episodes over HTTP."""

import pytest


@pytest.fixture
def session(user) -> dict[str, str]:
    return {"session": f"s-{user}"[:200], "user": user}


@pytest.fixture
def say(client, session):
    def tell(*messages, **details):
        answer = client.post("/v1/working/messages", json={**session, "messages": [*messages], **details})
        assert answer.status_code == 201, answer.text
        return answer.json()

    return tell


def test_messages_are_said_and_read_in_order(client, session, say):
    said = say("Hello", {"role": "assistant", "content": "Good morning", "name": "jay"})
    assert [one["position"] for one in said] == [0, 1]
    assert [one["role"] for one in said] == ["user", "assistant"]
    one = client.post("/v1/working/messages", json={**session, "messages": "And now?", "role": "system"}).json()
    assert one[0]["role"] == "system"
    recent = client.get("/v1/working/messages", params={**session, "limit": 2}).json()
    assert [one["content"] for one in recent["messages"]] == ["Good morning", "And now?"]
    within = client.get("/v1/working/messages", params={**session, "budget": 100}).json()
    assert 0 < within["tokens"] <= 100


def test_a_message_with_an_id_is_one_message(say):
    told = {"id": "m-1", "content": "Once"}
    assert say(told)[0]["id"] == say(told)[0]["id"]


def test_the_scratchpad_refuses_what_rests_on_another_version(client, session):
    first = client.put("/v1/working/scratch", json={**session, "name": "plan", "value": ["a", 1, None], "expect": ""})
    assert first.status_code == 200
    version = first.json()["version"]
    again = client.put("/v1/working/scratch", json={**session, "name": "plan", "value": 1, "expect": ""})
    assert again.status_code == 409
    changed = client.put("/v1/working/scratch", json={**session, "name": "plan", "value": 2, "expect": version}).json()
    value = client.get("/v1/working/scratch/value", params={**session, "name": "plan"}).json()
    assert (value["value"], value["version"]) == (2, changed["version"])
    assert client.get("/v1/working/scratch/value", params={**session, "name": "other"}).json() is None
    assert [one["name"] for one in client.get("/v1/working/scratch", params=session).json()] == ["plan"]
    gone = {**session, "name": "plan"}
    assert client.delete("/v1/working/scratch", params={**gone, "expect": version}).status_code == 409
    assert client.delete("/v1/working/scratch", params=gone).json() == {"deleted": True}
    assert client.delete("/v1/working/scratch", params=gone).json() == {"deleted": False}


def test_a_session_lives_and_ends(client, session, user, say):
    assert client.get("/v1/working/session", params=session).json() is None
    assert client.post("/v1/working/extend", json={**session, "ttl": 60}).status_code == 404
    say("Hello", ttl=3600)
    known = client.get("/v1/working/session", params=session).json()
    assert known["messages"] == 1
    assert known["scope"] == session
    extended = client.post("/v1/working/extend", json={**session, "ttl": 7200.5}).json()
    assert extended["expires_at"] > known["expires_at"]
    assert client.post("/v1/working/end", json=session).json()["ended_at"]
    listed = client.get("/v1/working/sessions", params={"user": user}).json()
    assert [one["scope"]["session"] for one in listed] == [session["session"]]


def test_a_session_is_consolidated_into_episodes(client, session, user, say):
    say("We decided to use PostgreSQL", "Fine")
    client.post("/v1/working/end", json=session)
    planned = client.post("/v1/consolidate", json={**session, "steps": ["drain"], "dry_run": True}).json()
    assert planned["dry_run"] is True
    done = client.post("/v1/consolidate", json={**session, "steps": ["drain"]}).json()
    assert client.post("/v1/consolidate").status_code == 200, "without a body, it is everything"
    assert [(one["step"], one["counts"].get("messages", one["done"])) for one in done["steps"]] == [("drain", 2)]
    happened = client.get("/v1/episodes", params=session).json()["episodes"]
    assert [one["memory"]["content"] for one in happened] == ["We decided to use PostgreSQL", "Fine"]


def test_episodes_are_told_and_listed_by_pages(client, session, user):
    told = [{"content": f"Step {number}", "kind": "observation", **session} for number in range(5)]
    done = client.post("/v1/episodes", json=told)
    assert done.status_code == 201
    assert [one["memory"]["position"] for one in done.json()] == [0, 1, 2, 3, 4]
    first = client.get("/v1/episodes", params={"user": user, "limit": 3}).json()
    second = client.get("/v1/episodes", params={"user": user, "limit": 3, "after": first["next"]}).json()
    assert [one["memory"]["content"] for one in [*first["episodes"], *second["episodes"]]] == [
        one["content"] for one in told
    ]
    newest = client.get("/v1/episodes", params={"user": user, "limit": 1, "order": "newest"}).json()
    assert newest["episodes"][0]["memory"]["content"] == "Step 4"
    around = client.get(
        f"/v1/memory/{done.json()[2]['memory']['id']}/around", params={**session, "before": 1, "after": 1}
    )
    assert [one["content"] for one in around.json()] == ["Step 1", "Step 2", "Step 3"]


def test_an_episode_is_found_with_what_happened_around_it(client, session, user):
    told = [{"content": text, **session} for text in ("Good morning", "The parrot is blue", "Good night")]
    client.post("/v1/episodes", json=told)
    asked = {"query": "what colour is the parrot?", "user": user, "around": 1, "limit": 1}
    [found] = client.post("/v1/episodes/recall", json=asked).json()["hits"]
    assert found["hit"]["memory"]["content"] == "The parrot is blue"
    assert [one["memory"]["content"] for one in found["before"]] == ["Good morning"]
    assert found["after"][0]["role"] == "user"


def test_a_negotiation_and_what_just_happened(client, session, say):
    told = {
        "parties": ["buyer", "seller"],
        "turns": [{"by": "buyer", "said": "100?", "at": "2026-03-01T12:00:00Z"}, {"by": "seller", "said": "120"}],
        "outcome": "agreed at 110",
        **session,
    }
    assert client.post("/v1/episodes", json=told).json()["memory"]["kind"] == "negotiation"
    say("Well done")
    recent = client.get("/v1/episodes/recent", params={**session, "budget": 200}).json()
    assert "agreed at 110" in recent["text"]
    assert recent["text"].endswith("Well done")
    assert recent["happened"][-1]["content"] == "Well done"
    assert 0 < recent["tokens"] <= 200


@pytest.mark.parametrize(
    ("method", "path", "given", "says"),
    [
        ("POST", "/v1/working/messages", {"messages": ["x"]}, "session is missing"),
        ("POST", "/v1/working/messages", {"session": "s", "messages": ["x"], "ttl": -1}, "ttl is -1"),
        ("POST", "/v1/working/messages", {"session": "s", "messages": ["x"], "ttl": 1e300}, "ttl is 1e+300"),
        ("POST", "/v1/working/messages", {"session": "s", "messages": [""]}, "content"),
        ("POST", "/v1/working/messages", {"session": "s", "messages": [{"role": "A B", "content": "x"}]}, "role is"),
        ("PUT", "/v1/working/scratch", {"session": "s", "name": "", "value": 1}, "name is ''"),
        ("POST", "/v1/episodes", {"content": "x", "kind": "fact"}, "kind is 'fact'"),
        ("POST", "/v1/episodes", {"parties": ["alone"]}, "name at least two"),
        ("POST", "/v1/episodes/recall", {"query": "x", "kinds": ["fact"]}, "kinds holds 'fact'"),
    ],
)
def test_what_is_wrong_is_named(client, method, path, given, says):
    answer = client.request(method, path, json=given)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
