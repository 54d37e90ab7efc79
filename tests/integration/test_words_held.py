"""Words that are held in memory: the same is found as by the index on disk, whatever happens to the store."""

import asyncio
import os
import random
import time
from dataclasses import replace
from threading import Event, Thread, Timer

import pytest
from sqlalchemy import text

from scrubjay.backends import aside
from scrubjay.backends.sql import book, forks, postings, readership, shelf, texts_sqlite
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.shelf import Shelf
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import AsOf, Filter, Scope
from scrubjay.testing import NOW
from scrubjay.testing.values import DAY, a_memory, keep_all, replace_by_key, told

WORDS = [f"word{number}" for number in range(60)]
WEIGHTS = [1 / (place + 2) for place in range(len(WORDS))]
EVERYBODY = Filter(scope=Scope())


@pytest.fixture
def database(sqlite):
    return sqlite


@pytest.fixture
def little_is_much(monkeypatch):
    """A few rows are read as many are: aside, in chunks, into several parts."""
    for module, values in {
        readership: {"PATIENCE": 0},
        shelf: {"AT_ONCE": 12, "CHUNK": 7, "WALKED": 60},
        postings: {"TAIL": 5, "JOINED": 120, "LARGEST": 150},
        book: {"SCATTERED": 6, "FEWEST_DEAD": 10},
    }.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


async def held(database, kept, terms, filter, *, limit=20, now=NOW):
    """What is found in memory, as soon as the store has been read."""

    def ask(connection):
        return kept.match(connection, terms, filter, now, limit)

    async with asyncio.timeout(20):
        while (found := await database.read(ask)) is None:  # noqa: ASYNC110 -- a thread reads it, and tells nobody
            await asyncio.sleep(0.001)
    return [(match.id, round(match.score, 9), match.alone) for match in found]


async def on_disk(database, terms, filter, *, limit=20, now=NOW):
    """What the index on disk finds."""
    counted = texts_sqlite.Counted()
    found = await database.read(lambda connection: texts_sqlite.match(connection, terms, filter, now, limit, counted))
    return [(match.id, round(match.score, 9), match.alone) for match in found]


def a_text(chance):
    return " ".join(chance.choices(WORDS, WEIGHTS, k=chance.randrange(1, 14)))


def a_filter(chance):
    """A place, and sometimes kinds, or a condition that only the records know."""
    place = Scope(user=chance.choice([None, "u-1", "u-2"]), session=chance.choice([None, None, "s-1"]))
    more = [{}, {}, {"kinds": ("rule",)}, {"history": True}, {"as_of": AsOf(known_at=NOW)}, {"key_prefix": "k-1"}]
    return Filter(scope=place, reach=chance.choice(["sees", "holds"]), **chance.choice(more))


async def something_happens(records, chance, said, now):
    """A memory or many are told, replaced, closed or deleted; some end, begin or expire later."""
    place = Scope(user=chance.choice([None, "u-1", "u-2"]), session=chance.choice([None, "s-1", "s-2"]))
    what = chance.randrange(10)
    if what < 5:
        more = {"key": f"k-{chance.randrange(30)}"} if what == 0 else {}
        if what == 1:
            more = chance.choice([{"expires_at": now + DAY}, {"valid_from": now + DAY}, {"valid_to": now + DAY}])
        many = chance.choice([1, 1, 2, 9, 30])
        kind = chance.choice(["note", "note", "rule"])
        drafts = [a_memory(f"{a_text(chance)} {chance.random()}", scope=place, kind=kind, created_at=now, **more)]
        drafts += [
            a_memory(f"{a_text(chance)} {chance.random()}", scope=place, created_at=now) for _ in range(many - 1)
        ]
        answers = await records.write(drafts, replace_by_key if what == 0 else keep_all)
        said += [answer.memory for answer in answers]
    elif what < 8 and said:
        some = chance.sample(said, min(len(said), chance.choice([1, 3])))
        for memory in some:
            await records.close(memory.scope, [memory.id], at=now, because="wrong")
    elif said:
        some = [said.pop(chance.randrange(len(said))) for _ in range(min(len(said), chance.choice([1, 15])))]
        for memory in some:
            await records.purge(memory.scope, [memory.id])


