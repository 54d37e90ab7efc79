"""Several processes on one database, each a program of its own: nothing is lost, and everybody sees everything."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import scrubjay

WRITER = Path(__file__).with_name("racing_writer.py")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new/folder/scrubjay.db"
    return request.getfixturevalue("postgres_database")()


@pytest.fixture
def started(url):
    """Starts processes that wait, warm, for the word to go."""
    with ExitStack() as running:

        def start(what, many=0, *, processes=1):
            programs = [
                running.enter_context(
                    subprocess.Popen(
                        [sys.executable, str(WRITER), what, url, f"p{number}", str(many)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
                for number in range(processes)
            ]
            running.callback(lambda: [program.kill() for program in programs if program.poll() is None])
            for program in programs:
                assert program.stdout.readline() == "ready\n"
            return programs

        yield start


def go(programs):
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()


def finish(programs):
    for program in programs:
        out, err = program.communicate(timeout=60)
        assert program.returncode == 0, err
        assert out.endswith("done\n")


def reopened(url):
    return scrubjay.open(records=url, embedder="static", background=False)


def test_many_writers_of_one_key_leave_one_value_and_a_whole_history(url, started):
    writers = started("race", 15, processes=4)
    go(writers)
    finish(writers)
    with reopened(url) as jay:
        told = {f"value {step} of p{number}" for step in range(15) for number in range(4)}
        versions = jay.history(key="city", user="anna")
        assert {one.content for one in versions} == told
        still = [one for one in versions if one.superseded_at is None and one.valid_to is None]
        assert len(still) == 1
        assert [one.content for one in jay.list(key="city")] == [still[0].content]
        believed = sorted((one for one in versions if one.superseded_at is None), key=lambda one: one.valid_from)
        assert all(one.valid_to <= two.valid_from for one, two in zip(believed, believed[1:], strict=False))
        assert jay.check() == []
        assert len(jay.recall("value", mode="meaning", user="anna", limit=100)) == 1


def test_many_writers_of_one_session_leave_no_gap(url, started):
    writers = started("say", 15, processes=4)
    go(writers)
    finish(writers)
    with reopened(url) as jay:
        turns = jay.list(session="s", order="oldest")
        assert sorted(one.position for one in turns) == list(range(60))
        for number in range(4):
            steps = [one.content for one in turns if one.content.endswith(f"p{number}")]
            assert steps == [f"turn {step} of p{number}" for step in range(15)]
        assert len(jay.list(kinds=["note"])) == 1
        assert jay.check() == []


def test_six_processes_may_open_a_new_database_at_once(url, started):
    openers = started("say", 1, processes=6)
    go(openers)
    finish(openers)
    with reopened(url) as jay:
        assert jay.count(session="s") == 6
        assert [one.state for one in jay.stats().generations] == ["active"]
        assert jay.check() == []


def test_what_one_process_writes_another_finds_at_once(url, started):
    [reader] = started("answer")
    go([reader])
    assert reader.stdout.readline() == "open\n"
    with reopened(url) as jay:
        for step in range(10):
            fact = f"wombat{step} digs burrow{step}"
            jay.remember(fact)
            jay.remember(f"city {step}", key="city")
            reader.stdin.write(f"{fact}\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == f"[1, 1] ['city {step}']\n"
            for mode in "words", "meaning":
                assert jay.recall(f"answer to {fact}", mode=mode, limit=1)[0].memory.content == f"answer to {fact}"
    finish([reader])


def test_what_one_process_purges_no_other_finds(url, started):
    [reader] = started("answer")
    with reopened(url) as jay:
        told = jay.remember("wombats dig burrows")
        go([reader])
        assert reader.stdout.readline() == "open\n"
        for line, expected in ("wombats dig", "[1, 1] []\n"), ("wombats burrows", None):
            reader.stdin.write(f"{line}\n")
            reader.stdin.flush()
            if expected is not None:
                assert reader.stdout.readline() == expected
                jay.forget(everything=True, purge=True)
        assert reader.stdout.readline() == "[0, 0] []\n"
        assert [one.id for one in jay.list(history=True)] != [told.id]
    finish([reader])
