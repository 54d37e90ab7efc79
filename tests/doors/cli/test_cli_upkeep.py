"""stats, doctor, reindex, migrate, config and serve."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import create_engine

from scrubjay.backends.sql.migrate import MIGRATIONS, upgrade


def test_stats_counts_the_scope(run):
    run("remember", "one", "-u", "ada", "-k", "fact")
    run("remember", "two", "-u", "bob")
    assert run("stats", "--json").json["kinds"] == {"fact": 1, "note": 1}
    found = run("stats", "-u", "ada", "--json").json
    assert (found["memories"], found["scopes"], found["pending"]) == (1, 1, 0)
    assert ["memories", "1"] in run("stats", "-u", "ada").rows


def test_doctor_is_content_with_a_fresh_store(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    run("remember", "one")
    found = {row[1]: row for row in run("doctor").rows}
    assert {"versions", "disk", "files", "schema", "integrity", "index", "embedder"} <= found.keys()
    assert {row[0] for row in found.values()} == {"ok"}
    assert "1 memory indexed" in found["index"][2]


def test_doctor_on_nothing_at_all(run, home):
    assert {row[0] for row in run("doctor").rows} == {"ok"}


def test_doctor_finds_a_damaged_file(run, home):
    run("remember", "one")
    database = home / "scrubjay.db"
    database.write_bytes(b"not a database" + database.read_bytes()[14:])
    done = run("doctor", "--json", code=1)
    assert any("damaged" in (one["remedy"] or "") for one in done.json)


def test_doctor_finds_what_everybody_can_read(run, home):
    run("remember", "one")
    home.chmod(0o755)
    (home / "scrubjay.db").chmod(0o644)
    [problem] = [row for row in run("doctor", code=1).rows if row[0] == "problem"]
    assert f"chmod 700 '{home}'" in problem[2]


def test_doctor_finds_a_wrong_setting(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "magic")
    rows = run("doctor", code=1).rows
    assert any(row[0] == "problem" and "magic" in row[2] for row in rows)


def test_a_home_is_private(run, home):
    run("remember", "one")
    assert home.stat().st_mode & 0o077 == 0


def test_reindex_catches_up_with_a_model(run, monkeypatch):
    run("remember", "--lines", input="one\ntwo\nthree\n")
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    assert run("stats", "--json").json["pending"] == 3
    assert "reindex" in run("doctor", code=1).out
    assert run("reindex").rows == [["3"]]
    assert run("reindex").rows == [["0"]]
    assert run("reindex", "--rebuild", "--json").json == {"indexed": 3}
    assert run("reindex", "--words").rows == [["3"]]
    assert run("stats", "--json").json["vectors"] == 3


def test_a_new_model_takes_over_and_can_be_undone(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    run("remember", "one")
    assert "no earlier" in run("reindex", "--rollback", code=1).err
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "minilm")
    assert "reindex" in run("doctor", code=1).out
    assert run("reindex").rows == [["1"]]
    assert states(run) == {"static": "retired", "minilm": "active"}
    assert run("reindex", "--rollback").rows[0][1].startswith("static:")
    assert states(run) == {"static": "active", "minilm": "undone"}
    run("reindex", "--adopt")
    assert states(run) == {"static": "retired", "minilm": "active"}
    assert [one["state"] for one in run("reindex", "--sweep", "--json").json] == ["retired"]
    assert states(run) == {"minilm": "active"}
    assert "nothing to delete" in run("reindex", "--sweep").err


def states(run) -> dict[str, str]:
    return {one["model"].partition(":")[0]: one["state"] for one in run("stats", "--json").json["generations"]}


@pytest.mark.parametrize("options", [["--sweep", "--rollback"], ["--words", "--rebuild"], ["--adopt", "--sweep"]])
def test_reindex_does_one_thing_at_a_time(run, options):
    run("reindex", *options, code=2)


def test_migrate_says_what_it_did(run, home):
    assert run("migrate", "--json").json["from"] is None
    again = run("migrate")
    assert again.rows[1][1] == again.rows[2][1]
    assert "up to date" in again.err


def test_migrate_copies_an_older_store_first(run, home):
    home.mkdir(mode=0o700)
    first, *_, head = sorted(path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    engine = create_engine(f"sqlite:///{home / 'scrubjay.db'}")
    with engine.begin() as connection:
        upgrade(connection, first)
    engine.dispose()
    done = run("migrate", "--json").json
    assert (done["from"], done["to"]) == (first, head)
    with closing(sqlite3.connect(done["backup"])) as backup:
        assert backup.execute("SELECT version_num FROM alembic_version").fetchone() == (first,)
    assert {row[0] for row in run("doctor").rows} == {"ok"}


def test_migrate_refuses_what_is_newer(run, home):
    run("remember", "one")
    with closing(sqlite3.connect(home / "scrubjay.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    for command in (["migrate"], ["list"]):
        done = run(*command, code=1)
        assert "newer version" in done.err
        assert len(done.err.splitlines()) == 1


def test_config_tells_values_and_where_they_come_from(run, tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("SCRUBJAY_PORT=8000\nSCRUBJAY_EMBEDDER=static\n")
    monkeypatch.setenv("SCRUBJAY_EMBEDDER_KEY", "very-secret")
    monkeypatch.setenv("SCRUBJAY_RECORDS", "postgresql://me:secret@localhost/memories")
    done = run("config", "--tenant", "acme")
    found = {row[0]: row[1:] for row in done.rows}
    assert found["SCRUBJAY_PORT"] == ["8000", ".env"]
    assert found["SCRUBJAY_EMBEDDER"] == ["none", "environment"]
    assert found["SCRUBJAY_TENANT"] == ["acme", "command line"]
    assert found["SCRUBJAY_HOST"] == ["127.0.0.1", "default"]
    assert found["SCRUBJAY_EMBEDDER_KEY"] == ["(hidden)", "environment"]
    assert found["SCRUBJAY_RECORDS"][0] == "postgresql://me:***@localhost/memories"
    assert "secret@" not in done.out
    assert "very-secret" not in run("config", "--json").out


def test_config_prints_one_value(run, home):
    assert run("config", "home").out == f"{home}\n"
    assert run("config", "SCRUBJAY_HOME", "--json").json == {"home": {"value": str(home), "source": "environment"}}
    assert "not a setting" in run("config", "colour", code=1).err


def test_config_shows_all_when_one_is_wrong(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_PORT", "high")
    done = run("config", code=1)
    assert ["SCRUBJAY_PORT", "high", "environment"] in done.rows
    assert done.err.startswith("error: SCRUBJAY_PORT is 'high'")


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_serve_names_the_extra_that_it_needs(home, missing):
    # In a process of its own, where importing that package fails as it does when it is not installed.
    code = f"import sys; sys.modules['{missing}'] = None; sys.argv = ['scrubjay', 'serve', '--port', '0']\n"
    code += "from scrubjay.doors.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "pip install 'scrubjay[server]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_that_cannot_be_opened_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("list", "--home", str(tmp_path / "file"), code=1)
    assert len(done.err.splitlines()) == 1
    assert (
        json.loads(run("list", "--home", str(tmp_path / "file"), "--json", code=1).err)["error"] == "StoreUnavailable"
    )


def test_health_of_an_embedded_store(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    assert [row[:2] for row in run("health").rows] == [["records", "up"], ["vectors", "up"], ["embedder", "up"]]
    found = run("health", "--json").json
    assert (found["state"], found["pending"]) == ("ready", 0)


def test_health_without_its_servers(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_RECORDS", "postgresql://ann:hidden@127.0.0.1:9/scrubjay")
    monkeypatch.setenv("SCRUBJAY_VECTORS", "qdrant://:hidden@127.0.0.1:9")
    done = run("health", "--json", code=1)
    assert (done.json["state"], done.json["pending"]) == ("down", None)
    for part in ("records", "vectors"):
        store = done.json["stores"][part]
        assert store["state"] == "down"
        assert "Check that" in store["error"]
        assert "runbooks" in store["remedy"]
    assert "hidden" not in done.out + done.err
