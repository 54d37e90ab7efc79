"""What nearly every telling needs takes a short road. Both roads lead to the same place, letter by letter."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.backends.sql import bulk, joint, writing, writing_sqlite
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.rows import Reader
from scrubjay.backends.sql.tellings import Teller, Telling, apart
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.errors import InvalidInput
from scrubjay.model import PLACE_NAMES, Memory, new_ids, words
from scrubjay.model.memory import as_told
from scrubjay.ports import Ahead, Entry
from scrubjay.testing import NOW, a_memory, a_scope
from scrubjay.testing.values import HOUR
from scrubjay.write import redact, secrets
from scrubjay.write.prepare import prepare, telling_of
from scrubjay.write.reconcile import reconcile
from scrubjay.write.redact import SecretRedactor

[AN_ID] = new_ids(1)
fragments = st.sampled_from(
    """password|pw|: |=|hunter2!|sk-|ghp_|xoxb-|a1B2c3D4e5F6g7H8i9J0|eyJhbGciOi|.|bearer |basic |dXNlcjpwYXNz|https://u:
|@host/|AKIA|IOSFODNN7EXAMPLE|token|key|PRIVATE KEY|é|K|-----BEGIN |-----|the |secret |PuTTY-User-Key
|Private-Lines: 1|curl -u |'|"| |x9""".split("|")  # noqa: SIM905 -- a list of 34 strings reads worse
)
"""What secrets are made of, and what stands around them; some of it ends a line."""

texts = st.one_of(st.text(max_size=60), st.lists(fragments, max_size=12).map("".join))
names = st.one_of(st.none(), st.sampled_from(["anna", "bob", "", " ", "\x00", 7, ["anna"]]))


def outcome(work):
    """What it returns or what it raises, so that both can be compared."""
    try:
        return work()
    except InvalidInput as error:
        return str(error)


@settings(deadline=None)
@given(st.one_of(texts, st.none(), st.integers()), st.dictionaries(st.sampled_from(PLACE_NAMES), names))
def test_a_plain_telling_becomes_what_any_telling_would(content, places):
    def prepared(**nothing):
        telling = telling_of({"content": content, **places, **nothing})
        return prepare(telling, a_scope(project="p"), now=NOW, redactor=SecretRedactor(), new=AN_ID)

    # A detail that says nothing changes nothing, but the road.
    assert outcome(prepared) == outcome(lambda: prepared(key=None))


@given(texts)
def test_what_is_told_alone_is_the_memory_with_all_else_left_out(content):
    def whole():
        return Memory(
            id=AN_ID, content=content, scope=a_scope(), created_at=NOW, valid_from=NOW, redacted=("password",)
        )

    short, long = (outcome(work) for work in (lambda: as_told(AN_ID, content, a_scope(), NOW, ("password",)), whole))
    assert short == long
    assert getattr(short, "fingerprint", None) == getattr(long, "fingerprint", None)


@settings(deadline=None, max_examples=300)
@given(texts)
def test_no_secret_is_passed_over_by_a_rule_that_is_not_asked(text):
    quick = SecretRedactor().redact(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(redact, "_called", lambda _: range(len(secrets.RULES)))
        assert SecretRedactor().redact(text) == quick


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("xoxb-a1B2c3D4e5", "slack-token"),
        ("Bearer a1B2c3D4e5F6g7H8", "bearer-token"),
        ("-----BEGIN PRIVATE KEY-----\na1B2c3D4e5F6g7H8\n-----END PRIVATE KEY-----", "private-key"),
        ("AKIAIOSFODNN7EXAMPL0", "aws-access-key"),
        ("eyJhbGciOiJ.eyJzdWIiOiI", "jwt"),
        ("sk-a1B2c3D4e5F6g7H8i9J0", "openai-key"),
        ("PuTTY-User-Key Private-Lines: 1\nAAAA\n", "private-key"),
    ],
)
def test_the_shortest_secret_is_long_enough(text, kind):
    assert SecretRedactor().redact(text)[1] == (kind,)


@settings(max_examples=300)
@given(st.text(alphabet="aAbBzZ019 ._-,'(\n\t\x1c\x0b/", max_size=40))
def test_words_in_ascii_are_those_that_any_text_has(text):
    sought = [word for token in text.split() for chunk in words._CHUNK.findall(token) for word in words._parts(chunk)]
    assert words.words_of(text) == sought


