"""Whatever the documentation tells people to make can be made, and `make help` knows it."""

import re
import subprocess

import pytest

TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def makefile(root) -> str:
    return (root / "Makefile").read_text(encoding="utf-8")


def test_help_knows_every_target(root, makefile):
    command = ["make", "--no-print-directory", "help"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in listed.splitlines()} == set(TARGET.findall(makefile))


def test_no_target_is_taken_for_a_file(makefile):
    [phony] = re.findall(r"^\.PHONY:((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    assert set(phony.replace("\\", "").split()) == set(TARGET.findall(makefile))


def test_what_is_run_is_there(root, makefile):
    named = set(re.findall(r"\b((?:scripts|benchmarks|tests)/[\w/.]+)", makefile))
    missing = sorted(path for path in named if not (root / path).exists())
    assert not missing, f"the Makefile runs what is not there: {', '.join(missing)}"


def test_every_target_that_is_written_about_is_there(root, tracked, makefile):
    targets = set(TARGET.findall(makefile))
    wrong = [
        f"{path.relative_to(root)}: make {target}"
        for path in tracked
        if path.suffix == ".md"
        for code in CODE.findall(path.read_text(encoding="utf-8"))
        for target in re.findall(r"(?:^|[`\s])make ([a-z][a-z-]*)", code)
        if target not in targets
    ]
    assert not wrong, "\n".join(wrong)
