"""The real executable: pipes, exit codes, signals, several processes at once, and how quickly it starts."""

import fcntl
import json
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from lengths import LONG, sized
from scrubjay import __version__

SCRUBJAY = [sys.executable, "-m", "scrubjay"]
"""A cold start, which takes half a second. The short form has one for each kind of thing; the others are warm."""

HEAVY = {
    "alembic",
    "fastapi",
    "numpy",
    "onnxruntime",
    "pydantic_settings",
    "sqlalchemy",
    "structlog",
    "tokenizers",
}


def started(warm: Path, *args: str, cold: bool = False) -> list[str]:
    return [*SCRUBJAY, *args] if cold or LONG else [str(warm / "scrubjay"), *args]


def test_the_script_is_installed():
    script = Path(sys.executable).with_name("scrubjay")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=180, check=True)
    assert done.stdout == f"scrubjay {__version__}\n"


def test_exit_codes(process):
    process("--version")
    process("--help")
    process("recall", "--help")
    process(code=2)
    process("no-such-command", code=2)
    process("recall", code=2)
    done = process("get", "nothing", code=1)
    assert done.err.startswith("error: ")
    assert done.out == ""


def test_a_pipeline_through_a_shell(home):
    line = (
        f"{sys.executable} -m scrubjay remember 'Prefers tabs' -u ada | cut -f1 | "
        f"xargs {sys.executable} -m scrubjay get --json"
    )
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, timeout=180, check=False
    )
    assert '"Prefers tabs"' in done.stdout, done.stderr


def test_output_has_no_colour_and_no_markup_in_a_pipe(process):
    process("remember", "[red]not a colour[/red]")
    done = process("list")
    assert "\x1b" not in done.out
    assert "[red]not a colour[/red]" in done.out


@pytest.mark.parametrize("args", [["list", "-n", "2000"], ["export"], ["list", "-n", "2000", "--json"]])
def test_a_reader_that_goes_away_is_no_trouble(run, warm, args):
    run("remember", "--lines", input="".join(f"line {number} {'long ' * 50}\n" for number in range(1500)))
    command = started(warm, *args, cold=args == ["export"])
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(10)
    child.stdout.close()
    with child.stderr:
        complaints = child.stderr.read()
    child.wait(60)
    assert complaints == b""


UNWRITTEN = "standard output cannot be written: No space left on device"


@pytest.mark.parametrize(
    "args",
    [["list"], ["list", "-n", "2000"], ["list", "-n", "2000", "--json"], ["list", "--json"], ["export"], ["--help"]],
)
def test_a_full_disk_below_standard_output_is_one_line(run, warm, args):
    run("remember", "--lines", input="".join(f"line {number} {'long ' * 50}\n" for number in range(200)))
    command = started(warm, *args, cold=args == ["list"])
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    as_json = json.dumps({"error": "InvalidInput", "message": UNWRITTEN})
    assert done.stderr == (as_json if "--json" in args else f"error: {UNWRITTEN}") + "\n"


def test_what_went_wrong_is_said_once_when_nothing_can_be_written_either(warm):
    with Path("/dev/full").open("w") as full:
        line = started(warm, "get", "nothing")
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "standard output" not in done.stderr


@pytest.mark.parametrize(
    "closed", ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.long) for one in ("<&-", ">&-", "2>&-"))]
)
def test_a_stream_that_is_closed_breaks_no_command(run, closed):
    def done(line: str) -> subprocess.CompletedProcess[str]:
        asked = ["bash", "-c", f"{sys.executable} -m scrubjay {line} {closed}"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=180, check=False)

    told = [done("remember 'Prefers tabs' -u ada"), done("list -u ada"), done("export -u ada"), done("--version")]
    assert [(one.returncode, one.stderr) for one in told] == [(0, "")] * 4
    assert [bool(one.stdout) for one in told] == [">&-" not in closed.replace("2>&-", "")] * 4
    assert [row[3] for row in run("list", "-u", "ada").rows] == ["Prefers tabs"]
    refused = done("get nothing")
    assert (refused.returncode, refused.stderr.startswith("error: ")) == (1, "2>&-" not in closed)
    run("doctor")