@pytest.mark.parametrize("fields", [{}, {"key": "pref:indent"}, {"kind": "message", "author": "Anna"}])
@pytest.mark.parametrize("content", ["Uses getUserName in os.path.", "Schön hier", "plain words only"])
def test_the_text_of_the_words_holds_the_words(content, fields):
    memory = a_memory(content, **fields)
    assert words.text_of_words(memory).split() == words.words_of_memory(memory)


def test_ids_that_are_made_together_are_in_order_and_each_is_one():
    first, second = new_ids(1_000), new_ids(1_000)
    assert [*first, *second] == sorted({*first, *second})
    assert {one.version for one in first} == {7}


def drafts():
    """New memories of every sort that the short road takes, two of them in one session."""
    told = [
        a_memory("A note"),
        a_memory("Said first", kind="message", author="Anna", scope=a_scope(session="s")),
        a_memory("Said next", kind="message", scope=a_scope(session="s")),
        a_memory("For a while", valid_to=NOW + HOUR, expires_at=NOW + 2 * HOUR),
        a_memory("From tomorrow", valid_from=NOW + timedelta(days=1), data={"n": 1}, source="a.txt", importance=0.9),
        a_memory("Without [redacted:password]", redacted=("password",), reason="asked"),
    ]
    return [*told, a_memory("Made of others", derived_from=(told[0].id, told[1].id))]


def ahead_of(told):
    """Vectors for all but the first: one part for each, two for the second."""
    cuts, first = {}, 0
    for place, draft in enumerate(told[1:]):
        spans = ((0, 4), (5, len(draft.content))) if place == 0 else ((0, len(draft.content)),)
        cuts[draft.id] = (spans, first)
        first += len(spans)
    vectors = np.random.default_rng(7).normal(size=(first, 8)).astype(np.float32)
    return Ahead(generation=1, parts=cuts, vectors=vectors, marks=dict.fromkeys(cuts, 1))


@pytest.fixture
async def file(tmp_path):
    opened = []

    async def fresh(name):
        database = Database(f"sqlite:///{tmp_path / name}.db")
        opened.append(database)
        await migrate(database)
        return database

    yield fresh
    for database in opened:
        await database.shut()


async def rows_of(database, table, *columns):
    listed = f"SELECT {', '.join(columns) or '*'} FROM {table}"
    return sorted(await database.read(lambda connection: driver_of(connection).execute(listed).fetchall()), key=repr)


TABLES = ("memories", "texts", "vectors", "lineage", "scopes")


@pytest.mark.parametrize("many", [None, 1])
async def test_both_roads_store_the_same_rows(file, monkeypatch, many):
    told = drafts()[:many]
    short, long = await file("short"), await file("long")
    answers = [await joint.SqliteJoint(short).write(told, reconcile, ahead_of(told))]
    monkeypatch.setattr(writing, "_all_new", lambda drafts, decide: None)
    answers.append(await joint.SqliteJoint(long).write(told, reconcile, ahead_of(told)))
    assert answers[0] == answers[1]
    for table in TABLES:
        assert await rows_of(short, table) == await rows_of(long, table), table


