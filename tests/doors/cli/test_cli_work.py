"""The commands about consolidation."""

from uuid import uuid5

import pytest

import scrubjay
from scrubjay.model import Scope, new_id
from scrubjay.model.working import scope_text
from scrubjay.testing.values import SECOND


@pytest.fixture
def session(run):
    run("working", "append", "I prefer dark mode", "--user", "anna", "--session", "monday")
    run("working", "end", "--user", "anna", "--session", "monday")


def test_a_session_is_consolidated(run, session):
    dry = run("consolidate", "--dry-run", "--step", "drain")
    assert dry.rows == [
        ["drain", "", "user=anna session=monday", "1 message of session 'monday'", "the session was ended"]
    ]
    done = {row[0]: row[1] for row in run("consolidate", "--once", "--user", "anna").rows}
    assert done["drain"] == "1 message, 1 session"
    assert done["prune"] == "no rule is set"
    assert [one["kind"] for one in run("list", "--json", "--user", "anna", "--kind", "message").json] == ["message"]
    assert "nothing would be done" in run("consolidate", "--dry-run", "--step", "drain").err


def test_steps_and_json(run, session):
    done = run("consolidate", "--step", "drain", "--step", "expire", "--json").json
    assert [one["step"] for one in done["steps"]] == ["drain", "expire"]
    assert done["steps"][0]["counts"] == {"messages": 1, "sessions": 1}
    refused = run("consolidate", "--step", "nap", code=1)
    assert "steps is 'nap': use some of drain" in refused.err


def test_status(run, session):
    waits = dict(row for row in run("work", "status").rows if len(row) == 2)
    assert (waits["sessions to drain"], waits["at work"]) == ("1", "nobody")
    run("consolidate")
    found = run("work", "status", "--json").json
    assert (found["sessions"], found["parked"]) == (0, 0)
    assert found["metrics"]["scrubjay_work_drain_done_total"] == 1.0
    rows = {row[0]: row for row in run("work", "status").rows}
    assert rows["drain"][2:6] == ["1", "1", "1", "0"]


def test_what_is_parked_is_shown_and_tried_again(run, home):
    taken = new_id()
    for its_id in (taken, uuid5(taken, scope_text(Scope(session="s")))):
        run("remember", f"Another memory has the id {its_id}", "--id", str(its_id))
    run("working", "append", "poisoned", "--id", str(taken), "--session", "s")
    run("working", "end", "--session", "s")
    with scrubjay.open(home, embedder="none", background=False) as jay:
        jay.consolidate(steps="drain")
        log, [trouble] = jay._verbs.parts.works.log, jay.work.parked()
        jay._loop.run(lambda: park(log, trouble))
    [row] = run("work", "parked").rows
    assert row[1:4] == ["drain", "session=s", "2"]
    assert "IdTaken" in row[5]
    assert "1" in run("work", "status").out
    assert run("work", "retry", row[0]).rows == [[row[0], "drain"]]
    assert run("work", "parked", "--json").json[0]["parked_at"] is None
    assert "nothing was parked" in run("work", "retry").err
    assert "no" in run("work", "retry", str(new_id()), code=1).err


async def park(log, trouble):
    """Let it fail once more, for the last time."""
    said = {"error": trouble.error, "at": trouble.last_at, "tries": 2, "pause": SECOND}
    await log.failed(trouble.step, trouble.item, trouble.scope, **said)


def test_archives_come_and_go(run, session, monkeypatch):
    assert "nothing is archived" in run("work", "archives").err
    run("consolidate")
    monkeypatch.setenv("SCRUBJAY_ARCHIVE_DAYS", "0.0000001")
    run("consolidate", "--step", "archive")
    [[file, episodes, _]] = run("work", "archives").rows
    assert episodes == "1"
    assert run("list", "--kind", "message").rows == []
    assert run("work", "restore-archive", file).rows == [["1"]]
    assert len(run("list", "--kind", "message").rows) == 1
    assert "no archive" in run("work", "restore-archive", "nothing.jsonl.gz", code=1).err