@pytest.mark.parametrize("seed", range(2))
async def test_the_same_is_found_whatever_happens(database, little_is_much, seed):
    chance, said, now = random.Random(seed), [], NOW
    other = Database(str(database.url))
    kept, records = Shelf(database), [SqlRecords(database), SqlRecords(other)]
    for step in range(45):
        await something_happens(chance.choice(records), chance, said, now)
        if step % 20 == 13:
            now += DAY
        if step == 30:
            await SqlTexts(other).rebuild()
        terms = chance.sample(WORDS[:40], 4)
        for asked in (EVERYBODY, a_filter(chance)):
            expected = await on_disk(database, terms, asked, now=now)
            assert await held(database, kept, terms, asked, now=now) == expected
    await other.shut()


@pytest.mark.parametrize("common", [0, 1, 8])
async def test_a_narrow_place_finds_the_same_however_common_a_word_is(database, little_is_much, monkeypatch, common):
    monkeypatch.setattr(book, "LOOKED_UP", common)
    chance, records, kept = random.Random(common), SqlRecords(database), Shelf(database)
    users = ["anna", *["bert", "cleo"] * 30]
    texts = [f"{a_text(chance)} number{place}" for place in range(500)]
    said = [a_memory(text, scope=Scope(user=users[place % len(users)])) for place, text in enumerate(texts)]
    await records.write(said, keep_all)
    of_anna = Filter(scope=Scope(user="anna"), reach="holds")
    for _ in range(15):
        terms = list(dict.fromkeys(chance.choices(WORDS, WEIGHTS, k=chance.randrange(1, 7))))
        assert await held(database, kept, terms, of_anna) == await on_disk(database, terms, of_anna), terms


@pytest.mark.parametrize("share", [2, 40, 499, 1_000])
async def test_what_few_of_the_best_meet_is_found_in_memory_as_well(database, little_is_much, monkeypatch, share):
    monkeypatch.setattr(shelf, "LOOKED_AT", 9)
    chance, records, kept = random.Random(share), SqlRecords(database), Shelf(database)
    said = [a_memory(f"{a_text(chance)} number{place}", data={"n": place % share}) for place in range(500)]
    await records.write(said, keep_all)
    of_few = replace(EVERYBODY, data={"n": 0})
    for many in (1, 3, 20):
        terms = list(dict.fromkeys(chance.choices(WORDS, WEIGHTS, k=5)))
        assert await held(database, kept, terms, of_few, limit=many) == await on_disk(
            database, terms, of_few, limit=many
        )


async def test_until_there_is_a_book_the_index_on_disk_answers(database):
    await told(SqlRecords(database), *(a_memory(f"Canary number {at}") for at in range(700)))
    texts = SqlTexts(database)
    for _ in range(200):
        assert len(await texts.match(["canary"], Filter(scope=a_memory().scope), now=NOW, limit=5)) == 5
        await asyncio.sleep(0.005)
        if texts._shelf is not None and texts._shelf._tenants["default"].book is not None:
            break
    assert len(texts._shelf._tenants["default"].book) == 700


async def test_words_are_read_again_when_the_index_on_disk_was_built_again(database, little_is_much):
    said = a_memory("Canary")
    await told(SqlRecords(database), said)
    # As an older version may have left it, which took words apart in another way.
    await database.write(lambda connection: connection.execute(text("UPDATE texts SET body = 'zebra'")))
    kept = Shelf(database)
    assert await held(database, kept, ["canary"], EVERYBODY) == []
    await SqlTexts(database).rebuild()
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [said.id]


async def test_a_search_that_began_earlier_leaves_the_book_as_it_is(database, little_is_much):
    first, second = a_memory("First canary"), a_memory("Second canary")
    await told(SqlRecords(database), first)
    kept = Shelf(database)
    await held(database, kept, ["canary"], EVERYBODY)
    with database.frozen() as earlier:
        await told(SqlRecords(database), second)
        await SqlRecords(database).close(first.scope, [first.id], at=NOW, because="wrong")
        assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [second.id]
        found = kept.match(earlier, ["canary"], EVERYBODY, NOW, 9)
        assert [match.id for match in found] == [second.id]
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [second.id]


