"""remember, update and forget."""

import json

import pytest


def test_remember_prints_the_id_first(run):
    [[known, outcome]] = run("remember", "Prefers tabs", "--user", "ada").rows
    assert outcome == "stored"
    assert run("get", known, "--json").json["content"] == "Prefers tabs"


def test_remember_says_the_same_thing_once(run):
    first = run("remember", "Prefers tabs", "-u", "ada").rows[0]
    again = run("remember", "Prefers tabs", "-u", "ada").rows[0]
    assert again == [first[0], "unchanged"]


def test_remember_takes_every_detail(run):
    source = run("remember", "seen in the log", "--trust", "foreign").rows[0][0]
    done = run(
        *("remember", "Deploys on Fridays", "-u", "ada", "-p", "shop", "-a", "bot", "-s", "s1", "-w", "w1"),
        *("--kind", "fact", "--key", "deploy", "--data", "lang=python", "--data", '{"n": {"deep": true}}'),
        *("--data", "count=3", "--importance", "0.9", "--source", "log.txt", "--author", "eve", "--reason", "asked"),
        *("--expires", "2099-01-01T00:00Z", "--valid-from", "2026-01-01T00:00Z", "--valid-to", "2098-01-01T00:00Z"),
        *("--id", "mine", "--trust", "observed", "--derived-from", source, "--json"),
    ).json
    memory = done["memory"]
    assert done["outcome"] == "stored"
    assert memory["data"] == {"lang": "python", "n": {"deep": True}, "count": 3}
    assert {name: memory[name] for name in ("user", "project", "agent", "session", "workflow")} == {
        "user": "ada", "project": "shop", "agent": "bot", "session": "s1", "workflow": "w1",
    }  # fmt: skip
    assert memory["expires_at"] == "2099-01-01T00:00:00Z"
    assert memory["valid_from"] == "2026-01-01T00:00:00Z"
    assert memory["valid_to"] == "2098-01-01T00:00:00Z"
    assert (memory["importance"], memory["source"], memory["author"]) == (0.9, "log.txt", "eve")
    assert memory["derived_from"] == [source]
    assert memory["trust"] == "foreign", "trusted no more than what it was made from"
    assert run("get", "mine", "--json").json["id"] == memory["id"]


@pytest.mark.parametrize("args", [["remember", "-"], ["remember"]])
def test_remember_reads_standard_input_as_one_memory(run, args):
    known = run(*args, input="two\nlines\n").rows[0][0]
    assert run("get", known, "--json").json["content"] == "two\nlines"


def test_remember_lines_makes_one_memory_of_each(run):
    done = run("remember", "--lines", "-u", "ada", "-k", "fact", input="one\n\ntwo\nthree\none\n")
    assert done.rows == [["stored", "3"], ["unchanged", "1"]]
    assert {row[1] for row in run("list", "-u", "ada").rows} == {"fact"}


def test_remember_lines_as_json_gives_every_id(run):
    done = run("remember", "--lines", "--json", input="one\ntwo\n").json
    assert [one["outcome"] for one in done["memories"]] == ["stored", "stored"]
    assert run("get", done["memories"][1]["id"], "--json").json["content"] == "two"


def test_remember_refuses_input_that_is_no_text(run):
    done = run("remember", input=b"\xff\xfe", code=1)
    assert done.err.startswith("error: standard input is not UTF-8")
    assert run("list").rows == []


def test_a_secret_is_redacted_and_said(run):
    key = "AKIA" + "QXLMRTZKWBNVHCDF"
    done = run("remember", f"deploys with {key}")
    assert "aws-access-key" in done.err
    assert key not in run("get", done.rows[0][0]).out


def test_update_opens_a_new_version(run):
    old = run("remember", "Prefers tabs", "-u", "ada", "--key", "indent").rows[0][0]
    new, outcome = run("update", old, "--content", "Prefers spaces", "--reason", "changed her mind").rows[0]
    assert outcome == "superseded"
    assert [row[0] for row in run("history", new).rows] == [old, new]
    assert run("recall", "prefers", "-u", "ada").rows[0][3] == "Prefers spaces"


def test_update_of_importance_keeps_the_version(run):
    known = run("remember", "Prefers tabs").rows[0][0]
    assert run("update", known, "--importance", "1").rows[0][0] == known
    assert run("get", known, "--json").json["importance"] == 1


