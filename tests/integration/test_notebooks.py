"""Every notebook runs from top to bottom, and what is kept in it is what it shows. The full form has a real kernel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fetch

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


def run(command, tmp_path):
    """Run it in a home of its own, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    if cached := os.environ.get("SCRUBJAY_TEST_CACHE"):
        environment["SCRUBJAY_TEST_CACHE"] = cached
    for variable, folder in (
        ("SCRUBJAY_HOME", "home"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
        ("MPLCONFIGDIR", "drawing"),
    ):
        environment[variable] = str(tmp_path / folder)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "home").exists(), "a notebook keeps to its own folder"
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", SHOWS)
def test_a_notebook(name, tmp_path):
    run([sys.executable, ROOT / "scripts" / "run_notebook.py", EXAMPLES / name, tmp_path / name], tmp_path)
    kept, ran = read(EXAMPLES / name), read(tmp_path / name)
    for line in SHOWS[name]:
        assert line in said(ran)
        assert line in said(kept), f"run `make notebook`: {name} keeps what it no longer shows"
    assert pictures(ran) == pictures(kept) == 2


PICTURES = """\
import sys
sys.path.append({packages!r})
import matplotlib.pyplot as plt
plt.switch_backend("agg")
plt.show = lambda: plt.savefig(f"{{plt.gcf().number}}.png")
"""
"""What a kernel does around the cells: each picture that is shown becomes a file."""


@pytest.mark.parametrize("name", SHOWS)
def test_the_cells_of_a_notebook(name, warm, tmp_path):
    """The short form of the one above: one program instead of a kernel."""
    kept = read(EXAMPLES / name)
    cells = ["".join(cell["source"]) for cell in kept["cells"] if cell["cell_type"] == "code"]
    program = [PICTURES.format(packages=str(fetch.packages_apart("notebook"))), *cells]
    (tmp_path / "cells.py").write_text("\n".join(program), encoding="utf-8")
    printed = run([warm / "python", tmp_path / "cells.py"], tmp_path)
    for line in SHOWS[name]:
        assert line in printed
        assert line in said(kept), f"run `make notebook`: {name} keeps what it no longer shows"
    assert len(list(tmp_path.glob("*.png"))) == pictures(kept) == 2


@pytest.mark.parametrize("name", SHOWS)
def test_a_notebook_is_kept_small_and_free_of_the_machine_it_ran_on(name):
    assert (EXAMPLES / name).stat().st_size < 150_000
    notebook = read(EXAMPLES / name)
    shown = said(notebook) + json.dumps(notebook["metadata"])
    for word in ("/tmp", "/home", "/root", "Traceback", "Warning"):
        assert word not in shown
