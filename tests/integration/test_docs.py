"""The documentation is true: its Python is executed and its commands are run, page by page, on a store of their own.

Every block of Python and of console runs unless a comment says `no test` just before it. A command that must not run
needs a reason there: `<!-- no test: installs -->`. Variables that a page exports hold until its end, and the servers it
names on localhost are real ones of the test run.
"""

import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

import scrubjay
from lengths import sized

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tutorial", "howto", "explanation")
PAGES = [ROOT / "README.md", *(page for name in FOLDERS for page in sorted((ROOT / "docs" / name).glob("*.md")))]
BLOCK = re.compile(
    r"(?:<!-- no test(?P<excuse>: [^>]+?)? -->\s*\n)?^```(?P<language>python|console|sh|bash)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
EXCUSE = re.compile(r"<!-- no test(?P<why>: [^>]+?)? -->\s*\n```(?P<language>\w+)")
FILES = {"docs/howto/add-a-backend.md"}
"""Pages whose Python is files, named in their first lines, and tests to run on them."""
IN_SUITES = {"docs/howto/use-with-langgraph.md", "docs/howto/use-with-openai-agents.md"}
"""Pages about what the development install does not have: the suites of test_adapters.py run them."""
LONG_PAGES = {"docs/howto/encrypt.md"}
"""Pages that wait for seconds run in the full form only. test_cli_encryption.py runs the commands of this one."""


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


def run(command: list[str], page: Path, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path / "home") | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{name_of(page)}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture
def servers(postgres_database, server_url, redis_url):
    """For each address that pages name, how to get a real one that is empty."""

    def emptied():
        with redis.Redis.from_url(redis_url) as client:
            client.flushdb()
        return redis_url

    return {
        "postgresql://localhost/scrubjay": postgres_database,
        "qdrant://localhost:6333": lambda: f"qdrant://{urlsplit(server_url('qdrant')).netloc}?prefix={uuid.uuid4()}",
        "redis://localhost:6379": emptied,
        "chroma://localhost:8000": lambda: f"chroma://{urlsplit(server_url('chroma')).netloc}?prefix={uuid.uuid4()}",
    }


def on_real_servers(program, servers):
    for address, made in servers.items():
        if address in program:
            program = program.replace(address, made())
    return program


PROGRAMS = [
    pytest.param(page, marks=[pytest.mark.long] if name_of(page) in LONG_PAGES else [])
    for page in PAGES
    if name_of(page) not in FILES | IN_SUITES
]


@pytest.mark.parametrize("page", PROGRAMS, ids=name_of)
def test_a_page_is_true(page, servers, warm, tmp_path):
    script = tmp_path / "page.py"
    script.write_text(on_real_servers(program_of(page), servers), encoding="utf-8")
    path = os.pathsep.join((str(warm), environment(tmp_path)["PATH"]))
    done = run([str(warm / "python"), script.name], page, tmp_path, PATH=path)
    check_what_is_shown(script.read_text(encoding="utf-8"), done.stdout, page)


def program_of(page: Path) -> str:
    """The page as one program, top to bottom: Python as it stands, commands by a shell. Lines keep their numbers."""
    program = ""
    for block in blocks_of(page):
        text = block.text
        if block.language != "python":
            commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
            assert commands, f"{name_of(page)}:{block.line}: a block of commands shows them behind `$ `"
            shell = ["bash", "-euxo", "pipefail", "-c", "\n".join(commands)]
            left = f"os.environ.update({exported(commands)!r})"
            text = f"import os, subprocess; subprocess.run({shell!r}, check=True); {left}\n"
        program += "\n" * (block.line - program.count("\n")) + text
    return program


def exported(commands: list[str]) -> dict[str, str]:
    """The variables that these commands leave to the ones after them."""
    words = [word for line in commands if line.startswith("export ") for word in shlex.split(line)[1:]]
    return dict(word.split("=", 1) for word in words)


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


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_a_page_pass_their_tests(name, tmp_path):
    page = ROOT / name
    for block in blocks_of(page):
        if named := re.match(r"# (\w+\.py)\n", block.text):
            (tmp_path / named[1]).write_text(block.text, encoding="utf-8")
    assert list(tmp_path.glob("test_*.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto"]
    chosen = sized(short=["-k", "not large_batch and not thousands"], long=[])  # a file for each of so many is slow
    # The plugins of all that is installed here would be imported too, and take seconds.
    run([*command, "-p", "no:cacheprovider", *chosen], page, tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_every_verb_is_described():
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    public = [name for name in dir(scrubjay.SyncScrubjay) if not name.startswith("_")]
    verbs = [name for name in public if callable(getattr(scrubjay.SyncScrubjay, name))]
    assert len(verbs) > 15
    assert not [verb for verb in verbs if f"`{verb}(" not in page]


def test_every_route_is_described(tmp_path):
    from scrubjay.doors.http.app import application
    from scrubjay.settings import read_settings

    page = (ROOT / "docs/reference/http-routes.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `([A-Z]+ /[^`]+)` \|", page, re.MULTILINE))
    paths = application(read_settings(home=tmp_path)).openapi()["paths"]
    assert described == {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def test_every_page_is_in_the_index():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").glob("*/*.md")]
    assert not [page for page in pages if f"({page})" not in index]


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
        ("sh", "c\n", 10),
        ("console", "$ e\n", 17),
    ]


def damage(path, words):
    """Overwrite every page of a database in which these words stand: the rows of others lie there as well."""
    whole = bytearray(path.read_bytes())
    size = int.from_bytes(whole[16:18], "big")
    while (at := whole.find(words)) >= 0:
        start = at - at % size
        whole[start : start + size] = b"\xff" * size
    path.write_bytes(whole)


def test_the_runbook_saves_what_can_be_read(tmp_path):
    import textwrap

    page = ROOT / "docs/runbooks/store-damaged.md"
    [program] = re.findall(r"^ +```python\n(.*?)^ +```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    with scrubjay.open(tmp_path / "damaged", embedder="none") as jay:
        jay.remember_many([f"Memory {number} says something of some length" for number in range(2_000)], project="shop")
    damage(tmp_path / "damaged" / "scrubjay.db", b"Memory 1000 says")
    with scrubjay.open(tmp_path / "damaged", embedder="none") as jay, pytest.raises(scrubjay.StoreDamaged):
        list(jay.export())
    run([sys.executable, "-c", textwrap.dedent(program)], page, tmp_path)
    with scrubjay.open(tmp_path / "saved", embedder="none") as jay:
        saved = jay.count(project="shop")
        assert 1_800 < saved < 2_000
        assert jay.reindex(words=True) == saved
        assert jay.check() == []
        assert jay.recall("memory 1999", project="shop", limit=1)[0].memory.content.startswith("Memory 1999")
