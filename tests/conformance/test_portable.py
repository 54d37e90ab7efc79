"""Stores that can be carried, on dicts, on SQLite and on a real PostgreSQL."""

import pytest

from scrubjay.backends.memory import MemoryVectors, PortableMemoryStore
from scrubjay.backends.sql.carry import SqlPortable
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.ports import Portable, PortableVectors
from scrubjay.testing import PortableSuite, PortableVectorsSuite


class SqlStore(SqlRecords, SqlGenerations, SqlPortable):
    """The ports on one database, as the wiring puts them together."""

    def __init__(self, database):
        for port in (SqlRecords, SqlGenerations, SqlPortable):
            port.__init__(self, database)


async def opened(url, made):
    database = Database(url)
    await migrate(database)
    yield made(database)
    await database.shut()


class InMemory:
    @pytest.fixture
    async def store(self):
        return PortableMemoryStore()

    @pytest.fixture
    async def other(self):
        return PortableMemoryStore()


class OnSqlite:
    made = SqlStore

    @pytest.fixture
    async def store(self, tmp_path):
        async for one in opened(f"sqlite:///{tmp_path}/one.db", self.made):
            yield one

    @pytest.fixture
    async def other(self, tmp_path):
        async for one in opened(f"sqlite:///{tmp_path}/other.db", self.made):
            yield one


class OnPostgres:
    made = SqlStore

    @pytest.fixture
    async def store(self, postgres_database):
        async for one in opened(postgres_database(), self.made):
            yield one

    @pytest.fixture
    async def other(self, postgres_database):
        async for one in opened(postgres_database(), self.made):
            yield one


class TestMemory(InMemory, PortableSuite):
    pass


class TestSqlite(OnSqlite, PortableSuite):
    pass


class TestPostgres(OnPostgres, PortableSuite):
    pass


class TestMemoryVectors(PortableVectorsSuite):
    @pytest.fixture
    async def vectors(self):
        return MemoryVectors()

    @pytest.fixture
    async def other(self):
        return MemoryVectors()


class TestSqliteVectors(OnSqlite, PortableVectorsSuite):
    made = EmbeddedVectors

    @pytest.fixture
    async def vectors(self, store):
        return store


class TestPostgresVectors(OnPostgres, PortableVectorsSuite):
    made = EmbeddedVectors

    @pytest.fixture
    async def vectors(self, store):
        return store


def test_a_backend_can_be_asked_whether_it_can_be_carried(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    assert isinstance(SqlPortable(database), Portable)
    assert isinstance(EmbeddedVectors(database), PortableVectors)
    assert not isinstance(SqlRecords(database), Portable)