def test_an_export_is_utf_8_whatever_the_terminal_shows(run, tmp_path, monkeypatch):
    said = "Łódź: 東京 ☕"
    run("remember", said, "-u", "ada")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    done = subprocess.run([*SCRUBJAY, "export"], capture_output=True, timeout=180, check=True)
    assert done.stdout.decode() == run("export").out
    (tmp_path / "out.jsonl").write_bytes(done.stdout)
    other = str(tmp_path / "other")
    assert run("import", str(tmp_path / "out.jsonl"), "--home", other).rows == [["1", "0"]]
    assert [row[3] for row in run("list", "--home", other).rows] == [said]


def test_json_loses_no_character_whatever_the_terminal_shows(run, monkeypatch):
    said = "Łódź: 東京 ☕ 🦉"
    run("remember", said, "-u", "ada", "--id", "trip")
    assert said in run("get", "trip", "--json").out, "where it can be shown, it is"
    for encoding in sized(short=("ascii",), long=("ascii", "cp1252")):
        monkeypatch.setenv("PYTHONIOENCODING", encoding)
        done = subprocess.run([*SCRUBJAY, "get", "trip", "--json"], capture_output=True, timeout=180, check=True)
        assert json.loads(done.stdout)["content"] == said
        done = subprocess.run([*SCRUBJAY, "get", "東京", "--json"], capture_output=True, timeout=180, check=False)
        assert "東京" in json.loads(done.stderr)["message"]


def test_interrupted_while_it_reads(home):
    child = subprocess.Popen(
        [*SCRUBJAY, "import", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdin.write(b'{"format":"scrubjay-memories","version":1}\n')
    child.stdin.flush()
    wait_until(lambda: not unread(child.stdin))
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    with child.stdin, child.stdout, child.stderr:
        assert b"Traceback" not in child.stderr.read()


def test_interrupted_while_it_works(run, home, monkeypatch):
    """What was written before stays, and the next command finds a sound store."""
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "minilm")
    lines = "".join(f"line {number}\n" for number in range(20_000))
    child = subprocess.Popen(
        [*SCRUBJAY, "remember", "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdin.write(lines.encode())
    child.stdin.close()
    wait_until(lambda: stored(home) > 0)
    before = stored(home)
    child.send_signal(signal.SIGINT)
    assert child.wait(180) == 130
    with child.stdout, child.stderr:
        assert b"Traceback" not in child.stderr.read()
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    run("doctor")
    assert before <= stored(home) < 20_000


def stored(home: Path) -> int:
    """How many memories are in the file; 0 while there is none, or no table in it."""
    try:
        with closing(sqlite3.connect(f"file:{home}/scrubjay.db?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM memories").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def unread(pipe: IO[bytes]) -> int:
    """How many bytes wait in this pipe to be read at its other end."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_many_processes_on_one_home(run, warm):
    """Eight at once on a home that does not exist yet: each is acknowledged, and all are there afterwards."""
    children = [
        subprocess.Popen(
            started(warm, "remember", f"from process {number}", "-u", "ada"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    ids = set()
    for child in children:
        out, err = child.communicate(timeout=180)
        assert child.returncode == 0, err
        ids.add(out.split("\t")[0])
    rows = run("list", "-u", "ada").rows
    assert {row[0] for row in rows} == ids
    assert {row[3] for row in rows} == {f"from process {number}" for number in range(8)}
    run("doctor")


def test_serve_greets_and_stops_quietly(home):
    child = subprocess.Popen(
        [*SCRUBJAY, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with child.stdout, child.stderr:
        greeting = child.stdout.readline() + child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 0
        assert "Traceback" not in child.stderr.read()
    assert "http://127.0.0.1:" in greeting


def test_the_default_model_comes_with_the_package(process, monkeypatch):
    monkeypatch.delenv("SCRUBJAY_EMBEDDER")
    process("remember", "The car is in the garage", "-u", "ada")
    process("remember", "Soup is best with fresh bread", "-u", "ada")
    best = process("recall", "where did I leave my vehicle?", "-u", "ada").rows[0]
    assert best[3] == "The car is in the garage"
    assert "close in meaning" in best[4]


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["recall", "--help"]])
def test_asking_for_help_loads_nothing_heavy(home, args):
    code = (
        f"import sys; sys.argv = ['scrubjay', *{args!r}]\n"
        "from scrubjay.doors.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=True)
    loaded = set(done.stderr.split())
    assert not HEAVY & loaded
    assert args != ["--version"] or "scrubjay.model" not in loaded, "who asks for the version waits for no memory"
    assert done.stdout
    assert not home.exists(), "asking for help makes no folder"
