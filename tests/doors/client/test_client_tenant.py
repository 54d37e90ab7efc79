"""A client knows whose memory it works with: that of its key."""

from datetime import timedelta

import pytest
from served import GIVEN, serving

import scrubjay
from scrubjay.client import connect, connect_async
from scrubjay.doors.mcp.tools import Caller
from scrubjay.doors.shown import Showing
from scrubjay.errors import NotFound, Unauthenticated

HOUR = timedelta(hours=1)


def test_values_say_whose_they_are(tmp_path):
    with scrubjay.open(tmp_path, tenant="acme", **GIVEN) as jay:
        full, writer = jay.access.create_key("full"), jay.access.create_key("w", rights=["write"], users=["anna"])
    with serving(tmp_path) as url:
        with connect(url, key=full.text) as jay:
            assert jay.tenant == "acme"
            assert jay.remember("Prefers tabs").memory.scope.tenant == "acme"
            assert [hit.memory.scope.tenant for hit in jay.recall("tabs")] == ["acme"]
        with connect(url, key=writer.text) as jay:
            assert jay.tenant == "acme"
        with pytest.raises(Unauthenticated):
            connect(url, key=f"sj_{'0' * 16}_{'x' * 43}")


def test_rules_travel_with_the_question(remote):
    for place in range(3):
        remote.remember(f"Note {place}", user="pruner")
    rules = scrubjay.Policy(half_life=None, most_memories=1, namespaces={"design": scrubjay.Fading(after=HOUR)})
    done = remote.consolidate(steps=["decay", "prune"], policy=rules, dry_run=True, user="pruner")
    assert done["decay"].skipped == "no half-life is set"
    assert len(done["prune"].planned) == 2


async def test_a_tool_reads_by_id_for_whomever_the_key_is_bound_to(tmp_path):
    with scrubjay.open(tmp_path, **GIVEN) as jay:
        key = jay.access.create_key("both", users=["anna", "carl"])
        his, foreign = (jay.remember("Likes tea", user=user) for user in ("carl", "bob"))
    with serving(tmp_path) as url:
        async with connect_async(url, key=key.text) as jay:
            caller = Caller(jay=jay, where={}, said={}, shares_files=True, showing=Showing(), count=len)
            assert (await caller.by_id(jay.get, str(his.id))).content == "Likes tea"
            with pytest.raises(NotFound, match="for users 'anna', 'carl', which this key"):
                await caller.by_id(jay.get, str(foreign.id))
