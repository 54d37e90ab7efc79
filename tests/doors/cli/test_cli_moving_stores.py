"""move, backup and restore, as commands."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest


@pytest.fixture
def remembered(run, home):
    """A store with two tenants."""
    run("remember", "Lives in Bonn", "-u", "ada", "--key", "city")
    run("remember", "Lives in Rome", "-u", "ada", "--key", "city")
    run("remember", "Prefers tabs", "--tenant", "other")
    run("working", "append", "Hello", "-u", "ada", "-s", "monday")
    return home


def test_move_carries_everything(run, remembered, tmp_path):
    rows = dict(run("move", "--to", f"sqlite:///{tmp_path}/new/scrubjay.db").rows)
    assert rows["tenant default"] == "3 memories, 1 session"
    assert rows["tenant other"] == "1 memory"
    assert rows["from"].endswith("home/scrubjay.db")
    assert "same on both sides" in rows["compared"]
    for tenant in ("default", "other"):
        here = run("export", "--tenant", tenant).out
        assert run("export", "--tenant", tenant, "--home", f"{tmp_path}/new").out == here


def test_move_there_and_back(run, remembered, tmp_path, postgres_database):
    server = postgres_database()
    before = run("export").out
    there = run("move", "--to", server, "--json").json
    assert there["tenants"] == {"default": 3, "other": 1}
    assert there["sessions"] == {"default": 1}
    assert there["files"] == {}
    assert there["earlier"] == 0
    back = run("move", "--from", server, "--to", f"sqlite:///{tmp_path}/back/scrubjay.db", "--json").json
    assert back["sha256"] == there["sha256"]
    assert run("export", "--home", f"{tmp_path}/back").out == before


def test_move_hides_passwords(run, remembered, postgres_database):
    server = urlsplit(postgres_database())
    with_password = server._replace(netloc=f"{server.username}:secret@{server.hostname}:{server.port}").geturl()
    assert "secret" not in run("move", "--to", with_password).out


def test_move_refuses_a_store_with_something_in_it(run, remembered, tmp_path):
    run("remember", "Mine", "--home", f"{tmp_path}/new")
    done = run("move", "--to", f"sqlite:///{tmp_path}/new/scrubjay.db", code=1)
    assert "name an empty store" in done.err
    assert json.loads(run("move", "--to", f"sqlite:///{tmp_path}/new/scrubjay.db", "--json", code=1).err)["error"]


def test_restore_says_what_an_older_backup_lacks(run, home):
    older = Path(__file__).parents[2] / "integration" / "version-1.backup"
    done = run("restore", str(older))
    assert dict(done.rows)["tenant default"] == "14 memories"
    assert "holds no files and no sessions" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "mysql://host/name"], "sqlite:///FILE or postgresql://"),
        (["--to", "sqlite:///new.db", "--from", "sqlite:///none.db"], "not there"),
        (["--to", "sqlite:///new.db", "--vectors-to", "magic:"], "magic"),
    ],
)
def test_move_says_what_is_wrong(run, remembered, options, said):
    done = run("move", *options, code=1)
    assert said in done.err
    assert done.out == ""


def test_move_needs_to_know_where_to(run):
    run("move", code=2)


def test_backup_and_restore(run, remembered, tmp_path):
    saved = dict(run("backup", "all.backup").rows)
    assert saved["tenant default"] == "3 memories, 1 session"
    assert len(saved["sha256"]) == 64
    rows = dict(run("restore", "all.backup", "--home", "new").rows)
    assert rows["tenant other"] == "1 memory"
    assert "kept aside" not in rows
    assert "Hello" in run("working", "recent", "-u", "ada", "-s", "monday", "--home", "new").out
    for tenant in ("default", "other"):
        here = run("export", "--tenant", tenant).out
        assert run("export", "--tenant", tenant, "--home", "new").out == here


def test_a_backup_is_a_file_and_no_stream(run, remembered, tmp_path):
    assert "file is '-'" in run("backup", "-", code=1).err
    assert not (tmp_path / "-").exists()
    run("backup", "./-.backup")


def test_backup_and_restore_as_json(run, remembered):
    saved = run("backup", "all.backup", "--json").json
    assert (saved["version"], saved["tenants"], saved["vectors"]) == (4, {"default": 3, "other": 1}, {})
    restored = run("restore", "all.backup", "--home", "new", "--json").json
    assert restored["tenants"] == saved["tenants"]
    assert restored["sessions"] == saved["sessions"] == {"default": 1}
    assert restored["created_at"] == saved["created_at"]
    assert restored["aside"] is None


def test_restore_refuses_and_force_keeps_aside(run, remembered):
    run("backup", "all.backup")
    run("remember", "Newer")
    assert "--force" in run("restore", "all.backup", code=1).err
    rows = dict(run("restore", "all.backup", "--force").rows)
    assert "Newer" not in run("list").out
    with closing(sqlite3.connect(rows["kept aside"])) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (5,)


def test_restore_of_something_else(run, remembered, tmp_path):
    run("export", "lines.ndjson")
    assert "no backup of Scrubjay" in run("restore", "lines.ndjson", "--home", "new", code=1).err
    assert not (tmp_path / "new").exists()


def test_backup_of_nothing(run, tmp_path):
    assert "not there" in run("backup", "all.backup", code=1).err
    assert not (tmp_path / "all.backup").exists()


def test_progress_is_shown_on_a_terminal(terminal, run, remembered):
    assert "everything is the same" in terminal("move", "--to", "sqlite:///new.db").out


def test_a_backup_to_a_link_goes_where_it_leads(run, remembered, tmp_path):
    real, link = tmp_path / "real.backup", tmp_path / "link.backup"
    link.symlink_to(real)
    run("backup", str(link))
    assert link.is_symlink()
    assert "same on both sides" in dict(run("restore", str(real), "--home", f"{tmp_path}/new").rows)["compared"]


def test_a_backup_to_a_named_pipe_goes_through_it(run, remembered, tmp_path, through_a_pipe):
    (tmp_path / "received.backup").write_bytes(through_a_pipe(lambda pipe: run("backup", pipe)))
    restored = dict(run("restore", f"{tmp_path}/received.backup", "--home", f"{tmp_path}/new").rows)
    assert "same on both sides" in restored["compared"]
