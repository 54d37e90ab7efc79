"""The reference of the command line is true: every command in it runs, and every option is in it."""

import os
import re
import shlex
import shutil
import subprocess
from functools import cache

import pytest
import typer

from lengths import LONG
from scrubjay.doors.cli import app
from scrubjay.models import static

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_of(group, path: str = ""):
    """The name of every command and the command, those of a group by both names: `tasks add`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(commands_of(typer.main.get_command(app)))
GROUPS = {name.partition(" ")[0] for name in COMMANDS if " " in name}


@pytest.fixture(scope="module")
def page(pytestconfig) -> str:
    return (pytestconfig.rootpath / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def documented(page: str) -> list[str]:
    """The lines after a `$`, with the lines that continue them."""
    lines: list[str] = []
    for block in CONSOLE.findall(page):
        for line in block.splitlines():
            if line.startswith("$ "):
                lines.append(line.removeprefix("$ "))
            elif lines and lines[-1].endswith("\\"):
                lines[-1] += f"\n{line.removeprefix('> ')}"
    return lines


SYNTAX = frozenset("|<>;&$")
"""What only a shell understands, also where it is quoted and means itself."""


def without_a_shell(line: str) -> tuple[dict[str, str], list[str]] | None:
    """The variables and the arguments of a line that is one `scrubjay` command. None: a shell has to run it."""
    words = shlex.split(line.replace("\\\n", ""))
    many = next(number for number, word in enumerate(words) if "=" not in word)
    if SYNTAX & set(line) or words[many] != "scrubjay":
        return None
    return dict(word.split("=", 1) for word in words[:many]), words[many + 1 :]


def in_a_shell(line: str) -> str:
    """Run the line in a shell. Returns what it says on standard error."""
    done = subprocess.run(
        ["bash", "-uo", "pipefail", "-c", line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
    return done.stderr


@pytest.mark.slow
def test_every_documented_command_runs(page, monkeypatch, warm, run):
    """All of them one after the other on one store. The short form runs those in this process that need no shell."""
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    monkeypatch.setenv("PATH", f"{warm}{os.pathsep}{os.environ['PATH']}")
    assert shutil.which("scrubjay") == str(warm / "scrubjay")
    # Each command opens the store, and would read the vectors again.
    monkeypatch.setattr(static, "_read", cache(static._read))
    lines = documented(page)
    assert len(lines) > 20
    for line in lines:
        if LONG or (plain := without_a_shell(line)) is None:
            said = in_a_shell(line)
        else:
            with monkeypatch.context() as variables:
                for name, value in plain[0].items():
                    variables.setenv(name, value)
                said = run(*plain[1]).err
        assert "Traceback" not in said, line


USES_IT = """\
import sys
before = set(sys.modules)
from scrubjay.doors.cli import app
for command in (["remember", "Tea is at four"], ["recall", "tea"], ["context", "tea"], ["forget", "--help"]):
    app(command, standalone_mode=False)
print(sorted(name for name in sys.modules if name.startswith("scrubjay") and name not in before))
"""


def test_a_warm_command_has_imported_what_it_needs(tmp_path, warm):
    """Else each of hundreds imports it again, which takes longer than the command itself."""
    program = tmp_path / "program.py"
    program.write_text(USES_IT, encoding="utf-8")
    done = subprocess.run([warm / "python", program], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_is_shown_running(page):
    """All but serve, which does not end by itself."""
    lines = "\n".join(documented(page))
    shown = {name for name in COMMANDS if re.search(rf"\bscrubjay {name}\b", lines)}
    assert set(COMMANDS) - shown == {"serve"}


def test_the_help_of_every_command_ends_with_an_example_of_it():
    for name, command in COMMANDS.items():
        example = command.epilog.removeprefix("Example: ")
        assert example.startswith(f"scrubjay {name}")
        words = shlex.split(example.removeprefix(f"scrubjay {name}"))
        # Raises for an option that the command does not have, a value it does not take, an argument that is missing.
        with command.make_context(name, words):
            pass


TOLD = re.compile(
    r"`(?:[A-Z_]+=\S+ )*scrubjay ([a-z][^`\n]*)`|^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*scrubjay ([a-z].*)$", re.MULTILINE
)
"""A command that a page or a message tells people to type: in backticks, or a line of its own."""


def faults_of(told: str) -> list[str]:
    """What is wrong with the words after `scrubjay`: no such command, or an option that it does not have."""
    words = re.split(r"\s+", re.split(r"[|<>#;]|&&|\$\(", told)[0].strip())
    named = next((" ".join(words[:count]) for count in (2, 1) if " ".join(words[:count]) in COMMANDS), None)
    if named is None:
        return [] if words[0] in GROUPS and len(words) == 1 else [f"there is no command {words[0]}"]
    known = {name for one in COMMANDS[named].params for name in (*one.opts, *one.secondary_opts)}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return [f"{named} has no option {name}" for name in sorted(given - known - {"--help", "-h"})]


def test_whatever_people_are_told_to_type_exists(pytestconfig):
    root = pytestconfig.rootpath
    pages = [
        root / "README.md",
        *(root / "docs").rglob("*.md"),
        *(root / "src").rglob("*.py"),
        *(root / "deploy").rglob("*.yml"),
    ]
    # Its synopses name choices, such as `--success|--failure`; what it shows is run.
    pages.remove(root / "docs" / "reference" / "cli.md")
    told = [
        (page.name, one or other) for page in pages for one, other in TOLD.findall(page.read_text(encoding="utf-8"))
    ]
    assert len(told) > 100
    assert [(page, words, faults) for page, words in told if (faults := faults_of(words))] == []


def section(page: str, heading: str) -> str:
    found = re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/cli.md has no section {heading}"
    return found[1]


def row(option) -> str:
    return f"| {', '.join(f'`{name}`' for name in option.opts)} | {option.help} |"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented_as_it_is(page, name):
    command = COMMANDS[name]
    own = section(page, f"scrubjay {name}")
    assert command.help in own
    expected = []
    for option in command.params:
        if option.param_type_name != "option" or option.name == "help":
            continue
        if option.rich_help_panel is None:
            expected.append(row(option))
        else:
            assert row(option) in section(page, option.rich_help_panel)
            named = "`--json`" if option.rich_help_panel == "Output" else f"[{option.rich_help_panel.lower()}]"
            assert named in own, f"say in the section of {name} that it also takes {named}"
    assert re.findall(r"^\| `.*$", own, re.MULTILINE) == expected
