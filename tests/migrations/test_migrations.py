"""Old databases become new ones, with a copy first; newer and damaged ones are refused and left as they are."""

import hashlib
import os
import re
import sqlite3
import stat
import subprocess
import sys
import uuid
import zipfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import MIGRATIONS, migrate, upgrade, version
from scrubjay.backends.sql.schema import HEAD
from scrubjay.backends.sql.texts_sqlite import marks_of
from scrubjay.errors import Conflict, SchemaTooNew, StoreDamaged, StoreUnavailable
from scrubjay.model import Scope
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import migrate_records, wire

ROOT = Path(__file__).resolve().parent.parent.parent


def opened(url):
    return SyncScrubjay(wire(read_settings(records=url, background=False), embedder=ToyEmbedder())).start()


async def migrated(url, target):
    """Bring an empty database to this version by running the migrations one after the other."""
    database = Database(url)
    await database.write(lambda connection: upgrade(connection, target))
    await database.shut()


async def created(url):
    """Bring an empty database to the newest version as opening it does."""
    database = Database(url)
    assert await migrate(database) is None
    assert await database.read(version) == HEAD
    await database.shut()


def sqlite_schema(path):
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        statements = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        columns = {
            name: connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall() for name in names
        }
        rows = connection.execute("SELECT * FROM counters ORDER BY name").fetchall()
    # How a statement is laid out and quoted makes no difference to what it says.
    plain = {(kind, name, table): re.sub(r'[\s"]', "", sql or "") for kind, name, table, sql in statements}
    return columns, plain, rows


POSTGRESQL_SCHEMA = {
    "columns": "SELECT table_name, column_name, ordinal_position, data_type, udt_name, is_nullable, column_default, "
    "character_maximum_length, collation_name, is_generated, generation_expression FROM information_schema.columns "
    "WHERE table_schema = 'public'",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace",
    "sequences": "SELECT sequencename, data_type::text FROM pg_sequences WHERE schemaname = 'public'",
    "word searches": "SELECT c.cfgname, m.maptokentype, m.mapseqno, d.dictname, d.dictinitoption FROM pg_ts_config c "
    "JOIN pg_ts_config_map m ON m.mapcfg = c.oid JOIN pg_ts_dict d ON d.oid = m.mapdict "
    "WHERE c.cfgname = 'scrubjay_words'",
    "counters": "SELECT name, value FROM counters",
}


def postgresql_schema(url):
    with psycopg.connect(url) as connection:
        return {
            what: sorted(connection.execute(query).fetchall(), key=str) for what, query in POSTGRESQL_SCHEMA.items()
        }


async def test_a_new_sqlite_file_equals_the_sum_of_the_migrations(tmp_path):
    await created(f"sqlite:///{tmp_path}/created.db")
    await migrated(f"sqlite:///{tmp_path}/migrated.db", HEAD)
    for fresh, summed in zip(
        sqlite_schema(tmp_path / "created.db"), sqlite_schema(tmp_path / "migrated.db"), strict=True
    ):
        assert fresh == summed


async def test_a_new_postgresql_database_equals_the_sum_of_the_migrations(blank_postgres_database):
    fresh, summed = blank_postgres_database(), blank_postgres_database()
    await created(fresh)
    await migrated(summed, HEAD)
    expected = postgresql_schema(fresh)
    assert all(expected.values())
    assert postgresql_schema(summed) == expected


def test_head_is_the_newest_migration():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [HEAD]
    for revision in script.walk_revisions():
        assert Path(revision.path).stem == revision.revision
        assert revision.doc


def an_old_memory(dialect):
    """A row of the first schema, with its scope and its words."""
    known = uuid.UUID("3f2504e0-4f89-41d3-9a0c-0305e82c3301")
    moment = 1_760_000_000_000_000 if dialect == "sqlite" else "2025-10-09T08:53:20Z"
    scope = ("INSERT INTO scopes VALUES (1, 'default', 'anna', '', '', '', '')", ())
    columns = "id, scope_id, kind, key, content, importance, trust, uses, fingerprint, created_at, valid_from"
    values = "?, 1, 'preference', 'indent', 'Prefers tabs', 0.5, 'told', 7, ?, ?, ?"
    row = (
        f"INSERT INTO memories ({columns}) VALUES ({values})",
        (known.bytes if dialect == "sqlite" else known, b"0123456789abcdef", moment, moment),
    )
    body, marks = "indent prefers tabs", marks_of(1, Scope(user="anna"), live=True)
    words = (
        ("INSERT INTO texts (rowid, body, marks) VALUES (1, ?, ?)", (body, marks))
        if dialect == "sqlite"
        else ("INSERT INTO texts (seq, body) VALUES (1, ?)", (body,))
    )
    return [scope, row, words]


def check_that_it_holds_the_old_memory(jay):
    [memory] = jay.list()
    assert (memory.content, memory.key, memory.uses, memory.scope.user) == ("Prefers tabs", "indent", 7, "anna")
    assert len(jay.recall("tabs", mode="words")) == 1
    assert jay.stats().pending == 1
    assert jay.reindex() == 1
    assert len(jay.recall("tabs", mode="meaning")) == 1
    assert jay.remember("Prefers spaces", key="indent", user="anna").replaced == memory.id
    assert jay.check() == []


@pytest.fixture
async def old_file(tmp_path):
    path = tmp_path / "scrubjay.db"
    await migrated(f"sqlite:///{path}", "0001")
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, values in an_old_memory("sqlite"):
            connection.execute(statement, values)
    return path


