"""scrubjay tasks: add, similar, context, import and used."""

import json

import pytest


@pytest.fixture
def told(run):
    run("tasks", "add", "SHOP-1", "Kept the session cookie", "--success", "-d", "Users are logged out", "-p", "shop")
    run("tasks", "add", "SHOP-2", "Cached the cart", "--failure", "-d", "The cart page is slow", "-p", "shop")


def test_add_tells_the_id_and_the_type(run):
    [[memory_id, outcome, memory_type]] = run(
        *("tasks", "add", "SHOP-1", "Kept the cookie", "--success", "--type", "bugfix", "--attempt", "2"),
        *("--goal", "Fewer calls", "--tool", "grep", "--tool", "edit", "--file", "a.py", "--model", "small"),
        *("--error", "KeyError: 'session'", "--error", '{"type": "Timeout"}', "--duration", "1.5", "--tokens", "10"),
        *("--cost", "0.1", "--parent", "EPIC-1", "--at", "2026-01-02T03:04Z", "-p", "shop"),
    ).rows
    assert (outcome, memory_type) == ("stored", "error_fix")
    memory = run("get", memory_id, "--json").json
    assert memory["data"] == {
        "task_id": "SHOP-1",
        "attempt": 2,
        "success": True,
        "execution_summary": "Kept the cookie",
        "memory_type": "error_fix",
        "task_type": "bugfix",
        "goal": "Fewer calls",
        "error_patterns": ["KeyError: 'session'", {"type": "Timeout"}],
        "tools": ["grep", "edit"],
        "files": ["a.py"],
        "model": "small",
        "duration": 1.5,
        "tokens": 10,
        "cost": 0.1,
        "parent": "EPIC-1",
    }
    assert memory["valid_from"].startswith("2026-01-02T03:04:00")


def test_add_from_a_pipe_and_again(run):
    first = run("tasks", "add", "SHOP-1", "--failure", "--json", input="It did not work\n").json
    assert (first["outcome"], first["memory"]["data"]["execution_summary"]) == ("stored", "It did not work")
    assert run("tasks", "add", "SHOP-1", "It did not work", "--failure").rows[0][1] == "unchanged"
    assert run("tasks", "add", "SHOP-1", "It worked", "--success").rows[0][1] == "superseded"


def test_add_needs_an_outcome(run):
    run("tasks", "add", "SHOP-1", "It worked", code=2)
    assert "task_id has 300" in run("tasks", "add", "x" * 300, "It worked", "--success", code=1).err


def test_similar_finds_them_with_receipts(run, told):
    [row] = run("tasks", "similar", "logged out users", "-p", "shop").rows
    assert row[:5] == ["", "SHOP-1", "1", "success", "0"]
    assert row[5].startswith("use-")
    found = run("tasks", "similar", "cart", "-p", "shop", "--json").json
    [task] = found["tasks"]
    assert (task["task_id"], task["success"], task["memory_type"]) == ("SHOP-2", False, "warning")
    assert task["similarity"] is None
    assert task["keyword_score"] > 0
    assert run("tasks", "similar", "cart", "--success-only").out == ""
    assert run("tasks", "similar", "cart", "--memory-type", "warning").rows[0][1] == "SHOP-2"


def test_similar_says_what_is_wrong(run, told):
    assert "no embedding model" in run("tasks", "similar", "cart", "--mode", "semantic", code=1).err
    assert "no similarity" in run("tasks", "similar", "cart", "--mode", "keyword", "--threshold", "0.5", code=1).err
    assert "memory_types holds 'rumour'" in run("tasks", "similar", "cart", "--memory-type", "rumour", code=1).err
    assert "no task like this" in run("tasks", "similar", "zebra").err


def test_used_counts_once(run, told):
    receipt = run("tasks", "similar", "cart", "-p", "shop").rows[0][5]
    [[_, counted, helped, hurt, neutral]] = run("tasks", "used", receipt, "helped", "--note", "saved an hour").rows
    assert (counted, helped, hurt, neutral) == ("counted", "1", "0", "0")
    again = run("tasks", "used", receipt, "helped", "--task-id", "SHOP-3", "--json").json
    assert (again["counted"], again["memories"][0]["helped"]) == (False, 1)
    assert "counts once" in run("tasks", "used", receipt, "hurt", code=1).err
    assert "receipt is" in run("tasks", "used", "use-nonsense", "hurt", code=1).err
    assert "another tenant" in run("tasks", "used", receipt, "helped", "--tenant", "other", code=1).err
    run("tasks", "used", receipt, "great", code=2)
    assert run("tasks", "similar", "cart", "-p", "shop").rows[0][4] == "1"


def test_context_says_what_is_known_and_what_is_not(run, told):
    done = run("tasks", "context", "the cart is slow", "-p", "shop")
    assert done.out.startswith("## Similar tasks\n- SHOP-2 failed: Cached the cart\n")
    assert "no prediction" in done.err
    assert "receipt use-" in done.err
    known = run("tasks", "context", "--task-id", "SHOP-2", "-p", "shop", "--budget", "5", "--json").json
    assert (known["text"], known["left_out"], known["prediction"]["probability"]) == ("", 0, None)
    assert "description" in run("tasks", "context", code=1).err
    assert "SHOP-9" in run("tasks", "context", "--task-id", "SHOP-9", code=1).err


def test_import_stores_and_reports(run, tmp_path):
    file = tmp_path / "runs.jsonl"
    good = {"task_id": "a", "execution_summary": "did it", "success": True}
    file.write_text("\n".join([json.dumps(good), "oops", json.dumps({**good, "success": 1})]))
    done = run("tasks", "import", str(file), "-p", "shop", code=1)
    assert done.rows == [["1", "0", "0", "2"]]
    assert "line 2: not JSON" in done.err
    assert "line 3: success is 1" in done.err
    report = run("tasks", "import", str(file), "-p", "shop", "--json", code=1).json
    assert (report["unchanged"], [one["line"] for one in report["rejected"]]) == (1, [2, 3])
    file.write_text(json.dumps({**good, "success": False}))
    assert run("tasks", "import", str(file), "-p", "shop").rows == [["0", "0", "1", "0"]]


def test_import_reads_a_pipe_and_refuses_what_is_no_text(run, tmp_path):
    line = '{"task_id": "a", "execution_summary": "did it", "success": true}\n'
    assert run("tasks", "import", "-", input=line).rows == [["1", "0", "0", "0"]]
    assert "cannot be read" in run("tasks", "import", str(tmp_path / "none"), code=1).err
    assert "UTF-8" in run("tasks", "import", "-", input=b"\xff\xfe\n", code=1).err


def test_many_rejected_lines_are_shown_in_part(run):
    done = run("tasks", "import", "-", input="oops\n" * 30, code=1)
    assert done.rows == [["0", "0", "0", "30"]]
    assert "and 10 more" in done.err


def test_on_a_terminal_people_can_read_it(terminal, run, told):
    shown = terminal("tasks", "similar", "cart", "-p", "shop").out
    assert "SHOP-2" in shown
    assert "failed" in shown
    assert "by words only" in shown
