"""scrubjay workspace: ingest, code, files, cite, check and secrets."""

import json
import os
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
    assert "`scrubjay workspace ingest FOLDER`" in run("workspace", "code", "user", "-p", "none").err
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
