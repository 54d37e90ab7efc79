"""Ranges of values in `data` on PostgreSQL: the indexes that the documentation names are used, and say the same."""

import random
import re
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select

from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.narrowing import narrow
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.schema import memories
from scrubjay.model import Filter, Scope
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, all_rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "use-postgresql.md"
LONG = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9_000))
"""Longer than an entry of an index may be, however it is packed."""
ODD = ["990", "", "é", "2026-12", "2026-12-24x", LONG, LONG + "y", True, False, None, [995], {"a": 995}]
NUMBERS = [0, -1, 989.5, 990, 990.0, 1e22, 2**70, 2**70 + 1, -0.5]
RANGES = [
    {"gte": 990}, {"gt": 990}, {"lt": 0}, {"lte": -0.5}, {"gt": 2**63 - 1}, {"gte": 30, "lt": 60}, {"gte": 1e22},
    {"gt": "2026-12-24"}, {"gte": "2026-12", "lt": "2026-12-25"}, {"gt": "z"}, {"lte": ""}, {"gte": ""},
    {"gt": LONG}, {"gte": LONG}, {"lt": LONG[:100]}, {"gt": LONG[:99]}, {"gte": "é" * 60}, {"ne": 990},
    {"gt": 980, "ne": 990}, {"exists": True}, {"exists": False}, {"ne": "990"},
]  # fmt: skip


def told_to_make():
    """The statements of the page."""
    [block] = re.findall(r"```sql\n(-- for numbers.*?)```", PAGE.read_text(), re.DOTALL)
    return [statement.strip() for statement in re.sub(r"--.*", "", block).split(";") if statement.strip()]


@pytest.fixture
async def url(blank_postgres_database):
    return blank_postgres_database()


@pytest.fixture
async def database(url):
    database = Database(url)
    await migrate(database)
    yield database
    await database.shut()


async def filled(database, many):
    """Memories that say all sorts of things in two places."""
    chance, records = random.Random(2), SqlRecords(database)
    said = [{"priority": one, "due": one, "in": {"due": one}} for one in ODD + NUMBERS] + [{}]
    said += [
        {"priority": chance.randrange(1_000), "due": f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"}
        for _ in range(many)
    ]
    await records.load([a_memory(f"Fact {place}", data=data) for place, data in enumerate(said)])
    return records


def make_indexes(url):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in told_to_make():
            connection.execute(statement)


async def plan(database, data):
    """How the server goes about it."""

    def work(connection):
        asked = narrow(connection, columns_of(database), Filter(scope=Scope(), data=data), NOW)
        counting = select(func.count()).select_from(memories).where(asked)
        statement = counting.compile(connection, compile_kwargs={"render_postcompile": True})
        found = connection.exec_driver_sql(f"EXPLAIN {statement}", statement.construct_params())
        return "\n".join(line for (line,) in found)

    return await database.read(work)


async def test_an_index_made_as_the_page_says_answers_ranges(database, url):
    await filled(database, 4_000)
    assert "data_priority" not in await plan(database, {"priority": {"gte": 990}})
    make_indexes(url)
    for data, index in [
        ({"priority": {"gte": 990}}, "data_priority"),
        ({"priority": {"gt": 30, "lt": 40.5}}, "data_priority"),
        ({"due": {"gt": "2026-12-24"}}, "data_due"),
        ({"due": {"gte": "2026-03-01", "lt": "2026-03-03"}}, "data_due"),
    ]:
        assert f"Index Scan on {index}" in await plan(database, data), data


@pytest.mark.parametrize("indexed", [False, True])
async def test_ranges_say_what_the_filter_says_with_an_index_and_without(database, url, indexed):
    if indexed:
        make_indexes(url)
    records = await filled(database, 60)
    rows = await all_rows(records, Scope())
    for path in ("priority", "due", "in.due", "in.none"):
        for wanted in RANGES:
            asked = Filter(scope=Scope(), data={path: wanted})
            expected = [row for row in rows if asked.matches(row, NOW)]
            assert await records.find(asked, now=NOW, limit=200, order="oldest") == expected, asked.data
            assert await records.among(asked, now=NOW, limit=200) == [row.id for row in expected[::-1]]
