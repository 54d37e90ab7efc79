"""scrubjay agents: list, show, cycles, resume, replay, fork, files, snapshot and restore."""

import re

import pytest

from scrubjay import wiring

HERE = ("-u", "ada")


@pytest.fixture
def builder(home, tmp_path):
    """An agent that was stopped in its second cycle, and the folder that it works in."""
    work = tmp_path / "work"
    work.mkdir()
    with wiring.open(background=False) as jay:
        agents, place = jay.agents, {"user": "ada"}
        agents.create("builder", directives="Build the\nshop", configuration={"model": {"heat": 0.2}}, **place)
        agents.begin_cycle("builder", goal="Write the page", **place)
        agents.propose("builder", "write", arguments={"path": "page.md"}, reasoning="It is missing", **place)
        (work / "page.md").write_text("# Page\n")
        agents.result("builder", output={"bytes": 7}, artifacts=["page.md"], **place)
        agents.record_memory("builder", "reflection", "Pages are short", namespaces=["long-term"], **place)
        agents.snapshot("builder", work, **place)
        agents.end_cycle("builder", state={"pages": 1}, summary="The page is there", **place)
        agents.begin_cycle("builder", goal="Print it", **place)
        agents.propose("builder", "print", arguments={"path": "page.md"}, **place)
    return work


def test_list_names_those_inside_the_scope(run, builder):
    [[name, status, version, where, _, directives]] = run("agents", "list").rows
    assert (name, status, version, where, directives) == (
        *("builder", "active", "1", "user=ada agent=builder"),
        "Build the shop",
    )
    [one] = run("agents", "list", *HERE, "--json").json
    assert (one["name"], one["directives"], one["configuration"]) == (
        *("builder", "Build the\nshop"),
        {"model": {"heat": 0.2}},
    )
    empty = run("agents", "list", "-u", "bob")
    assert (empty.rows, "no agent is on record" in empty.err) == ([], True)


def test_list_leaves_out_the_archived_unless_asked(run, builder):
    with wiring.open(background=False) as jay:
        jay.agents.archive("builder", user="ada")
    assert run("agents", "list").rows == []
    assert run("agents", "list", "--archived").rows[0][1] == "archived"


def test_show_tells_who_it_is(run, terminal, builder):
    assert run("agents", "show", "builder", *HERE).rows[0][0] == "builder"
    assert run("agents", "show", "builder", *HERE, "--json").json["version"] == 1
    shown = terminal("agents", "show", "builder", *HERE).out
    assert "Build the" in shown
    assert '{"heat": 0.2}' in shown
    assert "builder is in cycle 2, step 1 waits for its result" in shown
    assert "no agent 'builder'" in run("agents", "show", "builder", code=1).err


def test_cycles_are_listed(run, builder):
    second, first = run("agents", "cycles", "builder", *HERE).rows
    assert (first[0], first[1], first[4], first[5]) == ("1", "completed", "Write the page", "The page is there")
    assert (second[0], second[1], second[3]) == ("2", "open", "")
    assert [row[0] for row in run("agents", "cycles", "builder", *HERE, "--oldest", "-n", "1").rows] == ["1"]
    assert [row[0] for row in run("agents", "cycles", "builder", *HERE, "--after", "2").rows] == ["1"]
    assert run("agents", "cycles", "builder", *HERE, "--json").json[1]["state"] == {"pages": 1}


def test_resume_says_where_it_stopped(run, terminal, builder):
    [row] = run("agents", "resume", "builder", *HERE).rows
    assert row == ["builder", "2", "0", "1", 'print(path="page.md")', "3"]
    there = run("agents", "resume", "builder", *HERE, "--json").json
    assert (there["last"]["cycle"], there["cycle"]["cycle"], there["waiting"]) == (1, 2, [1])
    assert (there["steps"][0]["result"], there["snapshot"]["number"], there["pending"]) == (None, 1, [])
    shown = terminal("agents", "resume", "builder", *HERE).out
    assert "last completed  cycle 1" in shown
    assert "snapshot 1, 1 files" in shown


def test_replay_tells_everything_in_order(run, terminal, builder):
    told = run("agents", "replay", "builder", *HERE).rows
    assert [row[1:4] for row in told] == [
        ["created", "", ""],
        ["began", "1", ""],
        ["proposed", "1", "1"],
        ["acted", "1", "1"],
        ["recorded", "1", ""],
        ["snapshot", "1", ""],
        ["ended", "1", ""],
        ["began", "2", ""],
        ["proposed", "2", "1"],
    ]
    assert told[3][4] == "succeeded, made page.md"
    assert len(run("agents", "replay", "builder", *HERE, "-c", "2").rows) == 2
    document = run("agents", "replay", "builder", *HERE, "--json").json
    assert (document[2]["told"]["tool"], document[4]["told"]["content"]) == ("write", "Pages are short")
    lines = [line.rstrip() for line in plain(terminal("agents", "replay", "builder", *HERE).out).splitlines()]
    assert [line.split("  ", 1)[1] for line in lines if "  " in line] == [
        "◆ agent builder created",
        "● cycle 1 began: Write the page",
        '│ → proposed write(path="page.md")',
        "│ ← succeeded, made page.md",
        "│ ✎ reflection: Pages are short",
        "│ ▣ snapshot 1: 1 files, 7 bytes",
        "╰ cycle 1 completed: The page is there",
        "● cycle 2 began: Print it",
        '│ → proposed print(path="page.md")',
    ]


def test_fork_makes_another_with_the_same_past(run, builder):
    assert run("agents", "fork", "builder", "twin", *HERE).rows == [["twin", "builder at cycle 1"]]
    again = run("agents", "fork", "builder", "twin", "--at", "1", *HERE, "--json").json
    assert again["forked_from"] == {"agent": "builder", "cycle": 1}
    assert [row[0] for row in run("agents", "cycles", "twin", *HERE).rows] == ["1"]
    assert run("agents", "files", "twin", *HERE).rows == run("agents", "files", "builder", *HERE).rows
    assert "is open" in run("agents", "fork", "builder", "other", "--at", "2", *HERE, code=1).err


def test_files_are_kept_and_put_back(run, builder, tmp_path):
    (builder / "page.md").write_text("# The page\n")
    assert run("agents", "snapshot", "builder", str(builder), *HERE).rows == [["2", "1", "11"]]
    [[path, size, version, mime_type, _]] = run("agents", "files", "builder", *HERE).rows
    assert (path, size, version, mime_type.partition("/")[0]) == ("page.md", "11", "2", "text")
    assert run("agents", "files", "builder", "--snapshot", "1", *HERE, "--json").json[0]["size"] == 7
    assert run("agents", "restore", "builder", str(tmp_path / "old"), "--snapshot", "1", *HERE).rows == [
        ["1", "1", "0"]
    ]
    assert (tmp_path / "old" / "page.md").read_text() == "# Page\n"
    done = run("agents", "restore", "builder", str(tmp_path / "old"), *HERE, "--json").json
    assert (done["snapshot"], done["written"]) == (2, 1)
    taken = run("agents", "snapshot", "builder", str(builder), *HERE, "--json").json
    assert (taken["number"], taken["files"][0]["path"]) == (3, "page.md")


def test_an_agent_without_files_has_none(run, home):
    with wiring.open(background=False) as jay:
        jay.agents.create("idle")
    assert "take a snapshot first" in run("agents", "files", "idle").err
    assert "no cycle yet" in run("agents", "cycles", "idle").err


def plain(shown):
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)
