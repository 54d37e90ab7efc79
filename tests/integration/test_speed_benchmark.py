"""The speed benchmark runs, and what it says about a small store is plausible."""

import json
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MEMORIES = 200


def comparing(folder: Path) -> Path:
    """A data folder whose texts give questions that compare: each side of those is embedded as well."""
    corpus = folder / "recall" / "ports" / "corpus.jsonl"
    corpus.parent.mkdir(parents=True)
    chance = random.Random(0)
    kinds = ("harbour", "lantern", "meadow", "orchard", "quarry", "saddle", "timber", "velvet", "walnut", "zephyr")
    with corpus.open("w", encoding="utf-8") as lines:
        for _ in range(2_000):
            names = [f"{chance.choice(kinds)}-{chance.randrange(10_000)}" for _ in range(13)]
            lines.write(json.dumps({"text": " between ".join(names) + " between"}) + "\n")
    return folder


def test_a_small_run_measures_scrubjay_beside_the_plain_script(tmp_path):
    page = tmp_path / "speed.md"
    page.write_text(
        "Before.\n\n<!-- measured: written by benchmarks/speed/run.py -->\n<!-- measured, end -->\n\nAfter.\n"
    )
    command = [
        sys.executable, "benchmarks/speed/run.py", "--quick", "--parts", "stores", "--embedder", "static",
        "--peers", "by-hand,scrubjay", "--cache", tmp_path, "--stores", tmp_path, "--write", page, "--json",
        "--data", comparing(tmp_path / "data"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {(row["system"], row["what"]): row for row in json.loads(done.stdout)["rows"]}
    for system in ("by-hand", "scrubjay"):
        assert not [row for (name, _), row in rows.items() if name == system and "failed" in row]
        assert rows[system, "bulk"]["stored"] == MEMORIES
        assert rows[system, "single"]["asked"] == 20
        assert rows[system, "callers 32"]["rate"] > 0
        assert rows[system, "bulk"]["disk MB"] > 0
        assert rows[system, "start"]["milliseconds"] > rows[system, "recall"]["p50"] > 0
        for width in ("recall", "recall 1 %"):
            # A question is made of words of one stored text, so that a search which does not find it is broken.
            assert rows[system, width]["found"] >= 0.9
    written = page.read_text()
    assert written.startswith("Before.")
    assert written.endswith("After.\n")
    assert "| 200 | Scrubjay |" in written
    assert (tmp_path / "speed-recall.svg").read_text().startswith("<svg")
    assert (tmp_path / "speed-writing.svg").read_text().startswith("<svg")


def test_a_system_that_is_not_known_is_named_with_those_that_are():
    command = [sys.executable, "benchmarks/speed/run.py", "--peers", "scrubjay,elephant"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--peers names elephant: there are by-hand, scrubjay" in done.stderr
