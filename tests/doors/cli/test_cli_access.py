"""keys create, list, revoke and rotate, and audit."""

import re

import scrubjay

KEY = re.compile(r"sj_([0-9a-f]{16})_[\w-]{43}")


def test_a_key_is_shown_once_and_alone(run, home):
    done = run("keys", "create", "ci", "--right", "read", "--project", "shop", "--expires", "90d")
    [text] = done.out.split()
    known = KEY.fullmatch(text)[1]
    assert "first key" in done.err
    assert "not shown again" in done.err
    assert run("keys", "list").rows[0][:5] == [known, "ci", "read", "project 'shop'", "valid"]
    assert text[-20:] not in run("keys", "list", "--json").out  # Of the secret, which may have a `_` itself.
    with scrubjay.open(home, embedder="none") as jay:
        assert jay.access.authenticate(text).bounds.projects == ("shop",)
    assert "first key" not in run("keys", "create", "second").err


def test_a_key_is_bound_to_the_repository_at_hand(run, tmp_path, monkeypatch):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    run("keys", "create", "ci", "-p", ".", "-p", "other")
    assert run("keys", "list").rows[0][3] == "projects 'shop', 'other'"


def test_a_key_belongs_to_a_tenant(run):
    made = run("keys", "create", "ci", "--tenant", "acme", "--json").json
    assert (made["tenant"], made["rights"]) == ("acme", ["read", "write"])
    assert run("keys", "list").out == ""
    assert [one["id"] for one in run("keys", "list", "--tenant", "acme", "--json").json] == [made["id"]]


def test_a_key_is_revoked(run):
    made = run("keys", "create", "ci", "--json").json
    assert run("keys", "revoke", made["id"]).rows == [[made["id"]]]
    assert run("keys", "list").rows[0][4] == "revoked"
    assert "there is no key none" in run("keys", "revoke", "none", code=1).err


def test_a_key_is_replaced(run):
    made = run("keys", "create", "ci", "--user", "anna", "--json").json
    rotated = run("keys", "rotate", made["id"])
    assert KEY.fullmatch(rotated.out.strip())
    assert [(row[3], row[4]) for row in run("keys", "list").rows] == [
        ("user 'anna'", "expired"),
        ("user 'anna'", "valid"),
    ]
    assert "is expired" in run("keys", "rotate", made["id"], code=1).err


def test_the_log_is_read(run):
    made = run("keys", "create", "ci", "--json").json
    told = run("remember", "Ornithorhynchus", "--json").json
    run("forget", told["memory"]["id"], "--purge", "--yes")
    run("keys", "revoke", made["id"])
    log = run("audit", "--json")
    assert [one["action"] for one in log.json] == ["key.revoked", "memory.purged", "key.created"]
    assert all(one["key"] is None for one in log.json)
    assert "Ornithorhynchus" not in log.out
    assert run("audit", "-n", "1").rows[0][2:4] == ["local", "key.revoked"]
    assert run("audit", "--before", str(log.json[1]["number"])).rows[0][3] == "key.created"


def test_wrong_keys_are_explained(run):
    assert "name is '': call the key something, such as 'ci'" in run("keys", "create", "", code=1).err
    assert "cannot be bound" in run("keys", "create", "x", "-r", "admin", "-u", "anna", code=1).err
    assert "use any of read, write, admin" in run("keys", "create", "x", "-r", "fly", code=1).err
