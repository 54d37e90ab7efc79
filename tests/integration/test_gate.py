"""The gate forgives chance and nothing else: a planted flake passes when it is run again, a planted fault does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[2] / "scripts" / "gate.py"

SOUND = "def test_sound(): pass\n"
FLAKE = """\
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_flake(number):
    print("what it printed")
    seen = Path(f"seen-{{number}}")
    if not seen.exists():
        seen.touch()
        assert number < 0, "the first time only"
"""
FAULT = "def test_fault(): assert 1 + 1 == 3\n"
BROKEN = "import no_such_module\n"


@pytest.fixture
def gate(tmp_path):
    def run(*files, options=()):
        for number, text in enumerate(files):
            (tmp_path / f"test_{number}.py").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, str(GATE), f"--rootdir={tmp_path}", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_sound_tests_pass(gate):
    done = gate(SOUND)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")
    assert "again" not in done.stdout


def test_a_flake_passes_when_it_is_run_again_and_is_named(gate, tmp_path):
    done = gate(SOUND, FLAKE.format(count=1))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 passed, 0 failed")
    assert "passed when run again: test_1.py::test_flake[0]" in done.stdout
    [kept] = (tmp_path / ".cache" / "gate").glob("*.txt")
    assert str(kept.relative_to(tmp_path)) in done.stdout
    text = kept.read_text(encoding="utf-8")
    assert text.startswith("test_1.py::test_flake[0]\n")
    assert "the first time only" in text
    assert "what it printed" in text


def test_a_flake_is_seen_among_the_failures_of_workers(gate, tmp_path):
    done = gate(SOUND, FLAKE.format(count=1), options=("-p", "xdist", "-n", "2"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 passed, 0 failed")
    assert "passed when run again: test_1.py::test_flake[0]" in done.stdout


def test_a_fault_fails_the_gate_also_beside_a_flake(gate):
    done = gate(FLAKE.format(count=1), FAULT)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1 passed, 1 failed")
    assert "passed when run again: test_0.py::test_flake[0]" in done.stdout
    assert "failed: test_1.py::test_fault" in done.stdout


def test_five_flakes_pass_and_six_do_not(gate, tmp_path):
    assert gate(FLAKE.format(count=5)).returncode == 0
    for seen in tmp_path.glob("seen-*"):
        seen.unlink()
    done = gate(FLAKE.format(count=6))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 6 failed")
    assert "6 tests failed" in done.stdout
    assert "passed when run again" not in done.stdout


def test_a_test_that_is_named_twice_is_a_fault_to_mend(gate, tmp_path):
    assert "to mend" not in gate(FLAKE.format(count=1)).stdout
    (tmp_path / "seen-0").unlink()
    assert "a fault to mend, named twice in the last 10 runs: test_0.py::test_flake[0]" in gate().stdout
    for _ in range(9):
        last = gate()
    assert "to mend" not in last.stdout


def test_a_file_that_cannot_be_imported_fails_the_gate(gate):
    assert gate(SOUND, BROKEN).returncode == pytest.ExitCode.INTERRUPTED


def test_a_file_that_cannot_be_imported_fails_the_gate_beside_a_flake_among_workers(gate):
    done = gate(FLAKE.format(count=1), BROKEN, options=("-p", "xdist", "-n", "2"))
    assert done.returncode == 1
    assert "not every test was run" in done.stdout


def test_a_run_that_ended_early_fails_the_gate(gate):
    assert gate(FLAKE.format(count=1), FAULT, options=("-x",)).returncode == 1


def test_what_a_property_test_has_found_is_not_forgiven(gate):
    done = gate(FLAKE.format(count=1).replace("the first time only", "Falsifying example: it(number=1)"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed")
    assert "once more" not in done.stdout


def test_a_run_without_tests_fails_the_gate(gate):
    assert gate(SOUND, options=("-k", "nothing")).returncode == pytest.ExitCode.NO_TESTS_COLLECTED
