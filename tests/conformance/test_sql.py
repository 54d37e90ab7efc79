"""The SQL backend on SQLite and on a real PostgreSQL, against the contracts and against the reference."""

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.testing import GenerationsSuite, RecordsSuite, TextsSuite, congruence

SEEDS = range(4)


class SqlStore(SqlRecords, SqlTexts, SqlGenerations):
    """The three ports on one database, as the wiring puts them together."""

    def __init__(self, database):
        for port in (SqlRecords, SqlTexts, SqlGenerations):
            port.__init__(self, database)


async def opened(url):
    database = Database(url)
    await migrate(database)
    return SqlStore(database)


class OnSqlite:
    @pytest.fixture
    async def store(self, tmp_path):
        store = await opened(f"sqlite:///{tmp_path}/scrubjay.db")
        yield store
        await store.shut()


class OnPostgres:
    @pytest.fixture
    async def store(self, postgres_database):
        store = await opened(postgres_database())
        yield store
        await store.shut()


class TestSqliteRecords(OnSqlite, RecordsSuite):
    pass


class TestSqliteGenerations(OnSqlite, GenerationsSuite):
    pass


class TestSqliteTexts(OnSqlite, TextsSuite):
    pass


class TestSqliteCongruence(OnSqlite):
    @pytest.mark.parametrize("seed", SEEDS)
    async def test_sqlite_answers_like_the_reference(self, store, seed):
        await congruence(MemoryStore(), store, seed)


class TestPostgresRecords(OnPostgres, RecordsSuite):
    pass


class TestPostgresGenerations(OnPostgres, GenerationsSuite):
    pass


class TestPostgresTexts(OnPostgres, TextsSuite):
    pass


class TestPostgresCongruence(OnPostgres):
    @pytest.mark.parametrize("seed", SEEDS)
    async def test_postgresql_answers_like_the_reference(self, store, seed):
        await congruence(MemoryStore(), store, seed)
