"""A race of two source trees runs, sees which side is slower, and lists the answers that differ."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lengths import sized

ROOT = Path(__file__).resolve().parent.parent.parent
SLOWER = """

_recall = Core.recall


async def slower_recall(self, *args, **given):
    hits = await _recall(self, *args, **given)
    sum(range(500_000))
    return type(hits)(hits=hits.hits[::-1], confidence=hits.confidence)


Core.recall = slower_recall
"""
"""Added to a version, this takes much longer to recall, and answers in another order."""


RUN = """\
import runpy, sys
sys.path[:0] = ["benchmarks/race", "benchmarks/speed"]
import houses
houses.IDLE = 0.1
sys.argv[0] = "benchmarks/race/run.py"
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The command, but that a side need not come to rest before it is measured: here the figures mean nothing."""

SIZES = sized(short=["--sizes", "100", "--rounds", "2", "--questions", "5"], long=["--quick"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Keeps the texts of all races here, and their vectors."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def race(cache, tmp_path):
    def race(*options: object) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable, "-c", RUN, *SIZES, "--embedder", "static", "--cache", cache, "--stores", tmp_path, *options,
        ]  # fmt: skip
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    return race


def changed_by(addition: str, tmp_path: Path) -> Path:
    """A copy of this version with something added to it."""
    changed = tmp_path / "changed"
    shutil.copytree(ROOT / "src", changed / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with (changed / "src/scrubjay/core.py").open("a", encoding="utf-8") as core:
        core.write(addition)
    return changed


@pytest.mark.slow
def test_a_slower_version_that_answers_otherwise_is_seen_as_both(race, tmp_path):
    changed = changed_by(SLOWER, tmp_path)
    parts = sized(short="equality,recall", long="equality,recall,narrow,single,callers,bulk")
    saved = tmp_path / "run.json"
    done = race("--old", ROOT, "--new", changed, "--parts", parts, "--save", saved)
    assert done.returncode == 0, done.stderr
    seen = json.loads(saved.read_text("utf-8"))
    rows = {(row["what"], row["side"]): row for row in seen["rows"]}
    slower = sized(short=["recall"], long=["recall", "recall, 1 %"])
    whats = [*slower, *sized(short=[], long=["one caller", "8 callers", "32 callers", "128 callers", "bulk"])]
    assert set(rows) == {(what, side) for what in whats for side in ("by-hand", "old", "new")}
    for row in rows.values():
        for clock in ("clock", "cpu"):
            assert row[clock]["median"] >= row[clock]["least"] > 0
            assert len(row[clock]["rounds"]) == sized(short=2, long=3)
    for what in slower:
        times = rows[what, "new"]["times"]["old"]
        # What was added takes longer than all the rest, on any machine.
        assert times["cpu"]["high"] >= times["cpu"]["ratio"] >= times["cpu"]["low"] > 1.5
        assert times["least cpu"]["ratio"] > 1.5
    [equal] = seen["equal"]
    assert equal["asked"] == sized(short=50, long=100)
    assert {one["field"] for one in equal["differs"]} == {"ids"}
    assert sized(short="100 notes: 50", long="200 notes: 100") + " answers: ids differ in" in done.stdout


@pytest.mark.long
def test_a_version_answers_as_it_does_itself(race):
    done = race("--old", ROOT, "--new", ROOT, "--parts", "equality", "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["rows"] == []
    assert seen["equal"] == [{"store": "200 notes", "asked": 100, "differs": []}]


def test_a_side_that_fails_is_named_with_what_it_said(race, tmp_path):
    changed = changed_by('raise SystemExit("the jay has flown")', tmp_path)
    done = race("--old", ROOT, "--new", changed, "--parts", "narrow")
    assert done.returncode == 1
    assert f"new gave up at {sized(short=100, long=200)} memories, filling: the jay has flown" in done.stderr


def test_a_side_that_is_not_there_is_named_with_what_can_be(race):
    done = race("--old", "no-such-revision")
    assert done.returncode == 1
    assert (
        "--old is 'no-such-revision': name a revision of this repository, or a folder with src/scrubjay" in done.stderr
    )


def test_a_part_that_is_not_known_is_named_with_those_that_are(race):
    done = race("--old", ROOT, "--parts", "recall,swim")
    assert done.returncode == 2
    assert "--parts names swim: there are equality, recall" in done.stderr
