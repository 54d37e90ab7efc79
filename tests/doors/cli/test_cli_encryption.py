"""keys generate, status, rotate and destroy, and remember --encrypt, as commands."""

import stat

import pytest

from scrubjay.backends.encryption import rotation


@pytest.fixture(autouse=True)
def _nobody_else_writes(monkeypatch):
    """So a rotation has nobody to wait for."""
    monkeypatch.setattr(rotation, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rotation, "ARRIVAL_SECONDS", 0.01)


@pytest.fixture
def key(run, tmp_path, monkeypatch):
    """A file with a master key, configured."""
    file = tmp_path / "master.key"
    run("keys", "generate", "--file", str(file))
    monkeypatch.setenv("SCRUBJAY_ENCRYPTION_KEY_FILE", str(file))
    return file


def test_generate_prints_a_key_or_puts_it_first(run, key):
    one, other = run("keys", "generate").out.strip(), run("keys", "generate", "--json").json["key"]
    assert len(one) == len(other) == 44
    assert one != other
    before = key.read_text()
    run("keys", "generate", "--file", str(key))
    assert key.read_text().endswith(before)
    assert len(key.read_text().splitlines()) == 2
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "cannot be written" in run("keys", "generate", "--file", f"{key}/none/key", code=1).err


def test_keys_are_exchanged_from_the_command_line(run, key, home, monkeypatch):
    run("remember", "In plain", "-u", "ada")
    run("remember", "In secret", "-u", "ada", "--encrypt")
    status = run("keys", "status", "--json").json
    assert (status["encrypt"], status["plain"], [one["rows"] for one in status["keys"]]) == ("none", 1, [1])
    run("keys", "generate", "--file", str(key))
    monkeypatch.setenv("SCRUBJAY_ENCRYPT", "all")
    rotated = run("keys", "rotate", "--data-keys", "--rows", "--json")
    assert "counted: nothing is left under an older data key" in rotated.err
    done = rotated.json
    assert (done["wrapped"], done["added"], done["rows"]) == (2, 1, 2)
    assert (done["left"], done["unread"], done["complete"]) == ({}, [], True)
    status = run("keys", "status")
    assert "nothing of this tenant needs data key 1 any more" in status.err
    assert [one["needed"] for one in run("keys", "status", "--json").json["keys"]] == [False, True]
    # It encrypted a moment ago.
    assert run("keys", "destroy").rows == [["0", "0", "1"]]
    assert run("keys", "destroy", "--json").json == {"destroyed": 0, "needed": 0, "recent": 1}
    assert ["not encrypted", "0 memories"] in status.rows
    assert "wraps nothing any more" in status.err
    key.write_text(key.read_text().splitlines()[0])
    assert {row[3] for row in run("list").rows} | {row[2] for row in run("list").rows} >= {"In plain", "In secret"}
    assert b"In plain" not in (home / "scrubjay.db").read_bytes()


def test_what_is_left_behind_is_said_and_the_command_fails(run, key, home, monkeypatch):
    del key
    monkeypatch.setenv("SCRUBJAY_ENCRYPT", "all")
    run("remember", "In secret", "-u", "ada")
    strangers = home / "archive" / "nobody"
    strangers.mkdir(parents=True)
    (strangers / "20250101-20250102-0.jsonl.gz").write_bytes(b"no archive")
    rotated = run("keys", "rotate", "--data-keys", "--rows", code=1)
    assert "no tenant here has the folder nobody" in rotated.err
    assert "counted: nothing" not in rotated.err
    [cells] = rotated.rows
    assert cells[1:] == ["0", "1", "1", "0", "0", "0"]
    assert "cannot be read" in run("keys", "status").err
    assert "may need any of them" in run("keys", "destroy", code=1).err


def test_a_fact_is_encrypted_when_asked_for(run, key, home):
    del key
    run("facts", "set", "fact:code", "Under the geranium", "--encrypt")
    assert run("keys", "status", "--json").json["plain"] == 0
    assert run("facts", "get", "fact:code", "--json").json["content"] == "Under the geranium"
    assert b"geranium" not in (home / "scrubjay.db").read_bytes()


def test_a_missing_key_is_one_line_that_names_it(run, key, monkeypatch):
    run("remember", "In secret", "--encrypt")
    [master] = run("keys", "status", "--json").json["masters"]
    monkeypatch.delenv("SCRUBJAY_ENCRYPTION_KEY_FILE")
    complaint = run("list", code=1).err
    assert master in complaint
    assert "SCRUBJAY_ENCRYPTION_KEY" in complaint
    monkeypatch.setenv("SCRUBJAY_ENCRYPTION_KEY", "opensesame")
    complaint = run("list", code=1).err
    assert "32 random bytes" in complaint
    assert "opensesame" not in complaint


def test_options_that_do_not_belong_together_are_refused(run):
    assert "leave out KEY" in run("keys", "rotate", "sj_1", "--rows", code=2).err
    assert "name the one to replace" in run("keys", "rotate", "--grace", "5", code=2).err
    assert "SCRUBJAY_ENCRYPTION_KEY" in run("keys", "rotate", code=1).err
