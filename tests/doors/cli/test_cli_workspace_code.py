"""scrubjay workspace: ingest, code, files, cite, check and secrets."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

APP = 'PASSWORD = "hunter2-Xy99!"\n\n\ndef load_user_name(path):\n    return open(path).read()\n'


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src/app.py").write_text(APP)
    (root / "package-lock.json").write_text("{}")
    return root


def test_ingest_counts_and_lists_what_was_left_out_and_redacted(run, shop):
    done = run("workspace", "ingest", str(shop), "--skipped")
    assert done.rows == [
        ["shop", "1", "1", "0", "0", "2", "0"],
        ["package-lock.json", "generated", "a lock file"],
    ]
    assert "redacted src/app.py:1: password" in done.err
    assert run("workspace", "ingest", str(shop)).rows == [["shop", "1", "0", "0", "0", "0", "0"]]
    told = run("workspace", "ingest", str(shop), "--json", "--project", "other").json
    assert (told["project"], told["files"], told["languages"]) == ("other", 1, {"python": 1})
    assert told["redactions"] == [{"path": "src/app.py", "line": 1, "kind": "password"}]
    assert told["skipped"][0]["reason"] == "generated"


def test_ingest_says_what_is_wrong(run, shop, tmp_path):
    assert "there is no such folder" in run("workspace", "ingest", str(tmp_path / "nowhere"), code=1).err
    assert "is not a git repository" in run("workspace", "ingest", str(shop), "--since", "main", code=1).err
    run("workspace", "ingest", str(shop), "--since", "main", "--watch", code=2)


def test_code_and_files_answer_with_reasons(run, shop):
    run("workspace", "ingest", str(shop))
    [[_, place, state, why]] = run("workspace", "code", "user name", "-p", "shop").rows
    assert (place, state) == ("src/app.py:4-5 load_user_name", "fresh")
    assert "words: user, name" in why
    hit = run("workspace", "code", "user name", "--json").json["hits"][0]
    assert (hit["state"], hit["cited"][0]["state"], hit["memory"]["key"]) == (
        "fresh", "fresh", "src/app.py#load_user_name",
    )  # fmt: skip
    [row] = run("workspace", "files", "load_user_name is slow", "-p", "shop").rows
    assert row[1:] == ["src/app.py", "defines load_user_name · words of the task", "load_user_name"]
    assert run("workspace", "files", "load_user_name", "--json").json["files"][0]["path"] == "src/app.py"
    nothing = run("workspace", "code", "user", "-p", "none").err
    assert "nothing fits in project=none: read the repository in with `scrubjay workspace ingest FOLDER`" in nothing
    assert "`scrubjay workspace ingest FOLDER`" in run("workspace", "files", "user", "-p", "none").err


def test_a_citation_drifts(run, shop):
    run("workspace", "ingest", str(shop))
    told = ("workspace", "cite", "It never closes the file", "-c", "src/app.py#load_user_name", "-p", "shop")
    [[cited_by, outcome]] = run(*told, "--repo", str(shop), "--kind", "convention").rows
    assert outcome == "stored"
    cited = "src/app.py:4-5 (load_user_name)"
    assert run("workspace", "check", cited_by).rows == [["fresh", cited, ""]]
    (shop / "src/app.py").write_text(f"# Moved.\n{APP}")
    now = "src/app.py:5-6 (load_user_name) (moved)"
    assert run("workspace", "check", cited_by).rows == [["drifted", cited, now]]
    [checked] = run("workspace", "check", cited_by, "--json").json
    assert (checked["drift"], checked["now"]["start"]) == (["moved"], 5)
    plain = run("remember", "Nothing cited").rows[0][0]
    assert "cites no code" in run("workspace", "check", plain).err
    assert run(*told, "--repo", str(shop), "--json").json["memory"]["data"]["cites"][0]["path"] == "src/app.py"


def test_many_citations_are_listed_up_to_a_limit(run, shop):
    names = [f"src/part_{number}.py" for number in range(25)]
    for number, name in enumerate(names):
        (shop / name).write_text(f"def part_{number}():\n    return {number}\n")
    cited = [word for name in names for word in ("-c", name)]
    [[cited_by, _]] = run("workspace", "cite", "They belong together", *cited, "--repo", str(shop)).rows
    (shop / names[-1]).unlink()
    shown = run("workspace", "check", cited_by)
    assert (len(shown.rows), shown.rows[0][:2]) == (20, ["orphaned", "src/part_24.py:1-2"])
    assert "and 5 more; of all 25, 24 are fresh. --limit shows more" in shown.err
    everything = run("workspace", "check", cited_by, "--limit", "30")
    assert (len(everything.rows), "more" in everything.err) == (25, False)
    assert len(run("workspace", "check", cited_by, "--json").json) == 25
    few = run("workspace", "check", cited_by, "-n", "2", "--json")
    assert ([one["state"] for one in few.json], "and 23 more" in few.err) == (["orphaned", "fresh"], True)
    assert "and 20 more: They belong together" in run("context", "what belongs together").out


def test_code_keeps_its_indentation_on_a_terminal(run, shop, terminal):
    body = "".join(f"    step_{number} = path + '{'x' * 20}'\n" for number in range(30))
    (shop / "src/app.py").write_text(
        f"class Names:\n    def load(self, path):\n        return path\n\n\ndef go():\n{body}"
    )
    run("workspace", "ingest", str(shop))
    out = re.sub(r"\x1b\[[\d;]*m", "", terminal("recall", "steps of the path in go", "-k", "code").out)
    shown = [line.rstrip() for line in out.splitlines()]
    place = next(place for place, line in enumerate(shown) if "def go():" in line)
    margin = shown[place].index("def go():")
    assert shown[place + 1][margin:].startswith("    step_0 = path")
    assert any(line[margin:] == "…" for line in shown)
    assert any("src/app.py:6-36 (go)" in line for line in shown)


def test_secrets_that_are_stored_end_with_1(run, shop, monkeypatch):
    run("workspace", "ingest", str(shop))
    assert run("workspace", "secrets").rows == []
    monkeypatch.setenv("SCRUBJAY_REDACT", "false")
    told = run("remember", "the password is hunter2-Xy99!").rows[0][0]
    monkeypatch.delenv("SCRUBJAY_REDACT")
    assert run("workspace", "secrets", code=1).rows == [[told, "note", "content", "password", "current"]]
    assert run("workspace", "secrets", "--json", code=1).json["found"][0]["id"] == told


def test_watching_ends_with_ctrl_c(shop):
    watching = subprocess.Popen(
        [sys.executable, "-m", "scrubjay", "workspace", "ingest", str(shop), "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert json.loads(watching.stdout.readline())["added"] == 1
        time.sleep(0.05)
        (shop / "src/more.py").write_text("def more():\n    return 1\n")
        assert json.loads(watching.stdout.readline())["added"] == 1
    finally:
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=120)
    assert (watching.returncode, out) == (0, "")
    assert "stopped" in err
    assert "Traceback" not in err
