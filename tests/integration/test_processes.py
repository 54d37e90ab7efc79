"""Several processes on one database: nothing is lost, and everybody sees everything at once."""

import itertools
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from racing_writer import opened

WRITER = Path(__file__).with_name("racing_writer.py")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new/folder/scrubjay.db"
    return request.getfixturevalue("postgres_database")()


@pytest.fixture
def started(url):
    """Starts a program that waits, warm, for the word to go."""
    with ExitStack() as running:

        def start(what, many=0, *, processes=1):
            command = [sys.executable, str(WRITER), what, url, str(many), str(processes)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            program = running.enter_context(subprocess.Popen(command, **pipes))
            running.callback(program.kill)
            assert program.stdout.readline() == "ready\n"
            return program

        yield start


def tell(program, line="go"):
    program.stdin.write(f"{line}\n")
    program.stdin.flush()


def finish(program):
    out, err = program.communicate(timeout=180)
    assert program.returncode == 0, err
    assert out.endswith("done\n"), err
    return out


def test_many_writers_of_one_key_leave_one_value_and_a_whole_history(url, started):
    program = started("race", 15, processes=4)
    tell(program)
    finish(program)
    with opened(url) as jay:
        told = {f"value {step} of p{number}" for step in range(15) for number in range(4)}
        versions = jay.history(key="city", user="anna")
        assert {one.content for one in versions} == told
        still = [one for one in versions if one.superseded_at is None and one.valid_to is None]
        assert len(still) == 1
        assert [one.content for one in jay.list(key="city")] == [still[0].content]
        believed = sorted((one for one in versions if one.superseded_at is None), key=lambda one: one.valid_from)
        assert all(one.valid_to <= two.valid_from for one, two in itertools.pairwise(believed))
        assert jay.check() == []
        assert len(jay.recall("value", mode="meaning", user="anna", limit=100)) == 1


def test_many_processes_leave_one_current_fact_and_lose_none(url, started):
    with opened(url) as jay:
        boosted = jay.facts.store("Boosted", key="fact:boosted", user="anna", importance=0.0)
        program = started("maintain", 12, processes=4)
        tell(program)
        won = finish(program).count("won\n")
        versions = jay.facts.history("fact:city", user="anna")
        assert {one.content for one in versions} == {f"value {step} of p{at}" for step in range(12) for at in range(4)}
        still = [one for one in versions if one.known_to is None and one.valid_to is None]
        assert [one.id for one in jay.facts.list(key="fact:city", user="anna")] == [one.id for one in still]
        assert len(still) == 1
        believed = sorted((one for one in versions if one.known_to is None), key=lambda one: one.valid_from)
        assert all(one.valid_to <= two.valid_from for one, two in itertools.pairwise(believed))
        assert jay.facts.get_by_id(boosted.id).importance == 48 / 128
        firsts = jay.facts.list(key_prefix="fact:first-", user="anna", history=True)
        assert (won, len(firsts)) == (12, 12), "of those who insert one key at once, one wins"
        assert jay.check() == []


def test_many_writers_of_one_session_leave_no_gap(url, started):
    program = started("say", 15, processes=4)
    tell(program)
    finish(program)
    with opened(url) as jay:
        turns = jay.list(session="s", order="oldest")
        assert sorted(one.position for one in turns) == list(range(60))
        for number in range(4):
            steps = [one.content for one in turns if one.content.endswith(f"p{number}")]
            assert steps == [f"turn {step} of p{number}" for step in range(15)]
        assert len(jay.list(kinds=["note"])) == 1
        assert jay.check() == []


def test_many_correctors_leave_one_version_and_are_told_when_they_come_late(url, started):
    with opened(url) as jay:
        first = jay.remember("the first version", user="anna")
        program = started("correct", 10, processes=4)
        tell(program)
        late = finish(program).count("late\n")
        versions = jay.history(first.id, user="anna")
        assert len(versions) == 1 + 40 - late
        assert [one.superseded_at is None for one in versions] == [False] * (len(versions) - 1) + [True]
        assert jay.check() == []


def test_six_processes_may_open_a_new_database_at_once(url, started):
    program = started("say", 1, processes=6)
    tell(program)
    finish(program)
    with opened(url) as jay:
        assert jay.count(session="s") == 6
        assert [one.state for one in jay.stats().generations] == ["active"]
        assert jay.check() == []


def test_what_one_process_writes_another_finds_at_once(url, started):
    program = started("answer")
    tell(program)
    assert program.stdout.readline() == "open\n"
    with opened(url) as jay:
        for step in range(10):
            fact = f"wombat{step} digs burrow{step}"
            jay.remember(fact)
            jay.remember(f"city {step}", key="city")
            tell(program, fact)
            assert program.stdout.readline() == f"[True, True] ['city {step}']\n"
            for mode in "words", "meaning":
                assert jay.recall(f"answer to {fact}", mode=mode, limit=1)[0].memory.content == f"answer to {fact}"
    finish(program)


def test_what_one_process_purges_no_other_finds(url, started):
    program = started("answer")
    with opened(url) as jay:
        told = jay.remember("wombats dig burrows")
        tell(program)
        assert program.stdout.readline() == "open\n"
        tell(program, "wombats dig burrows")
        assert program.stdout.readline() == "[True, True] []\n"
        jay.forget(told.id, purge=True)
        jay.forget(everything=True)
        tell(program, "wombats dig burrows")
        assert program.stdout.readline() == "[False, False] []\n"
    finish(program)
