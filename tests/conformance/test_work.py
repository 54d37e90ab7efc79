"""Leases, the log of work and upkeep against their contracts: the reference, SQLite and PostgreSQL."""

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
from scrubjay.testing import LeasesSuite, UpkeepSuite, WorklogSuite


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


class TestMemoryLeases(LeasesSuite):
    @pytest.fixture
    def leases(self):
        return MemoryLeases()


class TestSqliteLeases(LeasesSuite):
    @pytest.fixture
    def leases(self, sqlite):
        return SqlLeases(sqlite)


class TestPostgresLeases(LeasesSuite):
    @pytest.fixture
    def leases(self, postgres):
        return SqlLeases(postgres)


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
