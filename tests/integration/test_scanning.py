"""A scan of a SQL store while others write to it: what is listed long before it is read is read as it is by then."""

import pytest

from scrubjay.backends.sql import records as sql_records
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.model import Filter
from scrubjay.testing.values import NOW, SECOND, a_memory, a_scope, told

HERE = Filter(scope=a_scope(), reach="holds", data={"wing": "left"})


@pytest.fixture(params=["sqlite", "postgresql"])
async def records(request, tmp_path):
    postgresql = request.param == "postgresql"
    url = request.getfixturevalue("postgres_database")() if postgresql else f"sqlite:///{tmp_path}/scrubjay.db"
    database = Database(url)
    await migrate(database)
    yield SqlRecords(database)
    await database.shut()


async def test_every_stretch_is_listed_and_each_memory_comes_once(records, monkeypatch):
    monkeypatch.setattr(sql_records, "_STRETCH", 5)
    said = [a_memory(f"Note {place}", data={"wing": "left" if place % 3 else "right"}) for place in range(40)]
    left = [memory.id for memory in await told(records, *said) if memory.data["wing"] == "left"]
    batches = [[memory.id for memory in batch] async for batch in records.scan(HERE, now=NOW, batch=2)]
    assert [one for batch in batches for one in batch] == left
    assert max(map(len, batches)) == 2


async def test_what_goes_while_it_is_scanned_does_not_come_and_what_follows_does(records, monkeypatch):
    monkeypatch.setattr(sql_records, "_STRETCH", 6)
    said = await told(records, *(a_memory(f"Note {place}", data={"wing": "left"}) for place in range(12)))
    ids = [memory.id for memory in said]
    scanned = records.scan(HERE, now=NOW + SECOND, batch=2)
    come = [memory.id for memory in await anext(scanned)]
    await records.purge(a_scope(), [ids[5]])  # The last one of its stretch.
    await records.close(a_scope(), [ids[2], ids[3]], at=NOW, because="gone")
    late = await told(records, a_memory("Late", data={"wing": "left"}))
    come += [memory.id async for batch in scanned for memory in batch]
    assert come == [ids[0], ids[1], ids[4], *ids[6:], late[0].id]
