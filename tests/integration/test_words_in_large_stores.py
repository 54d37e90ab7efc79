"""Search by words where more rows have them than are ranked: the likely ones are, and they are the right ones."""

import random

import pytest
from sqlalchemy import text, update
from sqlalchemy.dialects import sqlite

from scrubjay.backends.sql import texts_sqlite, weighing
from scrubjay.backends.sql.places import each_in_place
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Filter, Scope
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, told

MANY = 1_200
USERS = 30
WORDS = [f"w{number}x" for number in range(200)]
EVERYBODY = Filter(scope=Scope())


@pytest.fixture
def database(sqlite):
    return sqlite


@pytest.fixture
def little_is_much(monkeypatch):
    """A store of a thousand is as large as one of a hundred thousand usually is."""
    for name, value in {"RANKED": 60, "WALKED": 200, "WEIGHED": 600, "READ": 30}.items():
        monkeypatch.setattr(texts_sqlite, name, value)
    for module in (texts_sqlite, weighing):
        monkeypatch.setattr(module, "LOOKED_AT", 150)


async def stored(database, *, users):
    """Memories of eight words each, of which some are as rare and some as common as words are."""
    chance = random.Random(7)
    weights = [1 / (place + 3) for place in range(len(WORDS))]
    said = [
        a_memory(
            f"{' '.join(chance.choices(WORDS, weights, k=8))} n{place}",
            scope=Scope(user=f"u-{place % users}") if users else Scope(),
            kind="rule" if place % 150 == 0 else "note",
        )
        for place in range(MANY)
    ]
    await told(SqlRecords(database), *said)
    return said, [chance.choices(WORDS, weights, k=5) for _ in range(25)]


async def matched(database, terms, filter=EVERYBODY, limit=10):
    found = await SqlTexts(database).match(list(dict.fromkeys(terms)), filter, now=NOW, limit=limit)
    return [match.id for match in found]


@pytest.mark.parametrize("users", [0, 2, USERS], ids=["one scope", "two scopes", "many scopes"])
async def test_the_likely_rows_have_the_best_among_them(database, request, users):
    _, questions = await stored(database, users=users)
    wanted = [await matched(database, terms) for terms in questions]
    request.getfixturevalue("little_is_much")
    found = [await matched(database, terms) for terms in questions]
    assert all(len(some) == 10 for some in found)
    shared = sum(len(set(some) & set(all_)) for some, all_ in zip(found, wanted, strict=True))
    assert shared >= 0.75 * 10 * len(questions)
    assert sum(some[0] == all_[0] for some, all_ in zip(found, wanted, strict=True)) >= 0.8 * len(questions)


async def test_a_word_that_everything_has_is_found_and_another_decides(database, little_is_much):
    await told(SqlRecords(database), *(a_memory(f"common thing number{place}") for place in range(300)))
    [rare] = said = [a_memory("a common thing that is rare")]
    await told(SqlRecords(database), *said)
    assert len(await matched(database, ["common"], limit=200)) == 200
    assert len(await matched(database, ["common", "thing"], limit=200)) == 200
    assert (await matched(database, ["common", "thing", "rare"]))[0] == rare.id


async def test_what_scores_alike_comes_in_the_order_of_storing_here_too(database, little_is_much):
    said = [a_memory(f"common thing number{place}", kind="rule" if place % 20 else "note") for place in range(300)]
    await told(SqlRecords(database), *said)
    assert await matched(database, ["common"], limit=12) == [memory.id for memory in said[:12]]
    # The heaviest that are looked at have eight of these, and all others are ranked for the rest.
    notes = [memory.id for memory in said if memory.kind == "note"]
    assert await matched(database, ["common"], Filter(scope=Scope(), kinds=("note",)), limit=12) == notes[:12]


async def test_a_filter_that_drops_nearly_all_still_finds_what_it_keeps(database, little_is_much):
    said, _ = await stored(database, users=USERS)
    rules = {memory.id for memory in said if memory.kind == "rule" and {"w0x", "w1x"} & set(memory.content.split())}
    asked = Filter(scope=Scope(), kinds=("rule",))
    assert set(await matched(database, ["w0x", "w1x"], asked, limit=50)) == rules


async def test_nothing_of_another_user_is_found(database, little_is_much):
    said, questions = await stored(database, users=3)
    mine = {memory.id for memory in said if memory.scope.user == "u-1"}
    for terms in questions:
        found = await matched(database, terms, Filter(scope=Scope(user="u-1")))
        assert len(found) == 10
        assert set(found) <= mine


@pytest.mark.parametrize("history", [False, True], ids=["plainly", "by an expression"])
@pytest.mark.parametrize("users", [0, USERS], ids=["one scope", "many scopes"])
async def test_a_text_with_all_of_the_words_is_found_though_each_is_common(database, little_is_much, users, history):
    said, _ = await stored(database, users=users)
    for memory in random.Random(11).sample(said, 20):
        words = [word for word in memory.content.split() if word.endswith("x")]
        assert memory.id in await matched(database, words, Filter(scope=Scope(), history=history))
        assert memory.id in await matched(database, words, Filter(scope=memory.scope, history=history))


async def test_what_was_just_written_is_found_though_its_words_were_counted_before(database, little_is_much):
    await stored(database, users=USERS)
    texts = SqlTexts(database)
    terms = ["w0x", "w1x", "unheard"]
    before = await texts.match(terms, EVERYBODY, now=NOW, limit=10)
    said = a_memory("w0x unheard")
    await told(SqlRecords(database), said)
    after = await texts.match(terms, EVERYBODY, now=NOW, limit=10)
    assert said.id not in [match.id for match in before]
    assert after[0].id == said.id


@pytest.mark.parametrize("terms", [["deploy", "pipeline", "canary"], ["deploy", "unheard", "unseen"]])
@pytest.mark.parametrize("user", ["me", None], ids=["a few", "all"])
async def test_a_word_that_is_common_elsewhere_is_found_when_nothing_else_is(
    database, little_is_much, monkeypatch, terms, user
):
    for name in ("WALKED", "WEIGHED"):
        monkeypatch.setattr(texts_sqlite, name, 50, raising=False)
    theirs, mine = Scope(user="other"), Scope(user="me")
    others = [a_memory(f"deploy {'pipeline canary' * (at % 9 == 0)} n{at}", scope=theirs) for at in range(300)]
    await told(SqlRecords(database), *others, *(a_memory(f"how we deploy t{at}", scope=mine) for at in range(5)))
    assert len(await matched(database, terms, Filter(scope=Scope(user=user)))) == (5 if user else 10)


async def test_a_statement_that_names_its_memories_does_not_walk_their_scopes(database):
    touching = update(memories).where(memories.c.id.in_([b"x" * 16] * 200), each_in_place(EVERYBODY)).values(uses=1)
    options = {"literal_binds": False, "render_postcompile": True}
    statement = touching.compile(dialect=sqlite.dialect(paramstyle="named"), compile_kwargs=options)
    plan = await database.read(
        lambda connection: connection.execute(text(f"EXPLAIN QUERY PLAN {statement}"), statement.params).fetchall()
    )
    assert "SEARCH memories USING INDEX sqlite_autoindex_memories_1 (id=?)" in [row.detail for row in plan]
