"""The command line loads what is asked for: a command does not wait for the modules of all the others."""

import json
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from scrubjay.doors.cli import app
from scrubjay.doors.cli.commands import Commands, Entry

OTHERS = {"agents", "demo", "doctor", "facts", "facts_views", "moving", "tasks", "workspace"}


def test_only_the_module_of_the_command_is_loaded():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "scrubjay", "keys", "list", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"\| +scrubjay\.doors\.cli\.(\S+)$", done.stderr, re.MULTILINE))
    # What `keys` imports is listed, and `keys` itself is not: it is not a statement that imports it.
    assert "access" in loaded
    assert not loaded & OTHERS


def test_every_command_loads_and_has_a_line_of_help():
    commands = typer.main.get_command(app).commands
    for name, command in commands.items():
        assert command.name == name
        assert command.get_short_help_str()


@pytest.mark.parametrize(
    ("typed", "said"),
    [("recal", "Did you mean 'recall'?"), ("fact", "Did you mean 'facts'"), ("nothing-like-it", "No such command")],
)
def test_a_misspelt_command_is_named(typed, said):
    answer = CliRunner().invoke(app, [typed])
    assert answer.exit_code == 2
    assert said in answer.output


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["recall", "x", "-n", "many"], "'--limit' / '-n': it is 'many': use a whole number"),
        (["recall", "x", "--limit", "0"], "'--limit' / '-n': it is '0': use 1 or more"),
        (["remember", "x", "--importance", "7"], "'--importance': it is '7': use 1.0 or less"),
        (["recall", "x", "--as-of", "soon"], "'--as-of': 'soon' is no moment: use a date such as"),
        (["workspace", "search", "x", "--status", "odd"], "'--status': 'odd' is not one of 'succeeded', 'rejected'"),
    ],
)
def test_a_value_that_is_refused_is_named_with_the_remedy(typed, said):
    answer = CliRunner().invoke(app, typed, env={"COLUMNS": "200"})
    assert answer.exit_code == 2
    assert said in answer.output


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["recall", "x", "--limit", "0"], "'--limit' / '-n': it is '0': use 1 or more"),
        (["recall", "x", "--colour", "red"], "No such option: --colour"),
        (["working", "get", "--ttl", "2h"], "No such option: --ttl"),
        (["recal", "x"], "No such command 'recal'"),
    ],
)
def test_a_program_is_told_in_one_line_of_json(typed, said):
    answer = CliRunner().invoke(app, [*typed, "--json"], env={"COLUMNS": "200"})
    assert (answer.exit_code, answer.stdout) == (2, "")
    told = json.loads(answer.stderr)
    assert told["error"] == "InvalidInput"
    assert said in told["message"]


def test_the_help_names_all_of_them_in_their_panels():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    panels = re.findall(r"─ (Begin|Write|Read|Know|Learn|Carry|Look after) ─", shown)
    assert panels == ["Begin", "Write", "Read", "Carry", "Look after", "Know", "Learn"]
    for name in typer.main.get_command(app).commands:
        assert re.search(rf"│ {name} ", shown), name


def test_commands_are_a_mapping_that_loads_each_once():
    found = Commands((Entry("health", "Look after", "health", "health"), Entry("keys", "Look after", "keys")))
    assert list(found) == ["health", "keys"]
    assert len(found) == 2
    assert found["keys"] is found["keys"]
    assert set(found["keys"].commands) >= {"create", "revoke"}
    assert "recall" not in found
    assert found.get("recall") is None
    found["again"] = found["health"]
    del found["health"]
    assert list(found) == ["keys", "again"]
