"""ETag, If-None-Match and If-Match: nothing is sent twice, and nothing is overwritten unseen."""

import asyncio
from dataclasses import replace

import pytest

from keyed import service
from scrubjay.doors.http.conditional import etag_of
from scrubjay.errors import Conflict
from scrubjay.model import new_id
from scrubjay.settings import read_settings
from scrubjay.testing import NOW, a_memory
from scrubjay.testing.values import DAY
from scrubjay.wiring import wire


@pytest.fixture
def client():
    with service() as house:
        yield house.client


@pytest.fixture
def memory(client):
    return client.post("/v1/memory", json={"content": "Prefers tabs", "importance": 0.5}).json()["memory"]


def test_a_memory_has_a_mark_of_its_version(client, memory):
    first = client.get(f"/v1/memory/{memory['id']}")
    assert first.headers["etag"].startswith('"')
    client.post("/v1/memory/recall", json={"query": "tabs"})
    assert client.get(f"/v1/memory/{memory['id']}").headers["etag"] == first.headers["etag"]
    changed = client.patch(f"/v1/memory/{memory['id']}", json={"importance": 0.9})
    assert changed.headers["etag"] != first.headers["etag"]
    assert client.get(f"/v1/memory/{memory['id']}").headers["etag"] == changed.headers["etag"]


def test_what_has_not_changed_is_not_sent_again(client, memory):
    path = f"/v1/memory/{memory['id']}"
    etag = client.get(path).headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        same = client.get(path, headers={"if-none-match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("change", ["PATCH", "DELETE"])
def test_what_has_changed_is_not_overwritten(client, memory, change):
    path, given = f"/v1/memory/{memory['id']}", {"json": {"importance": 0.1}} if change == "PATCH" else {}
    etag = client.get(path).headers["etag"]
    client.patch(path, json={"importance": 0.9})
    now = client.get(path).headers["etag"]
    for stale in (etag, '"other"', f"W/{now}"):
        refused = client.request(change, path, headers={"if-match": stale}, **given)
        assert refused.status_code == 412
        assert refused.json()["type"] == "urn:scrubjay:error:precondition-failed"
        assert now in refused.json()["detail"]
    assert client.get(path).json()["importance"] == 0.9
    assert client.request(change, path, headers={"if-match": f'"other", {now}'}, **given).status_code == 200


def test_what_is_not_there_matches_nothing(client, memory):
    del memory
    refused = client.patch("/v1/memory/none", json={"importance": 0.1}, headers={"if-match": "*"})
    assert (refused.status_code, "there is no memory none" in refused.json()["detail"]) == (412, True)


def test_a_version_that_was_replaced_is_another_one(client, memory):
    path = f"/v1/memory/{memory['id']}"
    etag = client.get(path).headers["etag"]
    assert client.patch(path, json={"content": "Prefers spaces"}, headers={"if-match": etag}).status_code == 200
    assert client.patch(path, json={"content": "Prefers both"}, headers={"if-match": etag}).status_code == 412


def test_a_write_is_done_whatever_if_none_match_says(client, memory):
    path = f"/v1/memory/{memory['id']}"
    assert client.patch(path, json={"importance": 0.9}, headers={"if-none-match": "*"}).status_code == 200


def test_the_mark_is_of_the_version_and_of_nothing_that_it_says():
    memory = a_memory(content="Prefers tabs", data={"b": 1, "a": [1.5, None]})
    same = replace(memory, data={"a": [1.5, None], "b": 1}, uses=7, used_at=memory.created_at, generation=3)
    assert etag_of(memory) == etag_of(same)
    for change in ({"id": new_id()}, {"importance": 0.9}, {"expires_at": NOW + DAY}, {"superseded_at": NOW + DAY}):
        assert etag_of(replace(memory, **change)) != etag_of(memory)
    guessed = replace(memory, content="Prefers spaces", data={}, key="pref:indent", author="ann")
    assert etag_of(guessed) == etag_of(memory), "no guess of what it says can be tried against it"


@pytest.mark.parametrize("change", [{"importance": 0.1}, {"content": "Prefers both"}, None])
async def test_of_several_who_saw_the_same_version_one_changes_it(client, memory, change):
    path = f"/v1/memory/{memory['id']}"
    seen = {"if-match": client.get(path).headers["etag"]}

    def write(place: int) -> int:
        if change is None:
            return client.delete(path, headers=seen, params={"purge": place % 2 == 0}).status_code
        given = change if "importance" not in change else {"importance": 0.1 + place / 100}
        return client.patch(path, json=given, headers=seen).status_code

    answers = await asyncio.gather(*(asyncio.to_thread(write, place) for place in range(6)))
    assert sorted(answers) == [200, 412, 412, 412, 412, 412]


async def test_what_was_read_before_another_changed_it_is_not_overwritten(tmp_path):
    async with wire(read_settings(home=tmp_path, embedder="none", background=False)) as jay:
        seen = (await jay.remember("Prefers tabs", importance=0.5)).memory
        late = jay.for_caller(replace(jay.caller, seen=seen))
        await jay.update(seen.id, importance=0.9)
        for changed in (late.update(seen.id, importance=0.1), late.update(seen.id, content="Prefers both")):
            with pytest.raises(Conflict, match="was changed or deleted meanwhile"):
                await changed
        for purge in (False, True):
            with pytest.raises(Conflict, match="was changed or deleted meanwhile"):
                await late.forget(seen.id, purge=purge)
        assert (await jay.get(seen.id)).importance == 0.9


@pytest.mark.parametrize("change", ["PATCH", "DELETE", "DELETE?purge=true"])
def test_what_is_read_by_an_id_of_ones_own_can_be_changed_as_it_was_read(client, change):
    client.post("/v1/memory", json={"content": "Prefers tabs", "id": "style"})
    client.patch("/v1/memory/style", json={"content": "Prefers spaces"})
    stale = client.get("/v1/memory/style").headers["etag"]
    client.patch("/v1/memory/style", json={"content": "Prefers both"})
    verb, _, asked = change.partition("?")
    path, given = f"/v1/memory/style?{asked}", {"json": {"importance": 0.1}} if verb == "PATCH" else {}
    assert client.request(verb, path, headers={"if-match": stale}, **given).status_code == 412
    now = client.get("/v1/memory/style")
    assert now.json()["content"] == "Prefers both"
    assert client.request(verb, path, headers={"if-match": now.headers["etag"]}, **given).status_code == 200
