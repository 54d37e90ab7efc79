"""Blobs on every store, and what the SQL store adds: room saved, and damage seen."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sqlalchemy import text

from scrubjay.backends.deltas import difference, restored
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.sql.blobs import MOST_DEPTH, SqlBlobs
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.errors import StoreDamaged
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob
from scrubjay.testing.blobs import BlobsSuite

HERE = Scope(tenant="acme")


class TestMemoryBlobs(BlobsSuite):
    @pytest.fixture
    def blobs(self):
        return MemoryBlobs()


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request, tmp_path):
    url = (
        f"sqlite:///{tmp_path}/blobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_database")()
    )
    database = Database(url)
    await migrate(database)
    yield database
    await database.shut()


class TestSqlBlobs(BlobsSuite):
    @pytest.fixture
    def blobs(self, database):
        return SqlBlobs(database)


async def test_versions_of_a_text_take_little_room(database):
    blobs = SqlBlobs(database)
    lines = [f"def function_{place}(): return {place * 7919 % 104729}\n" for place in range(3_000)]
    before = None
    for version in range(MOST_DEPTH + 3):
        lines[version * 100] = f"changed in version {version}\n"
        blob = Blob("".join(lines).encode(), base=before)
        await blobs.keep(HERE, new_id(), [blob])
        before = blob.hash
    room = await blobs.room(HERE)
    whole = Blob("".join(lines).encode())
    alone = SqlBlobs(database)
    await alone.keep(Scope(tenant="alone"), new_id(), [whole])
    # Eleven versions: two whole ones, since differences do not grow deeper than eight, and nine small ones.
    assert room.stored < 2.2 * (await alone.room(Scope(tenant="alone"))).stored
    assert (await blobs.get(HERE, [before]))[before] == whole.content


@pytest.mark.parametrize(
    "damage",
    ["UPDATE blobs SET body = substr(body, 2)", "UPDATE blobs SET way = 'plain'", "DELETE FROM blobs WHERE depth = 0"],
)
async def test_damage_is_seen(database, damage):
    blobs, owner = SqlBlobs(database), new_id()
    first = Blob(b"".join(b"line %d\n" % place for place in range(500)))
    second = Blob(first.content + b"more\n", base=first.hash)
    await blobs.keep(HERE, owner, [first])
    await blobs.keep(HERE, owner, [second])

    def break_it(connection):
        connection.execute(text("DELETE FROM blob_holders"))
        connection.execute(text(damage))

    await database.write(break_it)
    with pytest.raises(StoreDamaged, match="restore a backup"):
        await blobs.get(HERE, [second.hash])


lines = some.lists(some.sampled_from([b"a\n", b"b\n", b"c\r\n", b"", b"no end", b"\x00\xff\n"]), max_size=30).map(
    b"".join
)


@given(lines, lines)
def test_a_difference_makes_the_content_again(base, content):
    assert restored(base, difference(base, content)) == content


def test_texts_that_share_nothing_are_not_compared_line_by_line():
    base, content = (b"".join(b"%s %d\n" % (name, place) for place in range(5_000)) for name in (b"one", b"other"))
    assert difference(base, content) is None
    assert partial(difference, base)(base + b"end") is not None
