"""The documentation is true: its Python is executed and its commands are run, page by page, on a store of their own.

Every block of Python and of console runs unless a comment says `no test` just before it. A command that must not run
needs a reason there: `<!-- no test: installs -->`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tutorial", "howto", "explanation")
PAGES = [ROOT / "README.md", *(page for name in FOLDERS for page in sorted((ROOT / "docs" / name).glob("*.md")))]
BLOCK = re.compile(
    r"(?:<!-- no test(?P<excuse>: [^>]+?)? -->\s*\n)?^```(?P<language>python|console)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
EXCUSE = re.compile(r"<!-- no test(?P<why>: [^>]+?)? -->\s*\n```(?P<language>\w+)")
TESTED_ELSEWHERE = {"docs/howto/add-a-backend.md"}
"""Pages whose Python is files for a test run, checked by the tests of what they are about."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    """What has to run, in order."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if not found[0].startswith("<!--"):
            yield Block(found["language"], found["text"], text.count("\n", 0, found.start("text")))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def environment(home: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), plain["PATH"]))
    # In no terminal, the command line prints tabs instead of tables, whatever the width.
    return plain | {"SCRUBJAY_HOME": str(home), "PATH": path}


def run(command: list[str], page: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{name_of(page)}\n{done.stdout}{done.stderr}"
    return done


@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in TESTED_ELSEWHERE], ids=name_of)
def test_a_page_is_true(page, tmp_path):
    script = tmp_path / "page.py"
    script.write_text(program_of(page), encoding="utf-8")
    done = run([sys.executable, "-u", script.name], page, tmp_path)
    check_what_is_shown(script.read_text(encoding="utf-8"), done.stdout, page)


def program_of(page: Path) -> str:
    """The page as one program, top to bottom: Python as it stands, commands by a shell. Lines keep their numbers."""
    program = ""
    for block in blocks_of(page):
        text = block.text
        if block.language == "console":
            commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
            assert commands, f"{name_of(page)}:{block.line}: a console block shows commands behind `$ `"
            shell = ["bash", "-euxo", "pipefail", "-c", "\n".join(commands)]
            text = f"import subprocess; subprocess.run({shell!r}, check=True)\n"
        program += "\n" * (block.line - program.count("\n")) + text
    return program


def check_what_is_shown(program: str, printed: str, page: Path) -> None:
    """A comment `# → text` behind a `print` is how a line begins that it prints; they come in the order of the page."""
    lines = iter(printed.splitlines())
    for shown in re.findall(r"# → (.+)$", program, re.MULTILINE):
        found = any(re.match(rf"{re.escape(shown)}(?!\w)", line) for line in lines)
        assert found, f"{name_of(page)} says {shown!r}, but the page prints:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_command_that_is_not_run_says_why(page):
    for found in EXCUSE.finditer(page.read_text(encoding="utf-8")):
        assert found["language"] == "python" or found["why"], f"{name_of(page)}: no test, and no reason: {found[0]}"


def test_an_untrue_page_is_seen(tmp_path):
    page = ROOT / "README.md"
    with pytest.raises(AssertionError):
        run([sys.executable, "-c", "raise SystemExit(1)"], page, tmp_path)
    with pytest.raises(AssertionError):
        check_what_is_shown("print(1)  # → 2", "1\n", page)


def test_blocks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\na = 1\n```\n\n<!-- no test -->\n```python\nb\n```\n\n"
        "```sh\nc\n```\n<!-- no test: installs -->\n```console\n$ d\n```\n```console\n$ e\n```\n"
    )
    assert [(block.language, block.text, block.line) for block in blocks_of(page)] == [
        ("python", "a = 1\n", 1),
        ("console", "$ e\n", 17),
    ]
