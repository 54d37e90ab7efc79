"""JSON says what it means: a number is a number and a text is a text. A query has nothing but text, which is read."""

import pytest


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/memory", {"content": "x", "importance": "0.5"}, "importance is '0.5': use a number, such as 0.5"),
        ("/v1/memory", {"content": "x", "importance": True}, "importance is True: use a number, such as 0.5"),
        ("/v1/memory", {"content": "x", "encrypt": 0}, "encrypt is 0: use true or false"),
        ("/v1/memory", {"content": "x", "user": 42}, "user is 42: use text"),
        ("/v1/memory", {"content": "x", "valid_from": 1700000000}, "valid_from is 1700000000: write it out"),
        ("/v1/memory", [{"content": "x"}, {"content": "y", "encrypt": "yes"}], "1.encrypt is 'yes'"),
        ("/v1/memory/recall", {"query": "x", "limit": "5"}, "limit is '5': use a whole number, such as 5"),
        ("/v1/memory/recall", {"query": "x", "limit": True}, "limit is True: use a whole number, such as 5"),
        ("/v1/memory/recall", {"query": "x", "explain": "true"}, "explain is 'true': use true or false"),
        ("/v1/memory/recall", {"query": "x", "kinds": "fact"}, "kinds is 'fact'"),
        ("/v1/memory/recall", {"query": "x", "as_of": {"known_at": 5}}, "known_at is 5: write it out"),
        (
            "/v1/memory/store",
            {"task_id": "t", "execution_summary": "x", "success": 1},
            "success is 1: use true",
        ),
        ("/v1/memory/store", {"task_id": "t", "execution_summary": "x", "success": "no"}, "success is 'no'"),
        ("/v1/memory/patterns/p/feedback", {"helpful": "false"}, "helpful is 'false': use true or false"),
        ("/v1/working/extend", {"user": "u", "session": "s", "ttl": "60"}, "ttl is '60': use a number"),
        ("/v1/keys/k/rotate", {"grace": "60"}, "grace is '60': use a number"),
        ("/v1/consolidate", {"policy": {"prune_after": "1"}}, "prune_after is '1': use a number"),
    ],
)
def test_what_only_looks_like_it_is_refused(client, path, body, says):
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]


def test_a_whole_number_is_a_number(client, user):
    told = client.post("/v1/memory", json={"content": "It matters", "user": user, "importance": 1}).json()
    assert told["memory"]["importance"] == 1.0


def test_a_query_is_read_from_its_text(client, user):
    client.post("/v1/memory", json=[{"content": f"Number {place}", "user": user} for place in range(3)])
    asked = {"user": user, "limit": "2", "history": "true", "least_importance": "0.1", "since": "2020-01-01T00:00:00Z"}
    assert len(client.get("/v1/memory", params=asked).json()["memories"]) == 2
    exported = client.get("/v1/memory/export", params={"user": user, "history": "false"}).text
    assert len(exported.splitlines()) == 4
    refused = client.get("/v1/memory", params={**asked, "limit": "many"})
    assert refused.status_code == 400
    assert "limit is 'many'" in refused.json()["detail"]
    newest = client.get("/v1/memory", params={"user": user, "limit": 1}).json()["memories"][0]["id"]
    gone = client.delete(f"/v1/memory/{newest}", params={"purge": "true"})
    assert gone.json()["purged"] is True


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("/v1/memory", "user=a&user=b", "user is ['a', 'b']: give it once"),
        ("/v1/memory", "limit=1&limit=1", "limit is ['1', '1']: give it once"),
        ("/v1/memory/export", "project=a&project=b", "project is ['a', 'b']: give it once"),
        ("/v1/agents/x/cycles", "user=a&user=b", "user is ['a', 'b']: give it once"),
        ("/v1/memory/history", "key=a&key=b", "key is ['a', 'b']: give it once"),
    ],
)
def test_what_has_one_value_is_given_once(client, path, query, says):
    answer = client.get(f"{path}?{query}")
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


def test_a_list_in_a_query_is_given_as_often_as_it_is_long(client, user):
    client.post("/v1/memory", json=[{"content": kind, "kind": kind, "user": user} for kind in ("fact", "rule", "note")])
    found = client.get(f"/v1/memory?user={user}&kinds=fact&kinds=rule").json()["memories"]
    assert {one["kind"] for one in found} == {"fact", "rule"}


def test_a_moment_is_understood_as_its_refusal_writes_it(client, user):
    refused = client.get("/v1/memory", params={"user": user, "since": "2026-01-01"}).json()["detail"]
    said = refused.rpartition(" ")[2]
    assert said == "2026-01-01T00:00:00Z"
    assert client.get("/v1/memory", params={"user": user, "since": said}).status_code == 200


def test_consolidation_takes_its_rules_with_it(client, user):
    client.post("/v1/memory", json=[{"content": f"Note {place}", "user": user} for place in range(3)])
    asked = {"user": user, "steps": ["prune"], "dry_run": True}
    assert client.post("/v1/consolidate", json=asked).json()["steps"][0]["planned"] == []
    rules = {"most_memories": 1, "half_life": None, "namespaces": {"design": {"after": 86_400, "below": 0.5}}}
    planned = client.post("/v1/consolidate", json={**asked, "policy": rules}).json()["steps"][0]["planned"]
    assert [one["step"] for one in planned] == ["prune", "prune"]
    refused = client.post("/v1/consolidate", json={**asked, "policy": {"prune_below": 7}})
    assert refused.status_code == 400
    assert "prune_below is 7" in refused.json()["detail"]
