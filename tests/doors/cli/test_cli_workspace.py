"""scrubjay workspace: record, search, get, backfill, seed, prune and stats."""

import json

import pytest

TEXT = 'def keep_session(token):\n    return {"session": token}\n'


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "session.py").write_text(TEXT)
    return folder


@pytest.fixture
def recorded(run, repo):
    [[memory_id, *_]] = run(
        *("workspace", "record", "Keep customers logged in", "--repo", str(repo), "--task-id", "T-1", "--mode", "duel"),
        *("-f", str(repo / "shop" / "session.py"), "--summary", "Set the cookie", "--model", "small", "-p", "shop"),
        *("--tests", '{"passed": 3}', "--zip", str(repo / "all.zip"), "--at", "2026-01-02T03:04Z"),
    ).rows
    return memory_id


def test_record_keeps_everything(run, repo, recorded):
    found = run("workspace", "get", recorded, "--json").json
    told = found["completion"]
    assert (told["goal"], told["summary"], told["task_id"]) == ("Keep customers logged in", "Set the cookie", "T-1")
    assert (told["model"], told["mode"], told["tests"]) == ("small", "duel", {"passed": 3})
    assert (told["language"], told["repo"], told["at"]) == ("python", str(repo), "2026-01-02T03:04:00Z")
    assert found["zip"] == {"path": "all.zip", "location": str(repo / "all.zip"), "exists": False}
    [file] = found["files"]
    assert (file["path"], file["state"], file["text"]) == ("shop/session.py", "fresh", TEXT)


def test_paths_begin_where_the_command_is_given(run, repo, monkeypatch):
    monkeypatch.chdir(repo / "shop")
    done = run("workspace", "record", "x", "--repo", "..", "-f", "session.py", "-f", "none.py", "--json").json
    assert [file["path"] for file in done["completion"]["files"]] == ["shop/session.py"]
    assert done["completion"]["cuts"] == ["shop/none.py: left out, No such file or directory"]


def test_record_again_and_what_is_not_kept(run, repo):
    told = ("workspace", "record", "x", "-r", str(repo), "--task-id", "T-1")
    assert run(*told).rows[0][1] == "stored"
    assert run(*told).rows[0][1] == "unchanged"
    assert run(*told, "--summary", "more").rows[0][1] == "superseded"
    skipped = run(*told, "--status", "failed")
    assert (skipped.out, "only what succeeded" in skipped.err) == ("", True)
    run(*told, "--status", "great", code=2)
    assert "goal is" in run("workspace", "record", " ", code=1).err


def test_search_finds_and_narrows(run, repo, recorded):
    [row] = run("workspace", "search", "keep_session", "--repo", str(repo), "-l", "python", "-p", "shop").rows
    assert row[1:] == [recorded, "2026-01-02T03:04:00Z", "python", str(repo), "Keep customers logged in"]
    assert run("workspace", "search", "cookie", "--model", "large").out == ""
    assert "no completed job fits" in run("workspace", "search", "--until", "2025-01-01").err
    found = run("workspace", "search", "shop/session.py", "--json").json
    assert "has shop/session.py" in found["hits"][0]["why"]
    assert found["hits"][0]["is_advice"] is True


def test_get_tells_the_state_of_files_and_prints_one(run, repo, recorded):
    [row] = run("workspace", "get", recorded).rows
    assert (row[0], row[1], row[5]) == ("fresh", "shop/session.py", "whole")
    (repo / "shop" / "session.py").write_text("other")
    assert run("workspace", "get", recorded).rows[0][0] == "changed"
    assert run("workspace", "get", recorded, "-f", "shop/session.py").out == f"{TEXT}\n"
    assert "has no file none.py" in run("workspace", "get", recorded, "-f", "none.py", code=1).err
    assert "there is no memory" in run("workspace", "get", "unknown", code=1).err


def test_backfill_reports_what_it_could_not_read(run, tmp_path):
    for name, manifest in (("good", '{"goal": "It works"}'), ("bad", "{")):
        (tmp_path / "made" / name).mkdir(parents=True)
        (tmp_path / "made" / name / "completion.json").write_text(manifest)
    done = run("workspace", "backfill", str(tmp_path / "made"), code=1)
    assert done.rows == [["1", "0", "0", "0", "1"]]
    assert "bad/completion.json is not JSON" in done.err
    (tmp_path / "made" / "bad" / "completion.json").unlink()
    again = run("workspace", "backfill", str(tmp_path / "made"), "--json").json
    assert again == {"stored": 1, "unchanged": 1, "corrected": 0, "skipped": 0, "rejected": []}


def test_seed_stats_and_prune(run, repo):
    assert [row[1] for row in run("workspace", "seed", "--repo", str(repo)).rows] == ["stored"] * 4
    assert [one["outcome"] for one in run("workspace", "seed", "--repo", str(repo), "--json").json] == ["unchanged"] * 4
    [[path, jobs, files, *_]] = run("workspace", "stats").rows
    assert (path, jobs, files) == (str(repo), "4", "5")
    planned = run("workspace", "prune", "--most-bytes", "600", "--dry-run")
    assert len(planned.rows) == 2
    assert "2 would be deleted" in planned.err
    done = run("workspace", "prune", "--most-bytes", "600", "--json").json
    assert (len(done["gone"]), done["kept"], done["dry_run"]) == (2, 2, False)
    assert run("workspace", "stats", "--json").json["workspaces"][0]["completions"] == 2
    run("workspace", "prune", "--keep-for", "1d")
    assert run("workspace", "stats").out == ""


def test_off_says_how_to_switch_it_on(run, repo, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_WORKSPACE_ENABLED", "false")
    for command in (
        ("record", "x"),
        ("search",),
        ("get", "x"),
        ("backfill", str(repo)),
        ("seed",),
        ("prune",),
        ("stats",),
    ):
        assert "SCRUBJAY_WORKSPACE_ENABLED" in run("workspace", *command, code=1).err


def test_on_a_terminal_people_can_read_it(terminal, run, repo, recorded):
    shown = terminal("workspace", "search", "cookie", "-p", "shop").out
    assert "Keep customers logged in" in shown
    assert "shop/session.py" in shown
    detail = terminal("workspace", "get", recorded).out
    assert "fresh" in detail
    assert "(gone)" in detail
    assert json.loads(run("workspace", "stats", "--json").out)["blobs"] == 1
