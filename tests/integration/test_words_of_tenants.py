"""Search by words where tenants share a file: what one of them stores moves no score of another."""

import random

import pytest

from scrubjay.backends.sql import ownwords, texts_sqlite, weighing
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Filter, Scope
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, told

WORDS = [f"w{number}x" for number in range(120)]
OURS, THEIRS = "ours", "theirs"


@pytest.fixture
def database(sqlite):
    return sqlite


def memories(tenant, many, seed):
    """Memories of eight words each, of which some are as rare and some as common as words are."""
    chance = random.Random(seed)
    weights = [1 / (place + 3) for place in range(len(WORDS))]
    return [
        a_memory(
            f"{' '.join(chance.choices(WORDS, weights, k=8))} n{place} {tenant}",
            scope=Scope(tenant=tenant, user=f"u-{place % 3}", session=f"s-{place % 7}" if place % 5 else None),
        )
        for place in range(many)
    ]


def questions():
    chance = random.Random(3)
    return [list(dict.fromkeys(chance.choices(WORDS, k=5))) for _ in range(15)]


async def scores(database, terms, *, limit=400, **names):
    found = await SqlTexts(database).match(
        terms, Filter(scope=Scope(tenant=OURS, **names)), now=NOW, limit=limit, guess=False
    )
    return [(match.id, pytest.approx(match.score, abs=1e-6)) for match in found]


@pytest.mark.parametrize("names", [{}, {"user": "u-1"}], ids=["tenant", "user"])
async def test_scores_are_those_of_a_file_of_its_own(database, names):
    await told(SqlRecords(database), *memories(OURS, 300, seed=1))
    alone = [await scores(database, terms, **names) for terms in questions()]
    assert any(alone)

    await told(SqlRecords(database), *memories(THEIRS, 500, seed=2))
    assert [await scores(database, terms, **names) for terms in questions()] == alone


async def test_scores_of_a_large_store_come_from_its_own_rows_too(database, monkeypatch):
    await told(SqlRecords(database), *memories(OURS, 300, seed=1))
    alone = [dict(await scores(database, terms)) for terms in questions()]

    await told(SqlRecords(database), *memories(THEIRS, 900, seed=2))
    for name, value in {"RANKED": 60, "WALKED": 200, "WEIGHED": 600, "READ": 30}.items():
        monkeypatch.setattr(texts_sqlite, name, value)
    for module in (texts_sqlite, weighing):
        monkeypatch.setattr(module, "LOOKED_AT", 150)
    for terms, known in zip(questions(), alone, strict=True):
        found = await scores(database, terms, limit=10)
        assert len(found) == 10
        assert dict(found) == {one: known[one] for one, _ in found}


async def test_of_long_texts_the_heaviest_are_read_and_score_the_same(database, monkeypatch):
    await told(SqlRecords(database), *memories(OURS, 300, seed=1), *memories(THEIRS, 50, seed=2))
    known = [dict(await scores(database, terms)) for terms in questions()]
    exact = [await scores(database, terms, limit=10) for terms in questions()]
    read = []
    monkeypatch.setattr(ownwords.Ranking, "score", counting(ownwords.Ranking.score, read))
    for name, value in {"WORDS": 500, "READ": 30}.items():
        monkeypatch.setattr(texts_sqlite, name, value)
    for terms, everything, best in zip(questions(), known, exact, strict=True):
        read.clear()
        found = await scores(database, terms, limit=10)
        assert dict(found) == {one: everything[one] for one, _ in found}
        assert len({*dict(found)} & {*dict(best)}) >= 8
        assert len(read) <= 30 < len(everything)


def counting(score, read):
    def counted(ranking, body, marks=""):
        read.append(body)
        return score(ranking, body, marks)

    return counted


async def test_of_a_large_tenant_a_part_of_its_rows_says_how_rare_words_are(database, monkeypatch):
    await told(SqlRecords(database), *memories(OURS, 300, seed=1), *memories(THEIRS, 50, seed=2))
    exact = [[match for match, _ in await scores(database, terms, limit=5)] for terms in questions()]
    monkeypatch.setattr(ownwords, "SAMPLED", 100)
    sampled = [[match for match, _ in await scores(database, terms, limit=5)] for terms in questions()]
    assert sum(len({*one} & {*other}) for one, other in zip(exact, sampled, strict=True)) >= 0.8 * 5 * len(exact)


async def test_of_long_texts_so_many_letters_say_how_rare_words_are(database, monkeypatch):
    await told(SqlRecords(database), *memories(OURS, 300, seed=1), *memories(THEIRS, 50, seed=2))
    exact = [await scores(database, terms, limit=5) for terms in questions()]
    monkeypatch.setattr(ownwords, "LETTERS", 4_000)
    cut = [await scores(database, terms, limit=5) for terms in questions()]
    assert cut != exact
    found = sum(len({*dict(one)} & {*dict(other)}) for one, other in zip(exact, cut, strict=True))
    assert found >= 0.8 * 5 * len(exact)


@pytest.mark.parametrize("letters", [ownwords.LETTERS, 1])
async def test_a_tenant_that_grows_is_counted_again(database, letters, monkeypatch):
    monkeypatch.setattr(ownwords, "LETTERS", letters)
    await told(SqlRecords(database), *memories(THEIRS, 50, seed=2))
    texts = SqlTexts(database)
    here = Filter(scope=Scope(tenant=OURS))
    assert await texts.match(["zebra"], here, now=NOW, limit=9) == []
    said = [
        a_memory(f"{word} number{place}", scope=Scope(tenant=OURS)) for place in range(9) for word in ("dog", "cat")
    ]
    await told(SqlRecords(database), *said, zebra := a_memory("a zebra and a dog", scope=Scope(tenant=OURS)))
    assert (await texts.match(["dog", "zebra"], here, now=NOW, limit=9))[0].id == zebra.id
