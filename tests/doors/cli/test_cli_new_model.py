"""A release whose bundled model is another one than that of the release before: what commands do without being told."""

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.leases import SqlLeases
from scrubjay.doors.cli import catching_up
from scrubjay.errors import Misconfigured
from scrubjay.models import minilm
from scrubjay.write import index as indexing

OLD, NEW = minilm.MODEL_SHA256, "feedbeef0000" + "0" * 52
TOLD = ["The deploy needs two approvals", "Anna lives in Lisbon", "Tabs, never spaces"]


@pytest.fixture
def upgrade(run, monkeypatch):
    """A store of the release before; called, the release is the new one, or with True the one before again."""
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "minilm")
    run("remember", "--lines", input="\n".join(TOLD))

    def installed(*, back: bool = False) -> None:
        monkeypatch.setattr(minilm, "MODEL_SHA256", OLD if back else NEW)

    return installed


def states(run) -> dict[str, str]:
    generations = run("stats", "--json").json["generations"]
    return {one["model"].partition("@")[2][:12]: one["state"] for one in generations}


@pytest.mark.parametrize("command", ["recall", "context"])
def test_a_command_answers_by_words_and_then_makes_the_vectors(run, upgrade, command):
    upgrade()
    done = run(command, "two approvals", "--json")
    assert done.json["degraded"] == ["vectors"]
    assert TOLD[0] in done.out
    assert "answers from now on" in done.err
    assert states(run) == {OLD[:12]: "retired", NEW[:12]: "active"}
    again = run(command, "who may ship", "--json")
    assert again.json["degraded"] == []
    assert "embedding model" not in again.err
    assert {row[0] for row in run("doctor").rows} == {"ok"}


def test_what_is_written_meanwhile_is_kept_and_indexed_with_the_rest(run, upgrade):
    upgrade()
    run("remember", "The office is in Porto")
    assert "Porto" in run("recall", "office").out
    assert "close in meaning" in run("recall", "which town is the office in?").out
    assert run("stats", "--json").json["pending"] == 0


def test_a_large_store_is_read_a_little_with_each_command(run, upgrade, monkeypatch):
    monkeypatch.setattr(catching_up, "SECONDS", 0.0)
    monkeypatch.setattr(indexing, "BATCH", 1)
    upgrade()
    for left in ("2 memories to go", "1 memory to go", "0 memories to go"):
        assert left in run("recall", "Lisbon").err
    assert "answers from now on" in run("recall", "Lisbon").err
    assert run("recall", "Lisbon", "--json").json["degraded"] == []


def test_it_is_left_to_a_process_that_is_at_it(run, upgrade, home):
    upgrade()
    database = Database(f"sqlite:///{home}/scrubjay.db")

    async def take():
        await SqlLeases(database).take("step index", "somebody", ttl=timedelta(minutes=5))
        await database.shut()

    asyncio.run(take())
    assert "from now on" not in run("recall", "Lisbon").err
    assert run("stats", "--json").json["pending"] == 3


def test_a_model_that_cannot_answer_is_no_reason_to_fail(run, upgrade, monkeypatch, tmp_path):
    upgrade()
    monkeypatch.setattr(minilm, "files", lambda _: tmp_path)
    done = run("recall", "Lisbon")
    assert TOLD[1] in done.out
    assert "answered without vectors" in done.err


@pytest.mark.parametrize("command", ["recall", "context"])
def test_an_engine_that_is_down_is_no_reason_to_fail(run, upgrade, monkeypatch, command):
    upgrade()
    monkeypatch.setenv("SCRUBJAY_VECTORS", "qdrant://127.0.0.1:1")
    done = run(command, "Lisbon", "--json")
    assert TOLD[1] in done.out
    assert done.json["degraded"] == ["vectors"]
    assert done.err.count("store is down") <= 1


def test_what_else_goes_wrong_afterwards_does_not_make_the_answer_a_failure(run, upgrade, monkeypatch):
    upgrade()

    def fail(_jay):
        raise Misconfigured("a key is missing")

    monkeypatch.setattr(catching_up, "_take_a_share", fail)
    done = run("recall", "Lisbon", "--json")
    assert TOLD[1] in done.out
    assert "a key is missing" not in done.err


KILLED = f"""
import os, sys
from scrubjay.doors.cli import catching_up
from scrubjay.models import minilm
minilm.MODEL_SHA256 = {NEW!r}
catching_up._take_a_share = lambda jay: os._exit(9)
from scrubjay.doors.cli import main
sys.argv = ["scrubjay", "recall", "Lisbon", "--json"]
main()
"""


@pytest.mark.usefixtures("upgrade")
def test_the_answer_is_given_before_a_command_is_killed_that_goes_on(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 9
    assert TOLD[1] in done.stdout


def test_the_doctor_says_why_words_answer_and_what_to_do(run, upgrade):
    upgrade()
    problems = [row[2] for row in run("doctor", code=1).rows if row[0] == "problem"]
    assert problems[0] == "3 memories wait to be indexed by meaning: run `scrubjay reindex`"
    assert f"@{NEW[:12]}/384 is not the one that answers: recall is by words" in problems[1]
    assert f"@{OLD[:12]}/384 made the vectors and cannot be opened here" in problems[1]
    assert "--adopt" not in problems[1]
    assert "leave it to a program that stays open" in problems[1]
    assert run("reindex").rows == [["3"]]
    assert {row[0] for row in run("doctor").rows} == {"ok"}


def test_the_release_before_can_be_installed_again(run, upgrade):
    upgrade()
    run("reindex")
    upgrade(back=True)
    told = run("recall", "Lisbon", "--json")
    assert told.json["degraded"] == ["vectors"]
    # The two would take turns: what was replaced comes back when somebody says so.
    assert states(run) == {OLD[:12]: "retired", NEW[:12]: "active"}
    [problem] = [row[2] for row in run("doctor", code=1).rows if row[0] == "problem"]
    assert "reindex --adopt" in problem
    run("remember", "The office is in Porto")
    run("reindex", "--adopt")
    assert states(run) == {OLD[:12]: "active", NEW[:12]: "retired"}
    assert "close in meaning" in run("recall", "which town is the office in?").out
    assert {row[0] for row in run("doctor").rows} == {"ok"}
