"""scrubjay patterns: list, extract, show, feedback and history."""

import json

import pytest

PROJECT = ("-p", "shop")


@pytest.fixture
def told(run):
    lines = [
        json.dumps(
            {
                "task_id": f"SHOP-{number}",
                "task_type": "migration",
                "task_description": f"Migrate the table of customers, part {number}",
                "execution_summary": f"Moved the rows of shard {number}",
                "tools": ["backup", "migrate"] if number % 2 else ["migrate"],
                "success": bool(number % 2),
            }
        )
        for number in range(40)
    ]
    run("tasks", "import", "-", *PROJECT, input="\n".join(lines))


@pytest.fixture
def pattern(run, told) -> str:
    return run("patterns", "extract", "migration", *PROJECT, "--json").json["id"]


def test_extract_learns_from_the_tasks_that_it_finds(run, told):
    found = run("patterns", "extract", "migration", "--type", "success", *PROJECT, "--json").json
    assert (found["samples"], found["successes"]) == (40, 20)
    [backup, *_] = found["success_indicators"]
    assert "backup" in backup["what"]
    assert (backup["hits"], backup["seen"]) == (20, 20)
    assert "20 of 20" in run("patterns", "extract", "migration", *PROJECT).out


def test_extract_learns_nothing_from_too_little(run, told):
    done = run("patterns", "extract", "migration", "--min-samples", "100", *PROJECT)
    assert (done.out, "nothing to learn" in done.err) == ("", True)
    assert run("patterns", "extract", "zebra", *PROJECT, "--json").json is None
    assert run("patterns", "extract", "(", *PROJECT, code=1).err.startswith("error: ")


def test_list_and_show(run, pattern):
    rows = run("patterns", "list", *PROJECT).rows
    assert pattern in [row[0] for row in rows]
    assert pattern in [one["id"] for one in run("patterns", "list", "migration", *PROJECT, "--json").json]
    assert pattern not in [row[0] for row in run("patterns", "list", "--type", "failure", *PROJECT).rows]
    shown = run("patterns", "show", pattern, *PROJECT).out
    assert "20 of 40 such tasks succeeded" in shown
    assert "20 of 20 similar tasks that" in shown
    assert run("patterns", "show", pattern, *PROJECT, "--json").json["id"] == pattern
    assert run("patterns", "show", "unknown", *PROJECT, code=1).err.startswith("error: ")


def test_an_empty_list_says_so(run):
    assert "no patterns yet" in run("patterns", "list").err


def test_feedback_moves_the_confidence_and_history_keeps_it(run, pattern):
    before = run("patterns", "show", pattern, *PROJECT, "--json").json
    worse = run("patterns", "feedback", pattern, "--unhelpful", "--weight", "0.5", *PROJECT, "--json").json
    assert worse["unhelpful"] == 5
    assert worse["confidence"] < before["confidence"]
    assert run("patterns", "feedback", pattern, "--helpful", *PROJECT).rows[0][0] == pattern
    versions = run("patterns", "history", pattern, *PROJECT).rows
    assert [row[0] for row in versions] == ["1", "2", "3"]
    assert [row[4:6] for row in versions] == [["0", "0"], ["0", "5"], ["1", "5"]]
    assert len(run("patterns", "history", pattern, *PROJECT, "--json").json) == 3
    run("patterns", "feedback", pattern, *PROJECT, code=2)