@pytest.mark.parametrize("many", [1, bulk.AT_ONCE - 1, bulk.AT_ONCE, 2 * bulk.AT_ONCE + 3])
def test_rows_that_go_together_are_those_that_go_alone(many):
    columns = ("number", "word", "rare", "blob", "never")
    rows = [(at, f"w{at}", "x" if at == many // 2 else None, bytearray([at % 256]), None) for at in range(many)]
    stored = []
    for batches in [rows], [[row] for row in rows]:
        with closing(sqlite3.connect(":memory:")) as file:
            file.execute(f"CREATE TABLE things ({', '.join(columns)})")
            for batch in batches:
                bulk.insert(file, "things", columns, batch)
            stored.append(file.execute("SELECT * FROM things").fetchall())
    assert stored == [[(*row[:3], bytes(row[3]), row[4]) for row in rows]] * 2


async def test_more_than_go_together_are_stored_on_both_roads(file, monkeypatch):
    told = [*drafts(), *(a_memory(f"Note {number}") for number in range(bulk.AT_ONCE))]
    short, long = await file("short"), await file("long")
    answers = [await joint.SqliteJoint(short).write(told, reconcile, ahead_of(told))]
    monkeypatch.setattr(writing, "_all_new", lambda drafts, decide: None)
    monkeypatch.setattr(bulk, "AT_ONCE", len(told) + 1)
    answers.append(await joint.SqliteJoint(long).write(told, reconcile, ahead_of(told)))
    assert answers[0] == answers[1]
    for table in TABLES:
        assert await rows_of(short, table) == await rows_of(long, table), table


async def test_a_row_that_cannot_be_stored_takes_those_with_it_along(file):
    database = await file("refused")
    told = [a_memory(f"Note {number}") for number in range(bulk.AT_ONCE)]
    unlike = {draft.id: replace(draft, scope=a_scope(user="nobody")) for draft in told[-1:]}

    def work(connection):
        numbers = writing_sqlite.interned(connection, {told[0].scope}) | {a_scope(user="nobody"): 7_000}
        writing_sqlite.insert(connection, [unlike.get(draft.id, draft) for draft in told], numbers, {})

    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        await database.write(work)
    assert await rows_of(database, "memories") == await rows_of(database, "texts") == []


async def test_vectors_that_come_with_a_memory_are_those_that_come_after_it(file):
    told = drafts()
    at_once, after = await file("at_once"), await file("after")
    ahead = ahead_of(told)
    await joint.SqliteJoint(at_once).write(told, reconcile, ahead)
    done = await SqlRecords(after).write(told, reconcile)
    entries = [
        Entry.of(one.memory, spans, ahead.vectors[first : first + len(spans)])
        for one in done
        if one.memory.id in ahead.parts
        for spans, first in [ahead.parts[one.memory.id]]
    ]
    await EmbeddedVectors(after).upsert(1, entries)
    columns = ("memory_id", "part", "start", "stop", "scope_id", "kind", "live", "since", "until", "vector")
    assert await rows_of(at_once, "vectors", *columns) == await rows_of(after, "vectors", *columns)


async def test_what_is_told_again_is_known_on_either_road(file):
    database = await file("again")
    told = drafts()
    await joint.SqliteJoint(database).write(told, reconcile, ahead_of(told))
    again = [replace(draft, id=new_ids(1)[0]) for draft in told if not draft.is_event and draft.valid_to is None]
    done = await joint.SqliteJoint(database).write(again, reconcile, ahead_of(again))
    assert {one.outcome for one in done} == {"unchanged"}
    twice = [a_memory("Twice"), a_memory("Twice")]
    done = await joint.SqliteJoint(database).write(twice, reconcile, ahead_of(twice))
    assert [one.outcome for one in done] == ["stored", "unchanged"]


VECTORS = ("memory_id", "generation", "part", "start", "stop", "scope_id", "kind", "live", "since", "until", "vector")
"""All but the number of the change: those who are told as one share it."""


def tellings():
    """What several tell at the same time: some of it bears on what others tell, and one has no vectors."""
    told = drafts()
    keyed = [a_memory(f"Indent by {width}", key="pref:indent") for width in (2, 4)]
    groups = [told[:3], told[3:4], [keyed[0]], told[4:6], [keyed[1]], [a_memory("A note")], told[6:]]
    vectors = [ahead_of(group) for group in groups]
    vectors[1] = replace(vectors[1], parts={}, vectors=None, marks={told[3].id: -1})
    return [Telling(group, reconcile, ahead) for group, ahead in zip(groups, vectors, strict=True)]


async def test_what_is_told_at_the_same_time_is_stored_as_if_each_had_come_alone(file):
    told = tellings()
    together, alone = await file("together"), await file("alone")
    answers = await together.write(lambda connection: Teller(together, Reader()).written_together(connection, told))
    assert answers == [await joint.SqliteJoint(alone).write(*one) for one in told]
    assert [len(those) for those in apart(told)] == [4, 3]
    for table in TABLES:
        columns = VECTORS if table == "vectors" else ()
        assert await rows_of(together, table, *columns) == await rows_of(alone, table, *columns), table


def test_those_of_another_generation_are_told_apart():
    first, second = tellings()[:2]
    other = second._replace(ahead=replace(second.ahead, generation=2))
    assert [len(those) for those in apart([first, second, other, other])] == [2, 1, 1]


async def test_among_others_too_what_reads_otherwise_than_its_vectors_is_left_to_be_indexed(file):
    database = await file("otherwise")
    told = [Telling([a_memory(f"Note {number}")], reconcile, None) for number in range(3)]
    told = [one._replace(ahead=ahead_of([a_memory("first"), *one.drafts])) for one in told]

    def otherwise(draft, known):
        told[1].ahead.leave_out(draft.id)
        return reconcile(draft, known)

    told[1] = told[1]._replace(decide=otherwise)
    await database.write(lambda connection: Teller(database, Reader()).written_together(connection, told))
    assert [mark for (mark,) in await rows_of(database, "memories", "generation")] == [1, 1, None]
    assert len(await rows_of(database, "vectors")) == 4