async def test_a_book_is_read_again_when_the_store_went_back(database, little_is_much, monkeypatch):
    first, second = a_memory("First canary"), a_memory("Second canary")
    await told(SqlRecords(database), first, second)
    kept = Shelf(database)
    assert len(await held(database, kept, ["canary"], EVERYBODY)) == 2

    def go_back(connection):
        connection.execute(text("DELETE FROM texts WHERE rowid = 2"))
        connection.execute(text("DELETE FROM memories WHERE seq = 2"))
        connection.execute(text("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'memories'"))

    await database.write(go_back)
    assert len(await held(database, kept, ["canary"], EVERYBODY)) == 2
    monkeypatch.setattr(shelf, "AHEAD", 0.0)
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [first.id]


async def test_a_book_outlives_the_newest_memory(database, little_is_much, monkeypatch):
    first, second, third = (a_memory(f"Canary number {at}") for at in range(3))
    records, kept = SqlRecords(database), Shelf(database)
    await told(records, first, second)
    await held(database, kept, ["canary"], EVERYBODY)
    whole = kept._tenants["default"].book
    monkeypatch.setattr(shelf, "AHEAD", 0.0)
    await records.purge(second.scope, [second.id])
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [first.id]
    await told(records, third)
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [first.id, third.id]
    assert kept._tenants["default"].book is whole


async def test_a_book_outlives_whatever_happens_to_other_tenants(database, little_is_much):
    mine = a_memory("Canary of mine")
    theirs = [a_memory(f"Canary number {at}", scope=Scope(tenant="other")) for at in range(shelf.AT_ONCE + 1)]
    records, kept = SqlRecords(database), Shelf(database)
    await told(records, *theirs, mine)
    await held(database, kept, ["canary"], EVERYBODY)
    whole = kept._tenants["default"].book
    await records.close(Scope(tenant="other"), [memory.id for memory in theirs], at=NOW, because="wrong")
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [mine.id]
    assert kept._tenants["default"].book is whole


async def test_what_changes_while_a_book_is_read_does_not_make_it_worthless(database, little_is_much, monkeypatch):
    said = [a_memory(f"Canary number {at}") for at in range(40)]
    records, kept = SqlRecords(database), Shelf(database)
    await told(records, *said)
    gone, loop, entered = said[: shelf.AT_ONCE + 1], asyncio.get_running_loop(), book.Book.entered
    read = []

    def meanwhile(whole, rows):
        if not whole:
            read.append(whole)
            closing = records.close(Scope(), [memory.id for memory in gone], at=NOW, because="wrong")
            asyncio.run_coroutine_threadsafe(closing, loop).result()
        return entered(whole, rows)

    monkeypatch.setattr(book.Book, "entered", meanwhile)
    found = await held(database, kept, ["canary"], EVERYBODY, limit=40)
    assert {one for one, _, _ in found} == {memory.id for memory in said[len(gone) :]}
    assert read == [kept._tenants["default"].book]


