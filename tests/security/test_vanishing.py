"""Whatever a request makes vanish stands in the audit log, whichever operation it took: who, what and how many.

The operations are those of the OpenAPI document. Each is sent with what destroys things, and what a reader could see
before it is compared with what is to be seen after it: where something went, the log has to say so.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from keyed import bearing, service
from openapi_walk import ANNA, NDJSON, SESSION, Owner, operations
from scrubjay.testing import a_memory, a_scope
from scrubjay.testing.values import export_of

NOT_WALKED = {"events_listen", "workspace_cite", "workspace_ingest", "workspace_backfill"}
NOT_WALKED |= {"agents_snapshot", "agents_restore", "work_restore_archive"}
"""What never ends, and what reads the disk of the server or its archives."""

PAST = "2020-01-01T00:00:00Z"

DESTROYING = {
    "expires_at": [PAST],
    "valid_to": [PAST],
    "policy": [{"most_memories": 1, "prune_below": 1.0}],
    "keep_for": [1],
    "status": ["archived"],
}

DESTROYS = {*DESTROYING, "id", "key", "purge", "everything", "keep", "most_bytes"}


ACTIONS = {
    "memory": ("memory.forgotten", "memory.purged"),
    "agent": ("agent.archived", "memory.forgotten", "memory.purged"),
    "scratch": ("scratch.deleted", "session.ended", "memory.purged"),
    "session": ("session.ended", "memory.purged"),
    "key": ("key.revoked", "key.rotated"),
}
"""What the log says of what is gone."""


class Filled:
    """A tenant with something in every memory, and what its reader can see."""

    def __init__(self, client, keys):
        owner, actor = keys
        self.owner = Owner(client, bearing(owner))
        self.actor, self.actor_id = bearing(actor), actor.key.id
        self.owner.fill()
        self.known = {**self.owner.known(), **DESTROYING, "keep": [self.owner.ids[3]]}
        self.seen = self.filled = self._seen()

    def _seen(self):
        session = {"session": SESSION, **ANNA}
        return {
            *(("memory", memory["id"]) for memory in self.exported()[1:]),
            *(("agent", one["name"]) for one in self.owner.tell("GET", "/v1/agents")["agents"]),
            *(("scratch", one["name"]) for one in self.owner.tell("GET", "/v1/working/scratch", **session)),
            *(
                ("session", "live")
                for one in [self.owner.tell("GET", "/v1/working/session", **session)]
                if is_live(one)
            ),
            *(("key", one["id"]) for one in self.owner.tell("GET", "/v1/keys") if not one["revoked_at"]),
        }

    def exported(self):
        answer = self.owner.client.get("/v1/memory/export?history=false", headers=self.owner.headers)
        return list(map(json.loads, answer.text.splitlines()))

    def gone(self):
        """What was seen before and is not any more, but for what a version took the place of that is."""
        before, self.seen = self.seen, self._seen()
        return {one for one in before - self.seen if not (one[0] == "memory" and self._is_replaced(one[1]))}

    def _is_replaced(self, id):
        answer = self.owner.client.get(f"/v1/memory/{id}", headers=self.owner.headers)
        return answer.is_success and ("memory", answer.json().get("superseded_by")) in self.seen

    def entries(self):
        """What the log says of the actor."""
        found = self.owner.tell("GET", "/v1/audit", limit=1_000)
        return [entry for entry in found if entry["key"] == self.actor_id]

    def requests(self, operation):
        """What destroys, one thing at a time; and what takes the place of something and is over."""
        if {"key", "expires_at", "content"} <= operation.in_body.keys():
            [asked, *_] = operation.requests(self.known, ANNA, [], ())
            for key in ("note", "fact:port", "indent"):
                yield replace(asked, json={**asked.json, "content": "over", "key": key, "expires_at": PAST})
        lines = [closing(self)] if operation.takes_lines else []
        yield from operation.requests(self.known, ANNA, lines, DESTROYS)


def is_live(session):
    return session is not None and session.get("ended_at") is None


@pytest.mark.slow
def test_what_vanishes_stands_in_the_audit_log():
    with service(limit_read="0", limit_write="0", limit_heavy="0") as house:
        walked = [one for one in operations(house.client.get("/openapi.json").json()) if one.name not in NOT_WALKED]
        tenants = fresh_tenants(house)
        filled, vanished = next(tenants), {}
        for operation in (one for one in walked if one.method != "GET"):
            if filled.seen != filled.filled:
                filled = next(tenants)
            number = 0
            while asked := next(islice(filled.requests(operation), number, None), None):
                number += 1
                answer = asked.send(house.client, filled.actor)
                assert answer.status_code < 500, (asked, answer.text)
                if gone := filled.gone():
                    entries = filled.entries()
                    wanted, said = (
                        {action for sort, _ in gone for action in ACTIONS[sort]},
                        {one["action"] for one in entries},
                    )
                    assert wanted & said, f"{asked} made {gone} vanish without an entry"
                    memories = {one for sort, one in gone if sort == "memory"}
                    assert memories <= {one for entry in entries for one in entry["ids"]}, (asked, gone, entries)
                    vanished.setdefault(operation.name, set()).update(sort for sort, _ in gone)
                    filled = next(tenants)
    assert vanished.keys() >= {
        *("memory_forget", "memory_forget_many", "memory_update", "memory_remember", "memory_import_memories"),
        *("work_consolidate", "workspace_prune", "working_delete_scratch", "working_end", "access_revoke"),
        *("facts_delete", "facts_delete_by_key", "facts_purge", "facts_store", "facts_store_user_preference"),
        *("agents_archive", "agents_update"),
    }, sorted(vanished)
    assert set().union(*vanished.values()) == {"memory", "agent", "scratch", "session", "key"}


def fresh_tenants(house):
    """Tenants that are filled when they are needed. Their keys are made in one go: to open a store takes long."""
    everything = ("read", "write", "admin")
    with house.opened() as jay:
        made = [jay.for_tenant(f"tenant-{number}").access for number in range(200)]
        keys = [[access.create_key(name, rights=everything) for name in ("owner", "actor")] for access in made]
    return (Filled(house.client, one) for one in keys)


def closing(filled):
    """Lines to import that close what is believed here."""
    [header, *memories] = filled.exported()
    memory = next(one for one in memories if one["kind"] == "note")
    now = datetime.now(UTC).isoformat()
    closed = {**memory, "superseded_at": now, "closed_because": "forgotten"}
    return "\n".join(map(json.dumps, [header, closed])).encode()


@pytest.fixture
def house():
    with service() as house:
        yield house


def many(house, key, count=32):
    items = [{"content": f"memory {number}", "user": "anna"} for number in range(count)]
    assert house.client.post("/v1/memory", json=items, headers=bearing(key)).status_code == 201


POLICY = {"most_memories": 1, "prune_below": 1.0}


@pytest.mark.parametrize("bounds", [{}, {"users": ["anna"]}])
def test_rules_of_ones_own_for_what_is_forgotten_are_an_admins(house, bounds):
    many(house, house.key())
    key = bearing(house.key(**bounds))

    def count():
        return house.client.get("/v1/memory/count", headers=bearing(house.key())).json()["count"]

    for path, told in {
        "/v1/consolidate": {"policy": POLICY, "steps": ["prune"]},
        "/v1/workspace/prune": {"keep_for": 1},
        "/v1/workspace/prune ": {"most_bytes": 1},
    }.items():
        refused = house.client.post(path.strip(), json=told, headers=key)
        assert (refused.status_code, "this needs the right to admin" in refused.text) == (403, True)
    assert count() == 32
    planned = house.client.post("/v1/consolidate", json={"policy": POLICY, "dry_run": True}, headers=key)
    assert (planned.status_code, count()) == (200, 32)


def test_an_admin_who_prunes_is_named_with_how_many(house):
    many(house, house.key())
    admin = house.key(rights=["admin"])
    told = {"policy": POLICY, "steps": ["prune"], "user": "anna"}
    assert house.client.post("/v1/consolidate", json=told, headers=bearing(admin)).status_code == 200
    [entry, *_] = house.client.get("/v1/audit", headers=bearing(admin)).json()
    assert (entry["action"], entry["key"], entry["target"]) == (
        "memory.forgotten",
        admin.key.id,
        "user=anna: 31 memories, pruned",
    )
    assert len(entry["ids"]) == 31


def test_an_end_that_is_set_sooner_is_noted_and_one_that_is_later_is_not(house):
    key, admin = bearing(house.key()), bearing(house.key(rights=["admin"]))
    made = house.client.post("/v1/memory", json={"content": "x"}, headers=key).json()["memory"]["id"]

    def entries():
        return house.client.get("/v1/audit", headers=admin).json()

    begun = len(entries())
    soon, later = ((datetime.now(UTC) + timedelta(days=days)).isoformat() for days in (1, 2))
    for end, more in ((later, 1), (soon, 2), (later, 2), (None, 2), (PAST, 3)):
        assert house.client.patch(f"/v1/memory/{made}", json={"expires_at": end}, headers=key).status_code == 200
        assert len(entries()) == begun + more, end
    assert (entries()[0]["ids"], "expires at 2020-01-01" in entries()[0]["target"]) == ([made], True)


def test_a_bound_key_that_imports_what_closes_is_named(house):
    anna, admin = house.key(users=["anna"]), bearing(house.key(rights=["admin"]))
    memory = a_memory("x", scope=a_scope("anna"))
    headers = {**bearing(anna), "content-type": NDJSON}
    for told in (memory, memory.closed(memory.created_at + timedelta(days=1), because="forgotten")):
        body = "\n".join(export_of(told)).encode()
        assert house.client.post("/v1/memory/import", content=body, headers=headers).status_code == 200
    [entry, *_] = house.client.get("/v1/audit", headers=admin).json()
    assert (entry["action"], entry["key"], entry["ids"]) == ("memory.forgotten", anna.key.id, [str(memory.id)])


def test_who_settles_a_contradiction_is_named_with_the_side_that_was_closed(house):
    key, admin = house.key(), bearing(house.key(rights=["admin"]))

    def tell(path, told):
        return house.client.post(path, json=told, headers=bearing(key)).json()

    lost, kept = (tell("/v1/facts", {"content": f"The office is {where} Berlin"}) for where in ("in", "not in"))
    lost, flag, kept = lost["fact"]["memory"]["id"], kept["conflicts"][0]["id"], kept["fact"]["memory"]["id"]
    tell(f"/v1/facts/conflicts/{flag}/resolve", {"keep": kept})
    [entry, *_] = house.client.get("/v1/audit", headers=admin).json()
    assert (entry["action"], entry["key"], set(entry["ids"])) == ("memory.forgotten", key.key.id, {flag, lost})