def test_an_old_file_is_brought_up_to_date_with_a_copy_first(old_file):
    with opened(f"sqlite:///{old_file}") as jay:
        check_that_it_holds_the_old_memory(jay)
    [copy] = old_file.parent.glob("scrubjay.db.backup-0001-*")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600, "a copy tells as much as the file"
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
        assert connection.execute("SELECT content FROM memories").fetchall() == [("Prefers tabs",)]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        assert "vectors" not in tables
    with opened(f"sqlite:///{old_file}"):
        assert len(list(old_file.parent.glob("*.backup-*"))) == 1
    # The copy is a database like any other: opened, it is brought up to date as well.
    with opened(f"sqlite:///{copy}") as jay:
        check_that_it_holds_the_old_memory(jay)


def test_migrating_says_what_it_did(old_file):
    settings = read_settings(records=f"sqlite:///{old_file}")
    done = migrate_records(settings)
    assert (done.before, done.after) == ("0001", HEAD)
    assert done.backup.exists()
    again = migrate_records(settings)
    assert (again.before, again.after, again.backup) == (HEAD, HEAD, None)


async def test_an_old_postgresql_database_is_brought_up_to_date(blank_postgres_database):
    url = blank_postgres_database()
    await migrated(url, "0001")
    with psycopg.connect(url) as connection:
        for statement, values in an_old_memory("postgresql"):
            connection.execute(statement.replace("?", "%s"), values)
        connection.execute("SELECT setval('scopes_id_seq', 1)")
    with opened(url) as jay:
        check_that_it_holds_the_old_memory(jay)


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("scrubjay.db")}


@pytest.mark.parametrize("waits", [True, False])
async def test_changes_of_sessions_that_wait_for_redis_are_not_dropped(tmp_path, waits):
    url, path = f"sqlite:///{tmp_path}/scrubjay.db", tmp_path / "scrubjay.db"
    await migrated(url, "0014")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO scopes VALUES (1, 'default', 'anna', '', '', 's-1', '')")
        body = '{"do": "end"}' if waits else None
        connection.execute("INSERT INTO working_detours (scope_id, body) VALUES (1, ?)", (body,))
    if waits:
        before = hashes(tmp_path)
        with pytest.raises(Conflict, match="1 changes of sessions wait here for a Redis"):
            opened(url)
        assert hashes(tmp_path) == before
    else:
        opened(url).close()
        assert "working_detours" not in sqlite_schema(path)[0]


async def test_a_newer_file_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "scrubjay.db"
    await created(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = hashes(tmp_path)
    for _ in range(2):
        with pytest.raises(SchemaTooNew, match=r"9999.*Upgrade Scrubjay; nothing was changed"):
            opened(f"sqlite:///{path}")
    assert hashes(tmp_path) == before
    assert list(tmp_path.glob("*.backup-*")) == []


async def test_a_newer_postgresql_database_is_refused_and_left_as_it_is(blank_postgres_database):
    url = blank_postgres_database()
    await created(url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = postgresql_schema(url)
    with pytest.raises(SchemaTooNew):
        opened(url)
    assert postgresql_schema(url) == before


def test_a_file_that_is_no_database_is_called_damaged(tmp_path):
    path = tmp_path / "scrubjay.db"
    path.write_bytes(b"definitely not a database" * 1_000)
    before = hashes(tmp_path)
    with pytest.raises(StoreDamaged, match="Restore a backup"):
        opened(f"sqlite:///{path}")
    assert hashes(tmp_path) == before


def test_a_file_with_broken_pages_is_called_damaged(tmp_path):
    path = tmp_path / "scrubjay.db"
    with opened(f"sqlite:///{path}") as jay:
        jay.remember_many([f"fact {place} of many, so that there are many pages" for place in range(500)])
    content = bytearray(path.read_bytes())
    for start in range(4096 * 2, len(content), 4096):
        content[start : start + 2048] = os.urandom(2048)
    path.write_bytes(content)
    for leftover in tmp_path.glob("scrubjay.db-*"):
        leftover.unlink()
    with pytest.raises(StoreDamaged), opened(f"sqlite:///{path}") as jay:
        jay.recall("fact")


def test_a_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match=r"file.*cannot be made.*SCRUBJAY_HOME"):
        opened(f"sqlite:///{tmp_path}/file/scrubjay.db")


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(tmp_path):
    # Root may write anywhere but into folders of the kernel.
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path
    if folder == tmp_path:
        tmp_path.chmod(0o500)
    with pytest.raises(StoreUnavailable, match=r"scrubjay.db cannot be used.*there and writable"):
        opened(f"sqlite:///{folder}/scrubjay.db")


def test_a_server_that_is_not_there_is_unavailable():
    with pytest.raises(StoreUnavailable, match="cannot be used") as raised:
        opened("postgresql://nobody:opensesame@127.0.0.1:1/none")
    assert "opensesame" not in str(raised.value)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("scrubjay-*.whl")
    return path


def test_the_wheel_brings_everything_it_needs(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
    migrations = {f"scrubjay/backends/sql/migrations/versions/{path.name}" for path in MIGRATIONS.glob("versions/*.py")}
    assert len(migrations) >= 2
    assert migrations <= names
    assert "scrubjay/backends/sql/migrations/env.py" in names
    assert "scrubjay/py.typed" in names
    assert {"scrubjay/models/minilm/model.onnx", "scrubjay/models/minilm/tokenizer.json"} <= names
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/")) or name.endswith(".pyc")]