async def test_where_no_thread_is_to_be_had_the_index_on_disk_answers(database, little_is_much, monkeypatch):
    class Refused(Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    said = a_memory("Canary")
    await told(SqlRecords(database), said)
    kept = Shelf(database)
    with monkeypatch.context() as patched:
        patched.setattr(aside, "Thread", Refused)
        assert await database.read(lambda connection: kept.look_up(connection, ["canary"], EVERYBODY)) is None
    assert [one for one, _, _ in await held(database, kept, ["canary"], EVERYBODY)] == [said.id]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_fork_waits_for_no_search_that_waits_for_a_reading(database, little_is_much, monkeypatch):
    monkeypatch.setattr(shelf, "PAUSE", 0.02)
    monkeypatch.setattr(forks, "PATIENCE", 0.5)
    records, kept = SqlRecords(database), Shelf(database)
    await told(records, a_memory("Canary"))
    await held(database, kept, ["canary"], EVERYBODY)
    await told(records, *(a_memory(f"Canary number {at}") for at in range(100)))
    searching, begun, seen = asyncio.Event(), Event(), kept._seen
    loop = asyncio.get_running_loop()

    def slowly(look):
        loop.call_soon_threadsafe(searching.set)
        begun.wait(10)
        return seen(look)

    monkeypatch.setattr(kept, "_seen", slowly)
    search = [asyncio.create_task(held(database, kept, ["canary"], EVERYBODY)) for _ in range(2)]
    await searching.wait()
    await asyncio.sleep(0.05)
    Timer(0.05, begun.set).start()
    child = os.fork()
    if not child:
        os._exit(0 if forks.FORKS._was_at_rest else 1)
    _, ended = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(ended) == 0
    await asyncio.gather(*search)


async def test_every_tenant_has_a_book_of_its_own(database, little_is_much):
    evil = a_memory("Canary of somebody else", scope=Scope(tenant="evil"))
    mine = a_memory("Canary of mine")
    await told(SqlRecords(database), evil, mine)
    kept = Shelf(database)
    for memory, other in ((mine, evil), (evil, mine)):
        found = await held(database, kept, ["canary"], Filter(scope=Scope(tenant=memory.scope.tenant)))
        assert [one for one, _, _ in found] == [memory.id]
        whole = kept._tenants[memory.scope.tenant].book
        assert len(whole) == 1
        assert other.id.bytes not in whole._ids.all.tobytes()


async def test_of_many_tenants_only_a_few_are_read_at_the_same_time(database, little_is_much, monkeypatch):
    monkeypatch.setattr(shelf, "PAUSE", 0.02)
    names = [f"t-{number}" for number in range(6)]
    for name in names:
        await told(SqlRecords(database), *(a_memory(f"Canary {at}", scope=Scope(tenant=name)) for at in range(9)))
    kept = Shelf(database)
    most = 0
    for name in names * 3:
        asked = Filter(scope=Scope(tenant=name))
        await database.read(lambda connection, asked=asked: kept.look_up(connection, ["canary"], asked))
        most = max(most, kept._aside.busy)
    assert most == shelf.READ_AT_ONCE
    for name in names:
        assert len(await held(database, kept, ["canary"], Filter(scope=Scope(tenant=name)))) == 9


async def test_a_tenant_that_is_too_large_is_left_to_the_disk(database, little_is_much, monkeypatch):
    monkeypatch.setattr(shelf, "LARGEST", 20)
    await told(SqlRecords(database), *(a_memory(f"Canary number {at}") for at in range(21)))
    kept = Shelf(database)
    for _ in range(50):
        assert await database.read(lambda connection: kept.look_up(connection, ["canary"], EVERYBODY)) is None
        await asyncio.sleep(0.002)
    assert kept._tenants["default"].is_too_large(time.monotonic())


async def test_a_tenant_that_was_too_large_has_a_book_once_it_has_become_small(database, little_is_much, monkeypatch):
    monkeypatch.setattr(shelf, "LARGEST", 20)
    monkeypatch.setattr(readership, "BELIEVED", 0.2)
    records = SqlRecords(database)
    many = [a_memory(f"Canary number {at}") for at in range(21)]
    await told(records, *many)
    kept = Shelf(database)

    def ask(connection):
        return kept.look_up(connection, ["canary"], EVERYBODY)

    while not kept._tenants or not kept._tenants["default"].is_too_large(time.monotonic()):
        assert await database.read(ask) is None
        await asyncio.sleep(0.002)
    await records.purge(Scope(), [one.id for one in many[10:]])
    assert len(await held(database, kept, ["canary"], EVERYBODY)) == 10


async def at_rest(kept):
    """Wait until nothing is being read."""
    async with asyncio.timeout(20):
        while kept._aside.busy:  # noqa: ASYNC110 -- a thread reads it, and tells nobody
            await asyncio.sleep(0.001)


@pytest.fixture
async def two_of_which_one_fits(database, little_is_much, monkeypatch):
    """A shelf with room for one of two books; returns it, who asks it, and whose books were read."""
    for tenant in ("one", "two"):
        await told(SqlRecords(database), *(a_memory(f"Canary {at}", scope=Scope(tenant=tenant)) for at in range(20)))
    kept, read = Shelf(database), []

    def noted(tenant, whole=kept._whole):
        read.append(tenant.name)
        return whole(tenant)

    monkeypatch.setattr(kept, "_whole", noted)

    async def ask(tenant, times=1):
        place = Filter(scope=Scope(tenant=tenant))
        for _ in range(times):
            await database.read(lambda connection: kept.look_up(connection, ["canary"], place))
            await at_rest(kept)

    await ask("one")
    monkeypatch.setattr(shelf, "MEMORY", kept._tenants["one"].size * 3 // 2)
    return kept, ask, read


async def test_two_books_that_do_not_fit_together_do_not_throw_each_other_out(two_of_which_one_fits, monkeypatch):
    kept, ask, read = two_of_which_one_fits
    monkeypatch.setattr(shelf, "REFUSED", 0.0)
    for _ in range(20):
        await ask("two")
        await ask("one")
    assert read == ["one", "two"]
    assert kept._tenants["one"].book is not None
    assert kept._tenants["two"].book is None


async def test_a_book_that_is_asked_for_far_more_often_takes_the_place_of_another(two_of_which_one_fits, monkeypatch):
    kept, ask, read = two_of_which_one_fits
    monkeypatch.setattr(shelf, "REFUSED", 0.0)
    await ask("one", 4)
    await ask("two", 8)
    assert kept._tenants["one"].book is not None
    await ask("two", 5)
    assert kept._tenants["one"].book is None
    assert kept._tenants["two"].book is not None
    assert read == ["one", "two", "two"]


async def test_a_book_that_nobody_asks_for_any_more_gives_way(two_of_which_one_fits):
    kept, ask, _ = two_of_which_one_fits
    await ask("one", 50)
    kept._tenants["one"]._asked_at -= 86_400
    await ask("two", 2)
    assert kept._tenants["one"].book is None
    assert kept._tenants["two"].book is not None


async def test_how_large_a_book_was_long_ago_does_not_keep_it_out_for_ever(two_of_which_one_fits, monkeypatch):
    kept, ask, read = two_of_which_one_fits
    monkeypatch.setattr(shelf, "REFUSED", 0.0)
    await ask("one", 20)
    await ask("two", 3)
    assert read == ["one", "two"]
    kept._tenants["two"].size *= 1_000  # Most of it was purged since.
    monkeypatch.setattr(shelf, "MEMORY", kept._tenants["one"].size * 3)
    await ask("two", 3)
    assert read == ["one", "two"]
    kept._tenants["two"]._weighed_at -= readership.BELIEVED
    await ask("two")
    assert read == ["one", "two", "two"]
    assert all(kept._tenants[tenant].book is not None for tenant in ("one", "two"))


async def test_no_book_gives_way_to_one_that_had_to_go_while_it_was_read(two_of_which_one_fits):
    kept, ask, _ = two_of_which_one_fits
    gone = kept._tenants["one"]
    kept._tenants["one"] = gone.without_book()
    await ask("two")
    for _ in range(50):
        gone.ask(time.monotonic())
    kept._make_room(gone)
    assert kept._tenants["two"].book is not None


async def test_one_that_found_no_place_is_not_tried_again_at_once(two_of_which_one_fits, monkeypatch):
    kept, ask, read = two_of_which_one_fits
    await ask("two")
    monkeypatch.setattr(shelf, "MEMORY", 1 << 30)
    await ask("two", 5)
    assert read == ["one", "two"]
    kept._tenants["two"].refused_until = 0.0
    await ask("two")
    assert read == ["one", "two", "two"]
    assert {name for name, tenant in kept._tenants.items() if tenant.book is not None} == {"one", "two"}


@pytest.mark.parametrize("term", ["Canary", "can ary", "naïve", "can'ary"])
async def test_what_is_not_one_word_is_left_to_the_disk(database, little_is_much, term):
    await told(SqlRecords(database), a_memory("A naïve canary"))
    kept = Shelf(database)
    await held(database, kept, ["canary"], EVERYBODY)
    assert await database.read(lambda connection: kept.look_up(connection, [term], EVERYBODY)) is None


async def test_closing_waits_for_what_is_being_read(tmp_path, little_is_much):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await migrate(database)
    await told(SqlRecords(database), *(a_memory(f"Canary number {at}") for at in range(300)))
    kept = Shelf(database)
    assert await database.read(lambda connection: kept.look_up(connection, ["canary"], EVERYBODY)) is None
    [thread] = kept._aside._threads
    await database.shut()
    assert not thread.is_alive()
