"""Every contract that holds for a store in plain holds for the same store behind encryption."""

import pytest

from scrubjay.backends.encryption.answers import EncryptedAnswers
from scrubjay.backends.encryption.blobs import EncryptedBlobs
from scrubjay.backends.encryption.masters import Master
from scrubjay.backends.encryption.records import EncryptedRecords
from scrubjay.backends.encryption.texts import EncryptedTexts
from scrubjay.backends.encryption.vault import KeyVault, Rules
from scrubjay.backends.encryption.working import EncryptedWorking
from scrubjay.backends.memory import MemoryStore
from scrubjay.backends.memory.data_keys import MemoryDataKeys
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.sql.answers import SqlAnswers
from scrubjay.backends.sql.blobs import SqlBlobs
from scrubjay.backends.sql.data_keys import SqlDataKeys
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model.access import Answer
from scrubjay.ports.access import Claim
from scrubjay.ports.encryption import WrappedKey
from scrubjay.testing import RecordsSuite, TextsSuite, WorkingSuite, congruence
from scrubjay.testing.blobs import BlobsSuite
from scrubjay.testing.records.fidelity import FidelitySuite
from scrubjay.testing.records.keeping import KeepingSuite
from scrubjay.testing.records.loading import LoadingSuite
from scrubjay.testing.records.writing import WritingSuite
from scrubjay.testing.values import HOUR, NOW
from scrubjay.testing.working import LIMITS

MASTER = Master(bytes(range(32)))


class Encrypted(EncryptedRecords):
    """Records and texts behind encryption, on one store."""

    def __init__(self, store, vault):
        super().__init__(store, vault)
        texts = EncryptedTexts(store, self, vault)
        self.match, self.rebuild = texts.match, texts.rebuild


class SqlStore(SqlRecords, SqlTexts):
    """Records and texts on one database."""

    def __init__(self, database):
        SqlRecords.__init__(self, database)
        SqlTexts.__init__(self, database)


def vault_of(keys, **rules):
    return KeyVault(keys, [MASTER], rules=Rules(**{"encrypt": "all", **rules}), clock=lambda: NOW)


class InMemory:
    @pytest.fixture
    async def store(self):
        return Encrypted(MemoryStore(), vault_of(MemoryDataKeys(), search="words"))


class OnSqlite:
    @pytest.fixture
    async def database(self, tmp_path):
        database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
        await migrate(database)
        yield database
        await database.shut()

    @pytest.fixture
    async def store(self, database):
        return Encrypted(SqlStore(database), vault_of(SqlDataKeys(database), search="words"))


class TestEncryptedMemoryRecords(InMemory, RecordsSuite):
    # Many rows and long texts are the same work again, and take long.
    test_a_batch_of_five_thousand = test_purging_five_thousand = test_long_texts_round_trip = None


class TestEncryptedSqliteRecords(OnSqlite, WritingSuite, KeepingSuite, FidelitySuite, LoadingSuite):
    # What is found and filtered is decided before the store is asked, so for that the reference is enough.
    test_a_batch_of_five_thousand = test_purging_five_thousand = None


class TestEncryptedMemoryTexts(InMemory, TextsSuite):
    test_a_word_at_the_end_of_a_very_long_memory = None


class TestEncryptedSqliteBlobs(OnSqlite, BlobsSuite):
    @pytest.fixture
    async def blobs(self, database):
        return EncryptedBlobs(SqlBlobs(database), vault_of(SqlDataKeys(database)))

    # What is encrypted is never a difference, and counts as what it takes.
    test_a_version_comes_back_whatever_it_builds_on = None


class TestEncryptedWorking(WorkingSuite):
    @pytest.fixture
    def store(self):
        return EncryptedWorking(MemoryWorking(LIMITS), vault_of(MemoryDataKeys()))

    # A session counts the bytes that it takes, which are more than were said.
    test_a_session_has_room_for_so_much = test_concurrent_writers_leave_no_gap = None
    test_draining_moves_the_oldest_first = None


class TestEncryptedCongruence(InMemory):
    async def test_what_is_encrypted_answers_like_the_reference(self, store):
        await congruence(MemoryStore(), store, 0)


class DataKeysContract:
    """What every store of data keys has to do."""

    def key(self, tenant="acme", number=1, master="one", wrapped=b"wrapped"):
        return WrappedKey(tenant=tenant, number=number, master=master, wrapped=wrapped, created_at=NOW)

    async def test_keys_come_back_by_their_numbers_and_to_their_tenant_alone(self, keys):
        given = [self.key(number=2), self.key(number=0), self.key(number=1), self.key("evil")]
        await keys.add(given)
        assert await keys.of("acme") == [given[1], given[2], given[0]]
        assert await keys.of("nobody") == []
        assert await keys.tenants() == ["acme", "evil"]

    async def test_the_first_key_of_a_number_counts(self, keys):
        await keys.add([self.key()])
        await keys.add([self.key(wrapped=b"another"), self.key(number=2)])
        assert await keys.of("acme") == [self.key(), self.key(number=2)]

    async def test_wrapping_anew_changes_who_opens_and_nothing_else(self, keys):
        await keys.add([self.key(), self.key(number=2, master="two"), self.key("evil")])
        assert await keys.masters() == {"one": 2, "two": 1}
        assert await keys.wrapped_otherwise("two", limit=1) == [self.key()]
        assert await keys.rewrap([self.key(master="two", wrapped=b"anew"), self.key("gone", master="two")]) == 1
        assert await keys.of("acme") == [self.key(master="two", wrapped=b"anew"), self.key(number=2, master="two")]
        assert await keys.wrapped_otherwise("two", limit=9) == [self.key("evil")]

    async def test_a_key_is_deleted_and_the_others_stay(self, keys):
        await keys.add([self.key(number=number) for number in range(4)] + [self.key("evil")])
        assert await keys.remove("acme", [1, 2, 9]) == 2
        assert await keys.remove("acme", [1]) == 0
        assert [key.number for key in await keys.of("acme")] == [0, 3]
        assert await keys.of("evil") == [self.key("evil")]


class TestMemoryDataKeys(DataKeysContract):
    @pytest.fixture
    async def keys(self):
        return MemoryDataKeys()


class TestSqliteDataKeys(OnSqlite, DataKeysContract):
    @pytest.fixture
    async def keys(self, database):
        return SqlDataKeys(database)


class TestPostgresDataKeys(DataKeysContract):
    @pytest.fixture
    async def keys(self, postgres_database):
        database = Database(postgres_database())
        await migrate(database)
        yield SqlDataKeys(database)
        await database.shut()


class TestEncryptedAnswers(OnSqlite):
    async def test_an_answer_comes_back_as_it_was_and_lies_sealed(self, database, tmp_path):
        vault = vault_of(SqlDataKeys(database))
        await vault.ring("acme", needed=True)
        answers = EncryptedAnswers(SqlAnswers(database), vault)
        claim = Claim(tenant="acme", name=b"name", request=b"request")
        body = "Under the geranium ☘".encode() + bytes(range(256))
        assert await answers.begin(claim, now=NOW, until=NOW + HOUR) is None
        await answers.finish(claim, Answer(status=200, body=body), until=NOW + HOUR)
        found = await answers.begin(claim, now=NOW, until=NOW + HOUR)
        assert (found.done, found.answer.status, found.answer.body) == (True, 200, body)
        assert b"geranium" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
