"""doctor: what it says of a store with planted faults, and what --fix does about them."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import create_engine

from scrubjay.backends.sql.migrate import MIGRATIONS, upgrade


@pytest.fixture(autouse=True)
def by_meaning(home, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")


def problems(done):
    return {(row[1], row[2]) for row in done.rows if row[0] == "problem"}


def change(home, *statements):
    with closing(sqlite3.connect(home / "scrubjay.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def test_doctor_finds_and_fixes_what_was_planted(run, home):
    run("remember", "--lines", input="one\ntwo\nthree\n")
    change(
        home,
        "DELETE FROM vectors WHERE memory_id = (SELECT id FROM memories WHERE content = 'two')",
        "DELETE FROM memories WHERE content = 'three'",
        "DROP INDEX ix_memories_scope",
    )
    found = run("doctor", "--json", code=1).json
    said = " | ".join(one["said"] for one in found if one["remedy"])
    for fault in (
        "ix_memories_scope",
        "in the text index",
        "1 memory marked as indexed",
        "vectors of 1 memory without",
    ):
        assert fault in said
    assert {one["fixed"] for one in found} == {None}
    done = run("doctor", "--fix", "--json", code=1).json  # One of them has to be indexed again.
    assert {one["about"] for one in done if one["fixed"]} == {"indexes", "words", "generation 1"}
    assert [one["remedy"] for one in done if one["remedy"]] == ["run `scrubjay reindex`"]
    assert run("reindex").rows == [["1"]]
    assert {row[0] for row in run("doctor", "--fix").rows} == {"ok"}


def test_doctor_says_that_a_schema_is_old_and_leaves_it(run, home):
    home.mkdir(mode=0o700)
    first, *_, head = sorted(path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    engine = create_engine(f"sqlite:///{home / 'scrubjay.db'}")
    with engine.begin() as connection:
        upgrade(connection, first)
    engine.dispose()
    [(about, said)] = problems(run("doctor", code=1))
    assert about == "schema"
    assert f"{first}, and this version needs {head}: run `scrubjay migrate`" in said
    with closing(sqlite3.connect(home / "scrubjay.db")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (first,)
    [fixed] = [row for row in run("doctor", "--fix").rows if row[0] == "fixed"]
    assert "it was migrated, with a copy" in fixed[2]
    assert {row[0] for row in run("doctor").rows} == {"ok"}


def test_doctor_refuses_a_schema_that_is_newer(run, home):
    run("remember", "one")
    change(home, "UPDATE alembic_version SET version_num = '9999'")
    assert any("newer version" in said for _, said in problems(run("doctor", code=1)))


def test_doctor_names_the_library_that_an_engine_needs(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_RECORDS", "postgresql://nobody@127.0.0.1:9/none")
    done = run("doctor", code=1)
    assert any("psycopg" in row[2] for row in done.rows if row[1] == "versions")
    assert any("127.0.0.1:9" in said or "Check that the server runs" in said for _, said in problems(done))
