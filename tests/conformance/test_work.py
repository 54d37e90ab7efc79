"""Leases, the log of work and upkeep against their contracts: the reference, SQLite and PostgreSQL."""

import asyncio
from datetime import timedelta

import pytest

from scrubjay.backends.memory.leases import MemoryLeases, MemoryWorklog
from scrubjay.backends.memory.store import MemoryStore
from scrubjay.backends.memory.upkeep import MemoryUpkeep
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.leases import SqlLeases
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.sql.upkeep import SqlUpkeep
from scrubjay.backends.sql.worklog import SqlWorklog
from scrubjay.jobs.leasing import TTL
from scrubjay.ports.leases import LONGEST
from scrubjay.testing import LeasesSuite, Ticking, UpkeepSuite, WorklogSuite


@pytest.fixture(scope="module")
def own_postgres(fresh_postgres):
    with fresh_postgres() as url:
        yield url


@pytest.fixture
async def sqlite(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await migrate(database)
    yield database
    await database.shut()


@pytest.fixture
async def postgres(own_postgres):
    database = Database(own_postgres)
    await migrate(database)
    # Making a database takes longer than most of these tests.
    emptied = "TRUNCATE scopes, memories, work_leases, work_runs, work_marks, work_troubles CASCADE"
    await database.write(lambda connection: connection.exec_driver_sql(emptied))
    yield database
    await database.shut()


class OnAClockSetBack:
    """Leases by a clock that is set back while somebody has one. Give it a fixture `timed`, which goes by `clock`."""

    @pytest.fixture
    def clock(self):
        return Ticking()

    async def test_who_died_before_the_clock_was_set_back_does_not_have_it_for_longer(self, timed, clock):
        assert await timed.take("drain", "dead", ttl=TTL) is not None
        clock.advance(-timedelta(hours=1))
        assert await timed.held() == []
        assert (await timed.take("drain", "alive", ttl=TTL)).worker == "alive"
        assert [one.worker for one in await timed.held()] == ["alive"]

    async def test_one_who_lives_keeps_it_when_the_clock_is_set_back_a_little(self, timed, clock):
        lease = await timed.take("drain", "alive", ttl=TTL)
        clock.advance(-timedelta(seconds=5))
        assert await timed.take("drain", "other", ttl=TTL) is None
        assert await timed.renew(lease, ttl=TTL) is not None

    async def test_one_who_lives_has_it_again_by_renewing_it(self, timed, clock):
        lease = await timed.take("drain", "alive", ttl=TTL)
        clock.advance(-timedelta(hours=1))
        assert await timed.renew(lease, ttl=TTL) is not None
        assert await timed.take("drain", "other", ttl=TTL) is None


class TestMemoryLeases(LeasesSuite, OnAClockSetBack):
    @pytest.fixture
    def leases(self):
        return MemoryLeases()

    @pytest.fixture
    def timed(self, clock):
        return MemoryLeases(clock)


class InSql(LeasesSuite, OnAClockSetBack):
    @pytest.fixture
    def timed(self, leases, clock, monkeypatch):
        monkeypatch.setattr("scrubjay.backends.sql.leases._now", lambda _: clock())
        return leases


class TestSqliteLeases(InSql):
    @pytest.fixture
    def leases(self, sqlite):
        return SqlLeases(sqlite)


class TestPostgresLeases(InSql):
    @pytest.fixture
    def leases(self, postgres):
        return SqlLeases(postgres)

    async def test_a_lease_given_while_another_asks_for_the_time_is_not_from_before_the_clock_was_set_back(
        self, leases, clock, monkeypatch
    ):
        loop, asked = asyncio.get_running_loop(), []

        def now(_):
            told = clock()
            if not asked:
                asked.append(told)
                clock.advance(timedelta(seconds=1))
                first = leases.take("drain", "first", ttl=LONGEST)
                assert asyncio.run_coroutine_threadsafe(first, loop).result(30) is not None
            return told

        monkeypatch.setattr("scrubjay.backends.sql.leases._now", now)
        assert await leases.take("drain", "second", ttl=LONGEST) is None
        assert [one.worker for one in await leases.held()] == ["first"]


class TestMemoryWorklog(WorklogSuite):
    @pytest.fixture
    def log(self):
        return MemoryWorklog()


class TestSqliteWorklog(WorklogSuite):
    @pytest.fixture
    def log(self, sqlite):
        return SqlWorklog(sqlite)


class TestPostgresWorklog(WorklogSuite):
    @pytest.fixture
    def log(self, postgres):
        return SqlWorklog(postgres)


class TestMemoryUpkeep(UpkeepSuite):
    @pytest.fixture
    def store(self):
        return MemoryStore()

    @pytest.fixture
    def upkeep(self, store):
        return MemoryUpkeep(store)


class TestSqliteUpkeep(UpkeepSuite):
    @pytest.fixture
    def store(self, sqlite):
        return SqlRecords(sqlite)

    @pytest.fixture
    def upkeep(self, sqlite):
        return SqlUpkeep(sqlite)

    @pytest.fixture
    def texts(self, sqlite):
        return SqlTexts(sqlite)


class TestPostgresUpkeep(UpkeepSuite):
    @pytest.fixture
    def store(self, postgres):
        return SqlRecords(postgres)

    @pytest.fixture
    def upkeep(self, postgres):
        return SqlUpkeep(postgres)

    @pytest.fixture
    def texts(self, postgres):
        return SqlTexts(postgres)
