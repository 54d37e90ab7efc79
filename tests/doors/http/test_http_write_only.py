"""What a key that may write and not read is told, and what none can plant."""

import pytest

from keyed import bearing, service
from scrubjay.testing import a_memory, a_scope
from scrubjay.testing.values import export_of


@pytest.fixture
def house():
    with service() as house:
        yield house


def keyed(house, **grants):
    made = bearing(house.key(**grants))
    return lambda path, headers=(), **sent: house.client.post(path, headers={**made, **dict(headers)}, **sent)


@pytest.mark.parametrize("path", ["/v1/consolidate", "/v1/workspace/prune"])
def test_a_dry_run_tells_what_memories_say_and_needs_the_right_to_read(house, path):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    refused = writer(path, json={"dry_run": True})
    assert (refused.status_code, "this needs the right to read" in refused.json()["detail"]) == (403, True)
    assert [writer(path, json={}).status_code, both(path, json={"dry_run": True}).status_code] == [200, 200]


def test_who_may_not_read_is_not_told_what_a_fact_contradicts(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    there = {"content": "The office is in Berlin", "author": "anna", "data": {"floor": 3}}
    assert both("/v1/facts", json=there).status_code == 201
    told = writer("/v1/facts", json={"content": "The office is not in Berlin"})
    assert (told.status_code, told.json()["fact"]["memory"]["content"]) == (201, "The office is not in Berlin")
    assert "in Berlin" not in told.text.replace("not in Berlin", "")
    assert "flagged with 1 other fact" in told.json()["explanation"]
    [many] = writer("/v1/facts", json=[{"content": "THE OFFICE is in Berlin"}]).json()
    assert (many["outcome"], many["fact"]["memory"].get("data"), many["fact"]["memory"].get("author")) == (
        "duplicate_of",
        None,
        None,
    )
    shown = both("/v1/facts", json={"content": "The office is not in Berlin today"}).json()
    assert shown["conflicts"][0]["one"]["memory"]["content"]


def test_an_id_tells_nobody_what_was_said_under_it(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    here = {"user": "ann", "session": "s"}
    there = {"id": "m1", "content": "The launch code is 7", "name": "ceo"}
    assert both("/v1/working/messages", json={"messages": [there], **here}).status_code == 201
    refused = writer("/v1/working/messages", json={"messages": [{"id": "m1", "content": "guess"}], **here})
    assert (refused.status_code, refused.json()["title"], "launch" in refused.text) == (409, "Id taken", False)
    assert writer("/v1/working/messages", json={"messages": [there], **here}).json()[0]["position"] == 0


def test_who_may_not_read_is_shown_of_a_memory_what_they_gave(house):
    writer, both = bearing(house.key(rights=["write"])), keyed(house)
    secret = {"content": "Buy Acme", "key": "plan", "data": {"price": 7}, "author": "ceo", "source": "board"}
    path = f"/v1/memory/{both('/v1/memory', json=secret).json()['memory']['id']}"
    for changes in ({"importance": 0.6}, {"reason": "x"}, {"data": {}}):
        refused = house.client.patch(path, json=changes, headers=writer)
        assert (refused.status_code, "this needs the right to read" in refused.json()["detail"]) == (403, True)
    assert house.client.patch(path, json={"content": None}, headers=writer).status_code == 400
    told = {"content": "Sell Acme", "author": "cfo"}
    done = house.client.patch(path, json=told, headers=writer)
    assert (done.status_code, done.json()["outcome"], "etag" in done.headers) == (200, "superseded", False)
    memory = done.json()["memory"]
    assert {name: memory.get(name) for name in (*secret, "reason")} == dict.fromkeys((*secret, "reason")) | told
    [found] = both("/v1/memory/recall", json={"query": "Acme"}).json()["hits"]
    assert {name: found["memory"].get(name) for name in secret} == secret | told


BESIDE = {"author": "ceo", "source": "board", "reason": "a takeover", "importance": 0.9}
UNSAID = {"author": None, "source": None, "reason": None, "importance": 0.5}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/memory", {"content": "Tea is at four"}),
        ("/memory", {"content": "Tea is at four", "key": "tea", "data": {"cups": 2}}),
        ("/memory", {"content": "Tea is at four", "id": "tea"}),
        ("/facts", {"content": "Tea is at four"}),
        ("/facts", {"content": "Tea is at four", "key": "tea"}),
        ("/facts/preferences", {"user": "ann", "key": "tea", "content": "Prefers tea"}),
        ("/facts/project", {"project": "shop", "key": "tea", "content": "Tea is at four"}),
        ("/facts/skills", {"key": "tea", "content": "Boil water"}),
        ("/episodes", {"id": "tea", "content": "Tea was at four"}),
    ],
)
def test_who_tells_what_is_known_is_shown_what_they_told(house, path, told):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    beside = {name: value for name, value in BESIDE.items() if path != "/episodes" or name in ("author", "importance")}
    there = _memory_in(both(f"/v1{path}", json=told | beside).json())
    for sent in (told, told | {"author": "cfo", "importance": 0.7}, [told]):
        done = writer(f"/v1{path}", json=sent)
        if done.status_code == 400 and isinstance(sent, list):
            continue  # It takes one at a time.
        answer = done.json()[0] if isinstance(sent, list) else done.json()
        memory = _memory_in(answer)
        assert (done.status_code < 300, answer["outcome"] in ("unchanged", "refreshed")) == (True, True), answer
        kept = {name: memory.get(name) for name in ("id", "content", "data")}
        assert kept == {name: there.get(name) for name in kept}
        assert {name: memory.get(name) for name in UNSAID} == UNSAID
    mine = _memory_in(writer(f"/v1{path}", json={**told, **beside}).json())
    assert {name: mine.get(name) for name in beside} == beside, "it is what they told, too"
    assert _memory_in(both(f"/v1{path}", json=told).json())["author"] == "ceo"


