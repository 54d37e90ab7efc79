"""What is PostgreSQL's own: races, time limits, a server that goes away and comes back, languages, many at once."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event, select, text, update

from patience import answered
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.engines import REST_SECONDS
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.places import PLACES_NAMED, interned
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.schema import HEAD, memories
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.sql.texts_postgresql import RANKED
from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.model import Filter, Scope
from scrubjay.model.words import terms_of
from scrubjay.testing.values import NOW, a_memory, a_scope, told

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from services import Postgres


class Restartable(Postgres):
    """A server that can be stopped and started again on the same port, with its data."""

    def pause(self):
        process, self._process = self._process, None
        process.send_signal(self.goodbye)
        process.wait(60)

    def resume(self):
        self.start_again()


@pytest.fixture
def own_server():
    server = Restartable()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def database(postgres):
    return postgres


async def matched(database, question, scope=None):
    found = await SqlTexts(database).match(terms_of(question), Filter(scope=scope or a_scope()), now=NOW, limit=50)
    return [memory.content for memory in await SqlRecords(database).get(a_scope(), [match.id for match in found])]


async def test_writers_who_block_each_other_start_over(database):
    """Two transactions take two rows in opposite order: PostgreSQL ends one of them, which then runs again."""
    first, second = await told(SqlRecords(database), a_memory("One"), a_memory("Two"))
    holding = [asyncio.Event(), asyncio.Event()]
    loop = asyncio.get_running_loop()
    runs = [0, 0]

    def taking(who, ids):
        def work(connection):
            runs[who] += 1
            for place, one in enumerate(ids):
                connection.execute(update(memories).where(memories.c.id == one).values(uses=memories.c.uses + 1))
                if place == 0 and runs[who] == 1:
                    loop.call_soon_threadsafe(holding[who].set)
                    asyncio.run_coroutine_threadsafe(holding[1 - who].wait(), loop).result(60)

        return work

    await asyncio.gather(
        database.write(taking(0, [first.id, second.id])), database.write(taking(1, [second.id, first.id]))
    )
    uses = await database.read(lambda connection: connection.execute(select(memories.c.uses)).scalars().all())
    assert uses == [2, 2]
    assert sum(runs) >= 3  # On a busy machine the two may meet more than once.


async def test_serialization_failures_start_over(database):
    await told(SqlRecords(database), a_memory("One"))
    runs = []

    def work(connection):
        runs.append(1)
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"))
        connection.execute(text("SELECT count(*) FROM memories"))
        if len(runs) == 1:
            with psycopg.connect(database.url.set(drivername="postgresql").render_as_string()) as other:
                other.execute("UPDATE memories SET uses = uses + 1")
        connection.execute(text("UPDATE memories SET uses = uses + 1"))

    await database.write(work)
    assert len(runs) == 2
    assert await database.read(lambda connection: connection.execute(select(memories.c.uses)).scalar_one()) == 2


async def test_a_reader_sees_one_moment(database):
    await told(SqlRecords(database), a_memory("One"))

    def work(connection):
        counting = text("SELECT count(*) FROM memories")
        before = connection.execute(counting).scalar_one()
        with psycopg.connect(database.url.set(drivername="postgresql").render_as_string()) as other:
            other.execute("DELETE FROM memories")
        return before, connection.execute(counting).scalar_one()

    assert await database.read(work) == (1, 1)


async def test_a_statement_that_takes_too_long_is_ended(postgres_database):
    database = Database(postgres_database(), statement_seconds=0.2)
    with pytest.raises(StoreUnavailable, match="due to statement timeout"):
        await database.read(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))
    await database.rework(lambda connection: connection.execute(text("SELECT pg_sleep(0.6)")))
    await database.shut()


async def test_a_session_says_who_it_is_and_has_limits(database):
    def shown(connection):
        names = ("application_name", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        return [connection.execute(text(f"SHOW {name}")).scalar_one() for name in names]

    assert await database.read(shown) == ["scrubjay", "30s", "10s", "1min"]


async def test_what_the_url_says_counts(postgres_database):
    database = Database(f"{postgres_database()}?options=-c%20statement_timeout%3D7s")
    shown = await database.read(lambda connection: connection.execute(text("SHOW statement_timeout")).scalar_one())
    await database.shut()
    assert shown == "7s"


async def test_a_server_that_is_not_there_is_reported_soon():
    database = Database("postgresql://postgres:hidden@127.0.0.1:9/postgres")
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="Check that the server runs and that SCRUBJAY_RECORDS") as caught:
        await migrate(database)
    assert time.monotonic() - started < 30
    assert "hidden" not in str(caught.value)
    await database.shut()


async def test_a_restarted_server_is_used_again_without_opening_anew(own_server):
    database = Database(own_server.url)
    await migrate(database)
    records = SqlRecords(database)
    [stored] = await told(records, a_memory("Kept through it all"))
    own_server.pause()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="Check that the server runs"):
            await records.get(a_scope(), [stored.id])
    with pytest.raises(StoreUnavailable):
        await told(records, a_memory("Never stored"))
    own_server.resume()
    # It is left alone for a moment.
    assert await answered(lambda: records.get(a_scope(), [stored.id])) == [stored]
    assert await matched(database, "never stored") == []
    await told(records, a_memory("Stored after"))
    await database.shut()


async def test_a_frozen_server_does_not_hold_the_caller(own_server):
    whole = Database(own_server.url)
    await migrate(whole)
    [stored] = await told(SqlRecords(whole), a_memory("Still here"))
    await whole.shut()
    database = Database(own_server.url, statement_seconds=0.5)
    records = SqlRecords(database)
    assert await answered(lambda: records.get(a_scope(), [stored.id])) == [stored]
    pids = _family(own_server._process.pid)
    _signal(pids, "STOP")
    try:
        with pytest.raises(StoreUnavailable, match="has not answered for 1 seconds"):
            await records.get(a_scope(), [stored.id])
    finally:
        _signal(pids, "CONT")
    assert await answered(lambda: records.get(a_scope(), [stored.id])) == [stored]
    await database.shut()


async def test_a_busy_server_is_waited_for(postgres_database):
    database = Database(f"{postgres_database()}?connect_timeout=1")
    slept = await database.read(lambda connection: connection.execute(text("SELECT 1 FROM pg_sleep(2.5)")).scalar_one())
    await database.shut()
    assert slept == 1


async def test_what_was_given_up_is_not_committed_later(own_server):
    database = Database(f"{own_server.url}?connect_timeout=2")
    await migrate(database)
    inserted, thawed = threading.Event(), threading.Event()

    def work(connection):
        connection.execute(text("INSERT INTO counters (name, value) VALUES ('late', 1)"))
        inserted.set()
        thawed.wait(60)

    writing = asyncio.create_task(database.write(work))
    await asyncio.to_thread(inserted.wait)
    pids = _family(own_server._process.pid)
    _signal(pids, "STOP")
    try:
        with pytest.raises(StoreUnavailable, match="may or may not be stored"):
            await writing
    finally:
        _signal(pids, "CONT")
    thawed.set()
    await asyncio.sleep(1)
    counting = text("SELECT count(*) FROM counters WHERE name = 'late'")
    assert await answered(lambda: database.read(lambda connection: connection.execute(counting).scalar_one())) == 0
    await database.shut()


async def test_a_wrong_time_to_connect_is_named():
    with pytest.raises(Misconfigured, match="connect_timeout of records is 'soon': use whole seconds"):
        Database("postgresql://postgres@127.0.0.1/postgres?connect_timeout=soon")


def _family(pid):
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [str(pid), *children]


def _signal(pids, name):
    subprocess.run(["kill", f"-{name}", *pids], check=False)


async def test_four_processes_migrate_at_once(blank_postgres_database):
    url = blank_postgres_database()
    opening = (
        "import asyncio, sys\n"
        "from scrubjay.backends.sql.database import Database\n"
        "from scrubjay.backends.sql.migrate import migrate\n"
        "async def main():\n"
        "    database = Database(sys.argv[1])\n"
        "    await migrate(database)\n"
        "    await database.shut()\n"
        "asyncio.run(main())\n"
    )
    many = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", opening, url, stderr=asyncio.subprocess.PIPE)
        for _ in range(4)
    ]
    for process in many:
        _, said = await process.communicate()
        assert process.returncode == 0, said.decode()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]


async def test_another_language_is_stemmed_its_own_way(blank_postgres_database):
    url = blank_postgres_database()
    database = Database(url)
    await migrate(database)
    await told(SqlRecords(database), a_memory("Die Häuser am See"))
    assert await matched(database, "Haus") == []
    await migrate(database, language="german")
    assert await matched(database, "Haus") == ["Die Häuser am See"]
    with pytest.raises(Misconfigured, match=r"language is 'klingon': this PostgreSQL has .*english"):
        await migrate(database, language="klingon")
    await database.shut()


async def test_a_wide_search_ranks_by_all_words_what_has_rare_ones_or_two_of_the_others(database):
    records = SqlRecords(database)
    many = [
        a_memory(f"Common {'words' if place % 2 else 'tales'} number {place}", scope=Scope(user=f"u{place % 300}"))
        for place in range(RANKED)
    ]
    few = [a_memory("Zebra and common words"), a_memory("A zebra in the garden"), a_memory("Words, then tales")]
    await records.load([*few, *many, a_memory("Common words at last")])
    await database.rework(lambda connection: connection.exec_driver_sql("ANALYZE"))
    assert len({memory.scope for memory in many}) > PLACES_NAMED
    everybody = Scope()

    async def best(question):
        asked = Filter(scope=everybody, reach="holds")
        found = await SqlTexts(database).match(terms_of(question), asked, now=NOW, limit=3)
        return [memory.content for memory in await records.get(everybody, [match.id for match in found])]

    zebras = await best("common zebra words")
    assert zebras[:2] == ["Zebra and common words", "A zebra in the garden"]
    assert len(zebras) == 3
    assert (await best("words or tales"))[0] == "Words, then tales"
    assert len(await best("common words")) == 3
    assert len(await best("common unheard words")) == 3


async def test_a_note_does_not_wait_for_the_disk(postgres_database):
    database = Database(f"{postgres_database()}?options=-c%20synchronous_commit%3Don")

    def shown(connection):
        return connection.execute(text("SHOW synchronous_commit")).scalar_one()

    assert await database.note(shown) == "off"
    assert await database.write(shown) == "on"
    await database.shut()


async def test_a_mark_that_is_cleared_is_cleared_for_good_before_vectors_go(database):
    records = SqlRecords(database)
    [stored] = await told(records, a_memory())
    unsynced = []

    @event.listens_for(database._engine, "before_cursor_execute")
    def heard(connection, cursor, statement, *more):
        unsynced.append("synchronous_commit = off" in statement)

    async def waits_for_the_disk(work):
        unsynced.clear()
        await work
        return not any(unsynced)

    assert not await waits_for_the_disk(records.mark([stored.id], 1))
    assert await waits_for_the_disk(records.mark([stored.id], None))
    assert await waits_for_the_disk(records.unmark(1))


async def test_a_glance_is_no_transaction(database):
    def moments(connection):
        return [connection.execute(text("SELECT now()")).scalar_one() for _ in range(2)]

    first, second = await database.glance(moments)
    assert first < second
    first, second = await database.read(moments)
    assert first == second


@pytest.mark.parametrize("rested", [0.0, 2 * REST_SECONDS])
async def test_connections_that_were_ended_are_replaced(database, rested):
    """Whoever used one just now starts over, and whoever has not for a while asks first."""
    await asyncio.gather(*(database.ping() for _ in range(8)))
    with psycopg.connect(database.url.set(drivername="postgresql").render_as_string(), autocommit=True) as other:
        # In this database alone: the other workers of a parallel run have theirs on the same server.
        ours = "application_name = 'scrubjay' AND datname = current_database()"
        other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
    await asyncio.sleep(rested)
    await told(SqlRecords(database), a_memory("One"))
    assert await database.read(lambda connection: connection.execute(select(memories.c.content)).scalars().all()) == [
        "One"
    ]


async def test_a_scope_that_was_never_committed_is_not_remembered(database):
    scope = a_scope(user="undone")

    def undone(connection):
        numbers = [interned(connection, [scope])[scope] for _ in range(2)]
        assert numbers[0] == numbers[1]
        raise ValueError("undone")

    for _ in range(9):  # On every connection that there is.
        with pytest.raises(ValueError, match="undone"):
            await database.write(undone)
    stored = await told(SqlRecords(database), *(a_memory(f"Note {number}", scope=scope) for number in range(2)))
    assert await SqlRecords(database).get(scope, [one.id for one in stored]) == stored
