"""Run the tests with pytest, and then each that failed once more, alone.

    python scripts/gate.py [options of pytest]

A test that passes when it is run again does not fail the gate: the summary names it, and the text of its first failure
is kept under `.cache/gate`. More than five failures fail the gate at once, since that many are no chance.
A test that is named so twice in ten runs is a fault to mend. The summary says which those are.
A file that cannot be imported fails the gate, and so does an input that a property test has found.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

FOLDER = Path(".cache/gate")
MOST_FAILURES = 5
"""More failures than this are not run again."""
RUNS = 10
"""How many runs the history of a checkout holds."""


@dataclass
class Recorder:
    """A pytest plugin that collects how many tests ran, and the text of each failure. Workers report to it, too."""

    tests: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True
    """False when a file could not be imported, or the run was ended early."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.is_whole = self.is_whole and not report.failed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.is_whole = self.is_whole and not (session.shouldfail or session.shouldstop)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests += report.when == "setup"
        if report.failed:
            text = "\n".join([report.longreprtext, *(f"--- {title}\n{printed}" for title, printed in report.sections)])
            self.failures.setdefault(report.nodeid, text)


def main(options: list[str]) -> int:
    """Return the exit status: 0 when every test passed, at once or when it was run again."""
    recorder = Recorder()
    status = pytest.main(options, plugins=[recorder])
    failures = recorder.failures
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or (status and not failures):
        return int(status)
    if not recorder.is_whole:
        print("\nnot every test was run: see above")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    if len(failures) > MOST_FAILURES:
        print(f"\n{len(failures)} tests failed. Up to {MOST_FAILURES} would be run again.")
        passed = []
    else:
        # An example that a property test has found may not be drawn a second time.
        again = [test for test, text in failures.items() if "Falsifying example" not in text]
        passed = [test for test in again if passes_alone(test, options)]
    for test, text in failures.items():
        file = FOLDER / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', test)[-150:]}.txt"
        file.write_text(f"{test}\n{text}\n", encoding="utf-8")
        print(f"{'passed when run again' if test in passed else 'failed'}: {test}\n    its first failure: {file}")
    for test in named_twice(remember(passed)):
        print(f"a fault to mend, named twice in the last {RUNS} runs: {test}")
    lost = len(failures) - len(passed)
    print(f"\n{recorder.tests - lost} passed, {lost} failed")
    return 1 if lost else 0


def passes_alone(test: str, options: list[str]) -> bool:
    """Run one test in a process of its own. Options that choose tests, or how many run at once, are left out."""
    print(f"\nonce more, alone: {test}", flush=True)
    kept = [one for one in options if one.startswith(("--rootdir=", "--timeout="))]
    return subprocess.run([sys.executable, "-m", "pytest", *kept, test], check=False).returncode == 0


def remember(passed: list[str]) -> list[list[str]]:
    """Add to the history which tests passed when run again. Return that of the last runs."""
    file = FOLDER / "history.json"
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    runs = [*runs, passed][-RUNS:]
    file.write_text(json.dumps(runs, indent=1), encoding="utf-8")
    return runs


def named_twice(runs: list[list[str]]) -> list[str]:
    counts = Counter(test for run in runs for test in run)
    return sorted(test for test, times in counts.items() if times > 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
