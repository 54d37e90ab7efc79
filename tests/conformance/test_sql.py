"""The SQL backend on SQLite and on a real PostgreSQL, against the contracts and against the reference."""

import pytest
from data_in_memory import ColumnRecords
from words_in_memory import HeldStore

from lengths import sized
from scrubjay.backends.memory import MemoryStore
from scrubjay.backends.sql import columns
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import Scope
from scrubjay.testing import GenerationsSuite, KeepingSuite, RecordsSuite, TextsSuite, congruence
from scrubjay.testing.records.filtering import FilteringSuite
from scrubjay.testing.texts import found
from scrubjay.testing.values import a_memory, told

SEEDS = range(sized(short=2, long=4))


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
    async def store(self, emptied_postgres):
        store = await opened(emptied_postgres())
        yield store
        await store.shut()


class Typos:
    """Both dialects take a word that nobody wrote for the nearest one that somebody did."""

    @pytest.mark.parametrize(
        ("said", "asked"),
        [
            ("Deploys go through Kubernetes", "kuberentes"),
            ("Indexes live in Postgres", "postgers"),
            ("Call getUserName first", "getUsrName"),
            ("Ask the owner of snake_case", "snake_csae owmer"),
        ],
    )
    async def test_a_misspelt_word_finds_what_was_meant(self, store, said, asked):
        await told(store, a_memory(said), a_memory("Unrelated"))
        assert await found(store, asked) == [said]

    @pytest.mark.parametrize("asked", ["cart", "zebra", "elephant"])
    async def test_a_word_that_is_like_no_other_finds_nothing(self, store, asked):
        await told(store, a_memory("The cars are in the garage"))
        assert await found(store, asked) == []

    async def test_nobody_elses_words_are_guessed(self, store):
        await told(store, a_memory("Kubernetes", scope=Scope(tenant="evil")), a_memory("Unrelated"))
        assert await found(store, "kuberentes") == []

    async def test_a_search_that_finds_enough_guesses_nothing(self, store):
        await told(store, *(a_memory(f"Zebra {place}") for place in range(3)), a_memory("Kubernetes"))
        assert "Kubernetes" not in await found(store, "zebra kuberentes")


class TestSqliteTypos(OnSqlite, Typos):
    pass


class TestPostgresTypos(OnPostgres, Typos):
    pass


class TestSqliteRecords(OnSqlite, RecordsSuite):
    pass


class TestSqliteDataInMemory(FilteringSuite):
    @pytest.fixture
    async def store(self, tmp_path, monkeypatch):
        for name, value in {"SMALL": -1, "PATIENCE": 0, "PAUSE": 0.0}.items():
            monkeypatch.setattr(columns, name, value)
        database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
        await migrate(database)
        yield ColumnRecords(database)
        await database.shut()


class TestSqliteGenerations(OnSqlite, GenerationsSuite, KeepingSuite):
    pass


class TestSqliteTexts(OnSqlite, TextsSuite):
    pass


class TestSqliteCongruence(OnSqlite):
    @pytest.mark.parametrize("seed", SEEDS)
    async def test_sqlite_answers_like_the_reference(self, store, seed):
        await congruence(MemoryStore(), store, seed)


class TestPostgresRecords(OnPostgres, RecordsSuite):
    pass


class TestPostgresGenerations(OnPostgres, GenerationsSuite, KeepingSuite):
    pass


class TestSqliteTextsInMemory(TextsSuite):
    @pytest.fixture
    async def store(self, tmp_path):
        database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
        await migrate(database)
        yield HeldStore(database)
        await database.shut()


class TestPostgresTexts(OnPostgres, TextsSuite):
    pass


class TestPostgresCongruence(OnPostgres):
    @pytest.mark.parametrize("seed", SEEDS)
    async def test_postgresql_answers_like_the_reference(self, store, seed):
        await congruence(MemoryStore(), store, seed)
