"""Every notebook runs from top to bottom in a real kernel, and what is kept in it is what it shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

SHOWS = {
    "consolidation.ipynb": [
        "thursday   6 messages",
        "drain: 28 messages, 4 sessions",
        "distill: 4 summaries, 4 facts, 4 sessions",
        "instruction  Never push to main on a Friday  (from 1 message)",
        "preference   I prefer short answers, with the command first  (from 1 message)",
        "we left Stripe last year. [last year = 2025]",
        "in working memory       0 of 10 answered, 0.0 of 4 wishes at 300 tokens",
        "drained into episodes  10 of 10 answered,",
        "distilled too          10 of 10 answered, 4.0 of 4 wishes at 300 tokens",
        "Please move the staging database to port 6655",
    ],
}


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def said(notebook):
    """All that was printed."""
    return "".join("".join(one.get("text", "")) for cell in notebook["cells"] for one in cell.get("outputs", ()))


def pictures(notebook):
    return sum("image/png" in one.get("data", {}) for cell in notebook["cells"] for one in cell.get("outputs", ()))


def test_every_notebook_is_run():
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == set(SHOWS)


@pytest.mark.long
@pytest.mark.parametrize("name", SHOWS)
def test_a_notebook(name, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    if cached := os.environ.get("SCRUBJAY_TEST_CACHE"):
        environment["SCRUBJAY_TEST_CACHE"] = cached
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "run_notebook.py"), str(EXAMPLES / name), str(tmp_path / name)],
        cwd=tmp_path,
        env=environment | {"SCRUBJAY_HOME": str(tmp_path / "home"), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept, ran = read(EXAMPLES / name), read(tmp_path / name)
    for line in SHOWS[name]:
        assert line in said(ran)
        assert line in said(kept), f"run `make notebook`: {name} keeps what it no longer shows"
    assert pictures(ran) == pictures(kept) == 2
    assert not (tmp_path / "home").exists(), "a notebook keeps to its own folder"


@pytest.mark.parametrize("name", SHOWS)
def test_a_notebook_is_kept_small_and_free_of_the_machine_it_ran_on(name):
    assert (EXAMPLES / name).stat().st_size < 150_000
    notebook = read(EXAMPLES / name)
    shown = said(notebook) + json.dumps(notebook["metadata"])
    for word in ("/tmp", "/home", "/root", "Traceback", "Warning"):
        assert word not in shown
