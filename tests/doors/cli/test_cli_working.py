"""Working memory on the command line: each command does what its verb does, for people, for pipes and for programs."""

import json
from datetime import datetime, timedelta

import pytest

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6g7H8"
HERE = ("--user", "anna", "--session", "s-1")


def test_what_was_said_comes_back(run):
    [[place, known]] = run("working", "append", "Hello", *HERE).rows
    assert (place, len(known)) == ("0", 36)
    run("working", "append", *HERE, "--role", "assistant", "--name", "Jay", input="two\nlines\n")
    assert run("working", "recent", *HERE).rows == [["0", "user", "Hello"], ["1", "Jay", "two lines"]]
    assert run("working", "recent", "-n", "1", *HERE).rows == [["1", "Jay", "two lines"]]
    document = run("working", "recent", "--json", *HERE).json
    assert [(one["role"], one["content"], one["position"]) for one in document["messages"]] == [
        ("user", "Hello", 0),
        ("assistant", "two\nlines", 1),
    ]
    assert document["degraded"] == []


def test_many_messages_are_read_from_lines(run):
    call = {"id": "c-1", "function": {"name": "look"}}
    lines = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "c-1"},
    ]
    text = "\n\n".join(map(json.dumps, lines))
    stored = run("working", "append", "--lines", "--json", *HERE, input=text).json
    assert stored[0]["tool_calls"] == [call]
    assert [one["position"] for one in stored] == [0, 1]
    assert "line 2" in run("working", "append", "--lines", *HERE, input='{"content": "x"}\nnot json', code=1).err
    assert "leave out TEXT" in run("working", "append", "--lines", "text", *HERE, code=2).err


def test_an_id_makes_it_one_message(run):
    for _ in range(2):
        run("working", "append", "Hello", "--id", "hook-1", *HERE)
    assert len(run("working", "recent", *HERE).rows) == 1


def test_a_budget_is_kept_and_told(run):
    run("working", "append", "Hello there, this is a message of some length", *HERE)
    run("working", "append", "Short", *HERE)
    done = run("working", "recent", "--budget", "6", *HERE)
    assert done.rows == [["1", "user", "Short"]]
    assert "of 6 tokens" in done.err
    assert run("working", "recent", "--budget", "6", "--json", *HERE).json["tokens"] <= 6


def test_where_to_read_can_be_said(run):
    run("remember", "an episode", "--kind", "message", *HERE)
    run("working", "append", "now", *HERE)
    assert [row[2] for row in run("working", "recent", *HERE).rows] == ["an episode", "now"]
    assert [row[2] for row in run("working", "recent", "--source", "working", *HERE).rows] == ["now"]
    assert [row[2] for row in run("working", "recent", "--source", "records", *HERE).rows] == ["an episode"]
    run("working", "recent", "--source", "elsewhere", *HERE, code=2)


def test_the_scratchpad(run):
    [[name, version]] = run("working", "set", "plan", '{"step": 1}', "--new", *HERE).rows
    assert name == "plan"
    assert run("working", "get", "plan", *HERE).json == {"step": 1}
    run("working", "set", "mood", "fine", *HERE)
    assert run("working", "get", "mood", *HERE).out == "fine\n"
    assert [row[0] for row in run("working", "get", *HERE).rows] == ["mood", "plan"]
    newer = run("working", "set", "plan", "2", "--expect", version, "--json", *HERE).json
    assert newer["value"] == 2
    refused = run("working", "set", "plan", "3", "--expect", version, *HERE, code=1).err
    assert version in refused
    assert newer["version"] in refused
    run("working", "set", "plan", "3", "--new", *HERE, code=1)
    run("working", "set", "plan", "3", "--new", "--expect", version, *HERE, code=2)
    assert run("working", "delete", "plan", "--json", *HERE).json == {"deleted": True}
    assert run("working", "delete", "plan", "--json", *HERE).json == {"deleted": False}
    assert "no value 'plan'" in run("working", "get", "plan", *HERE, code=1).err


def test_a_session_lives_and_ends(run):
    run("working", "append", "Hello", "--ttl", "90m", *HERE)
    run("working", "append", "Hello", "--user", "bob", "--session", "s-2")
    [[place, state, messages, _]] = run("working", "sessions", "--user", "anna").rows
    assert (place, state, messages) == ("user=anna session=s-1", "live", "1")
    assert len(run("working", "sessions").rows) == 2
    extended = run("working", "extend", "--ttl", "3h", "--json", *HERE).json
    life = datetime.fromisoformat(extended["expires_at"]) - datetime.fromisoformat(extended["started_at"])
    assert timedelta(hours=3) <= life < timedelta(hours=3, minutes=5)
    assert run("working", "end", "--json", *HERE).json["state"] == "ended"
    assert "no live session" in run("working", "extend", *HERE, code=1).err
    assert run("working", "recent", "--source", "working", *HERE).rows == []


@pytest.mark.parametrize("wrong", ["soon", "2", "0h", "99999999999w"])
def test_a_wrong_span_is_explained(run, wrong):
    done = run("working", "append", "Hello", "--ttl", wrong, *HERE, code=1 if wrong == "0h" else 2)
    assert "ttl" in done.err


def test_a_session_has_to_be_named(run):
    said = run("working", "append", "Hello", code=1).err
    # As it is true of `--session`, of `session=` and of a field.
    assert "session is missing: working memory belongs to a session, name it" in said
    assert json.loads(run("working", "end", "--json", code=1).err)["error"] == "InvalidInput"


def test_secrets_are_redacted_and_told(run):
    done = run("working", "append", f"use {SECRET}", *HERE)
    assert "github-token" in done.err
    assert "credential" in run("working", "set", "password", "hunter2-hunter2", *HERE).err
    shown = run("working", "recent", *HERE).out + run("working", "get", *HERE).out
    assert SECRET not in shown
    assert "hunter2" not in shown


def test_on_a_terminal_it_is_a_table(terminal):
    terminal("working", "append", "Hello \x1b[31mred", *HERE)
    shown = terminal("working", "recent", *HERE).out
    assert "said" in shown
    assert "Hello ␛[31mred" in shown