def test_what_expired_is_stored_anew_without_telling_who_told_it_before(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    there = {"content": "Tea is at four", "id": "tea", "author": "ceo", "expires_at": "2020-01-01T00:00:00Z"}
    assert both("/v1/memory", json=there).json()["memory"]["author"] == "ceo"
    done = writer("/v1/memory", json={"content": "Tea is at four", "id": "tea"}).json()
    assert (done["outcome"], "author" in done["memory"]) == ("stored", False)


def test_what_replaces_or_precedes_something_does_not_tell_since_when_that_holds(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    past, future = "2019-05-05T00:00:00Z", "2091-05-05T00:00:00Z"
    foreign = {"content": "Tea is at four", "trust": "foreign", "valid_from": past}
    assert both("/v1/memory", json=foreign).status_code == 201
    done = writer("/v1/memory", json={"content": "Tea is at four", "source": "me"}).json()
    memory = done["memory"]
    assert (done["outcome"], memory["valid_from"], memory["source"]) == ("superseded", memory["created_at"], "me")
    assert both("/v1/memory", json={"content": "Tea is at six", "key": "tea", "valid_from": future}).status_code == 201
    for since in ({}, {"valid_from": "2024-01-01T00:00:00Z"}):
        done = writer("/v1/memory", json={"content": f"Tea is at five {since}", "key": "tea", **since}).json()
        memory = done["memory"]
        assert (memory.get("valid_to"), "2091" in str(done)) == (None, False)
        assert memory["valid_from"][:4] == since.get("valid_from", memory["created_at"])[:4]
    told = {"content": "Tea is at one", "key": "one", "valid_from": past, "valid_to": future}
    for _ in range(2):
        memory = writer("/v1/memory", json=told).json()["memory"]
        assert (memory["valid_from"][:4], memory["valid_to"][:4]) == ("2019", "2091"), "it is what they told"


def test_an_episode_shows_when_it_happened_to_whoever_told_it(house):
    writer = keyed(house, rights=["write"])
    told = {"id": "tea", "content": "Tea was at four", "at": "2024-05-05T00:00:00Z"}
    for _ in range(2):
        assert writer("/v1/episodes", json=told).json()["memory"]["valid_from"][:4] == "2024"


def test_a_list_does_not_tell_when_something_was_forgotten(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    told = {"content": "Tea is at four", "id": "tea"}
    both("/v1/memory", json=told)
    assert house.client.delete("/v1/memory/tea", headers=bearing(house.key())).status_code == 200
    [done] = writer("/v1/memory", json=[told]).json()
    assert (done["outcome"], {"superseded_at", "closed_because"} & done["memory"].keys()) == ("unchanged", set())


def _memory_in(answer):
    return answer["memory"] if "memory" in answer else answer["fact"]["memory"]


def test_what_answers_with_what_others_told_needs_the_right_to_read(house):
    writer, both = bearing(house.key(rights=["write"])), bearing(house.key())

    def ask(key, method, path, **sent):
        return house.client.request(method, f"/v1{path}", headers={**key, **sent.pop("headers", {})}, **sent)

    first, second = (
        ask(both, "POST", "/facts", json={"content": content}).json()
        for content in ("The office is in Berlin", "The office is not in Berlin")
    )
    fact, flag = first["fact"]["memory"]["id"], second["conflicts"][0]["id"]
    gone = ask(both, "POST", "/facts", json={"content": "Tea is at four", "key": "tea"}).json()["fact"]["memory"]["id"]
    assert ask(writer, "DELETE", f"/facts/{gone}").status_code == 200
    asked = [
        ("POST", "/facts/restore", {"id": gone}),
        ("PUT", f"/facts/{fact}/importance", {"importance": 0.9}),
        ("POST", f"/facts/{fact}/boost", {"by": 0.1}),
        ("POST", f"/facts/conflicts/{flag}/resolve", {"keep": fact}),
    ]
    refused = [
        ask(writer, *one, json=body)
        for *one, body in (*asked, ("POST", "/memory/patterns/any/feedback", {"helpful": True}))
    ]
    said = ["this needs the right to read" in one.json()["detail"] for one in refused]
    assert (said, {one.status_code for one in refused}) == ([True] * 5, {403})
    for method, path, body in asked:
        once = {"idempotency-key": path}
        done = [ask(both, method, path, json=body, headers=once) for _ in range(2)]
        assert [one.status_code for one in done] == [200, 200], done[0].text
        assert [one.headers.get("idempotency-replayed") for one in done] == [None, "true"]


def test_who_may_not_read_learns_no_patterns_at_once(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    told = {"task_id": "T1", "execution_summary": "Ran migrate", "success": True}
    at_once = {**told, "auto_extract_patterns": True}
    for sent in (at_once, [told, at_once]):
        refused = writer("/v1/memory/store", json=sent)
        assert (refused.status_code, "this needs the right to read" in refused.json()["detail"]) == (403, True)
    assert writer("/v1/memory/store", json=[told]).status_code == 201, "nothing of what was refused is stored"
    done = [both("/v1/memory/store", {"idempotency-key": "once"}, json=at_once) for _ in range(2)]
    assert [one.json()["patterns"] for one in done] == [[], []]
    assert [one.headers.get("idempotency-replayed") for one in done] == [None, "true"]


def test_an_agent_tells_who_may_not_read_which_step_is_taken_and_nothing_of_it(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    assert both("/v1/agents", json={"agent": "fixer"}).status_code == 201
    assert both("/v1/agents/fixer/cycles", json={}).status_code == 201
    call = {"tool": "pay", "arguments": {"to": "Acme"}}
    assert both("/v1/agents/fixer/proposals", json=call).status_code == 201
    waits = writer("/v1/agents/fixer/proposals", json={"tool": "look"})
    taken = writer("/v1/agents/fixer/proposals", json={"tool": "look", "step": 1})
    assert both("/v1/agents/fixer/results", json={"output": "Acme was paid"}).status_code == 201
    known = writer("/v1/agents/fixer/results", json={"output": "x", "step": 1})
    refused = [waits, taken, known]
    assert [one.status_code for one in refused] == [409] * 3
    assert "step 1 of cycle 1 waits for its result" in waits.json()["detail"]
    assert all("taken by somebody else" in one.json()["detail"] for one in (taken, known))
    assert not any(secret in one.text for one in refused for secret in ("Acme", "pay("))


def test_what_changes_an_agent_or_learns_needs_the_right_to_read(house):
    writer, both = keyed(house, rights=["write"]), keyed(house)
    made = {"agent": "fixer", "directives": "Never sell below 7"}
    assert writer("/v1/agents", json=made).status_code == 201, "what it answers with is what was told"
    assert both("/v1/agents/fixer/cycles", json={"goal": "buy"}).status_code == 201
    patching = bearing(house.key(rights=["write"]))
    refused = [
        writer("/v1/agents/fixer/cycles", json={}),
        writer("/v1/agents/fixer/cycles/end", json={}),
        writer("/v1/agents/fixer/forks", json={"to": "mine"}),
        writer("/v1/agents/fixer/archive", json={}),
        house.client.patch("/v1/agents/fixer", json={"status": "archived"}, headers=patching),
        house.client.put("/v1/memory/context/shape", json={"budget": 900}, headers=patching),
        writer("/v1/memory/patterns/extract", json={"pattern": "deploy"}),
        writer("/v1/memory/patterns/learn", json={}),
    ]
    said = ["this needs the right to read" in one.json()["detail"] for one in refused]
    assert (said, {one.status_code for one in refused}) == ([True] * 8, {403})
    assert both("/v1/agents/fixer/cycles/end", json={"summary": "bought"}).json()["goal"] == "buy"
    assert both("/v1/memory/patterns/learn", json={}).status_code == 200


def test_a_bound_key_plants_nothing_that_verbs_act_on(house):
    bob = keyed(house, users=["bob"])
    told = {"content": "x", "kind": "conflict", "derived_from": []}
    refused = bob("/v1/memory", json=told)
    said = "kind is 'conflict', which only `facts.store` keeps: use another one"
    assert (refused.status_code, refused.json()["detail"]) == (400, said)
    lines = "\n".join(export_of(a_memory("x", kind="context_shape", scope=a_scope("bob"))))
    refused = bob("/v1/memory/import", {"content-type": "application/x-ndjson"}, content=lines)
    assert (refused.status_code, "line 2: kind is 'context_shape'" in refused.json()["detail"]) == (403, True)


def test_who_may_not_read_is_told_no_mark_and_not_what_became_of_an_id(house):
    writer, both = bearing(house.key(rights=["write"])), keyed(house)
    told = {"content": "Tea is at four", "id": "tea"}
    both("/v1/memory", json=told)
    refused = house.client.patch("/v1/memory/tea", json={"content": "x"}, headers={**writer, "if-match": '"guess"'})
    assert (refused.status_code, refused.json()["detail"].count('"')) == (412, 2), "only the mark that was given"
    assert house.client.delete("/v1/memory/tea", headers=bearing(house.key())).status_code == 200
    refused = house.client.post("/v1/memory", json=told, headers=writer)
    assert refused.status_code == 409
    assert not any(word in refused.json()["detail"] for word in ("forgotten", "superseded", "20"))