def test_update_can_take_the_expiry_off(run):
    known = run("remember", "Prefers tabs", "--expires", "30d").rows[0][0]
    assert "say the opposite" in run("update", known, "--expires", "9d", "--never-expires", code=2).err
    assert run("get", known, "--json").json["expires_at"] is not None
    assert run("update", known, "--never-expires").rows[0][0] == known
    assert run("get", known, "--json").json.get("expires_at") is None


def test_update_without_a_change_is_refused(run):
    known = run("remember", "Prefers tabs").rows[0][0]
    for asked in ([known], [known, "--json"]):
        assert "say what to change: give --content, --key" in run("update", *asked, code=2).err


def test_what_has_expired_already_is_said(run):
    done = run("remember", "Tea is at four", "--id", "tea", "--expires", "2020-01-01")
    assert done.rows[0][1] == "stored"
    said = "expired before now, at 2020-01-01"
    assert f"1 memory {said}" in done.err
    assert said in run("remember", "Tea", "--expires", "2020-01-01", "--json").err
    assert f"2 memories {said}" in run("remember", "--lines", "--expires", "2020-01-01", input="one\ntwo\n").err
    assert said not in run("update", "tea", "--expires", "30d").err


def test_forget_closes_and_keeps_the_history(run):
    known = run("remember", "Prefers tabs", "-u", "ada").rows[0][0]
    receipt = run("forget", known, "--reason", "asked to", "--json").json
    assert (receipt["ids"], receipt["purged"]) == ([known], False)
    assert run("list", "-u", "ada").rows == []
    assert run("history", known).rows == [[known, "forgotten", "Prefers tabs", "forgotten: asked to"]]


def test_forget_several_ids_at_once(run):
    ids = [run("remember", text).rows[0][0] for text in ("one", "two", "three")]
    assert run("forget", *ids[:2], "--json").json["ids"] == ids[:2]
    assert [row[0] for row in run("list").rows] == ids[2:]


def test_purge_leaves_nothing_and_says_so(run):
    known = run("remember", "Prefers tabs", "-u", "ada", "--key", "indent").rows[0][0]
    receipt = run("forget", "--key", "indent", "-u", "ada", "--purge", "--yes", "--json").json
    assert receipt["purged"]
    assert set(receipt["remaining"].values()) == {0}
    assert "no memory" in run("get", known, code=1).err


def test_purging_the_newest_version_takes_the_others_along(run):
    old = run("remember", "an old thing to hide").rows[0][0]
    new = run("update", old, "--content", "a new thing").rows[0][0]
    assert "1 memory along with it: past versions" in run("forget", new, "--purge", "--yes").out
    assert run("list", "--all").rows == []


@pytest.mark.parametrize("args", [["--everything"], ["--everything", "--purge"], ["--key", "indent", "--purge"]])
def test_what_cannot_be_undone_needs_yes_without_a_terminal(run, args):
    run("remember", "Prefers tabs", "--key", "indent")
    assert "add --yes" in run("forget", *args, code=1).err
    assert len(run("list").rows) == 1


def test_forget_needs_to_know_what(run):
    assert "say what to forget" in run("forget", code=1).err
    assert "say what to forget" in run("forget", "x", "--key", "y", code=1).err


def test_forget_keeps_to_its_scope(run):
    mine = run("remember", "mine", "-u", "ada").rows[0][0]
    run("remember", "his", "-u", "bob")
    run("forget", mine, "-u", "bob", code=1)
    run("forget", "--everything", "--yes", "-u", "bob")
    assert [row[3] for row in run("list").rows] == ["mine"]


def test_an_error_is_json_when_json_is_asked_for(run):
    done = run("get", "nothing", "--json", code=1)
    assert done.out == ""
    assert json.loads(done.err)["error"] == "NotFound"


def test_a_point_is_the_project_of_the_repository_at_hand(run, tmp_path, monkeypatch):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "src")
    run("remember", "Deploys happen on Tuesdays", "-p", ".")
    assert [one["content"] for one in run("list", "-p", "shop", "--json").json] == ["Deploys happen on Tuesdays"]
    assert run("agents", "list", "-p", ".", "--json").code == 0
    (tmp_path / "shop" / "src").rmdir()
    assert "repo_path is '.'" in run("list", "-p", ".", code=2).err
