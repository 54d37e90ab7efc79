"""Keys, the audit log and kept answers against their contracts: the reference, SQLite and PostgreSQL."""

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.backends.memory.access import MemoryAudit, MemoryKeys
from scrubjay.backends.sql.access import SqlAudit, SqlKeys
from scrubjay.backends.sql.answers import SqlAnswers
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.testing import AnswersSuite, AuditSuite, KeysSuite


@pytest.fixture(scope="module")
def own_postgres(fresh_postgres):
    with fresh_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db" if request.param == "sqlite" else request.getfixturevalue("own_postgres")
    database = Database(url)
    await migrate(database)
    if request.param == "postgresql":
        # Making a database takes longer than most of these tests.
        emptied = "TRUNCATE scopes, memories, api_keys, audit_log, kept_answers CASCADE"
        await database.write(lambda connection: connection.exec_driver_sql(emptied))
    yield database
    await database.shut()


class TestMemoryKeys(KeysSuite):
    @pytest.fixture
    def keys(self):
        return MemoryKeys()


class TestSqlKeys(KeysSuite):
    @pytest.fixture
    def keys(self, database):
        return SqlKeys(database)


class TestMemoryAudit(AuditSuite):
    @pytest.fixture
    def audit(self):
        return MemoryAudit()


class TestSqlAudit(AuditSuite):
    @pytest.fixture
    def audit(self, database):
        return SqlAudit(database)


class TestMemoryAnswers(AnswersSuite):
    @pytest.fixture
    def records(self):
        return MemoryStore()

    @pytest.fixture
    def answers(self, records):
        return records.answers


class TestSqlAnswers(AnswersSuite):
    @pytest.fixture
    def records(self, database):
        return SqlRecords(database)

    @pytest.fixture
    def answers(self, database):
        return SqlAnswers(database)
