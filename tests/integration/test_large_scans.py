"""What is asked of many memories is answered from an index, or by reading little of each."""

import pytest
from sqlalchemy import select

from scrubjay.backends.sql import beginnings
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.places import among_places
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.schema import memories
from scrubjay.memories.frameworks import items
from scrubjay.model import Filter, Scope
from scrubjay.testing.values import NOW, a_memory

MANY = 4_000


def some_files():
    """Memories with one value that all have, one that few have, and keys of forty beginnings."""
    return [
        a_memory(
            f"Line {place}",
            key=f"file:{place % 40:02}:{place}",
            data={"state": "open", "file": {"name": f"src/f{place % 1_000}.py", "line": place}},
        )
        for place in range(MANY)
    ]


def asked(**narrow):
    return Filter(scope=Scope(), reach="holds", **narrow)


async def plan_of(database, statement):
    """How the server goes about it, as one text."""

    def explained(connection):
        made = statement(connection).compile(
            dialect=connection.dialect, compile_kwargs={"render_postcompile": True, "literal_binds": False}
        )
        word = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
        given = made.params if made.positiontup is None else tuple(made.params[name] for name in made.positiontup)
        return "\n".join(str(row[-1]) for row in connection.exec_driver_sql(f"{word} {made}", given))

    return await database.read(explained)


def newest(filter):
    def statement(connection):
        matching = conditions(filter, NOW, connection.dialect.name, place=among_places(connection, filter))
        return select(memories.c.id).where(matching).order_by(memories.c.seq.desc()).limit(20)

    return statement


async def test_postgresql_finds_rare_values_of_data_by_an_index_and_common_ones_without(postgres):
    await SqlRecords(postgres).load(some_files())
    await postgres.rework(lambda connection: connection.exec_driver_sql("ANALYZE"))
    for rare in ({"file.name": "src/f7.py"}, {"file.line": 7}, {"file.line": [7, 8]}, {"file.line": {"in": [7]}}):
        assert "ix_memories_data" in await plan_of(postgres, newest(asked(data=rare))), rare
    assert "ix_memories_data" not in await plan_of(postgres, newest(asked(data={"state": "open"})))


async def test_postgresql_finds_keys_that_begin_alike_by_an_index(postgres):
    await SqlRecords(postgres).load(some_files())
    await postgres.rework(lambda connection: connection.exec_driver_sql("ANALYZE"))
    assert "_key" in await plan_of(postgres, newest(asked(key_prefix="file:07:7")))


async def test_one_of_each_steps_along_the_index_of_keys(sqlite):
    await SqlRecords(sqlite).load(some_files())
    plan = await plan_of(
        sqlite, lambda connection: beginnings.statement(connection, asked(key_prefix="file:"), NOW, len("file:00:"))
    )
    steps = [line for line in plan.splitlines() if "memories" in line]
    assert steps == [
        "SEARCH memories USING INDEX ix_memories_key (scope_id=? AND key>? AND key<?)",
        "SEARCH memories USING INDEX ix_memories_key (scope_id=? AND key>? AND key<?)",
        "SEARCH memories USING INDEX ix_memories_key (scope_id=? AND key=?)",
    ]
    assert len(await SqlRecords(sqlite).one_of_each(asked(key_prefix="file:"), now=NOW, length=len("file:00:"))) == 40


@pytest.mark.parametrize("steps", [3, 40, 41])
async def test_namespaces_below_one_are_found_without_reading_all_of_them(jay, monkeypatch, steps):
    monkeypatch.setattr(items, "_STEPS", steps)
    store = items.Items(jay, user="u")
    there = {(f"g{place % 4}", f"n{place}") for place in range(40)}
    await store.put(
        [items.Put(path=(path, f"k{turn}"), value={"n": turn}) for path in sorted(there) for turn in (1, 2)]
    )
    assert await store.namespaces() == there
    records, read = jay.parts.stores.records, []

    async def counted(*given, **options):
        found = await type(records).one_of_each(records, *given, **options)
        read.append(None if found is None else len(found))
        return found

    monkeypatch.setattr(records, "one_of_each", counted)
    assert await store.namespaces(("g3",)) == {path for path in there if path[0] == "g3"}
    assert await store.namespaces(("nowhere",)) == set()
    assert read == ([None, 10, None, 0] if steps == 3 else [40, 40])


async def test_a_file_looks_for_texts_before_it_reads_data_as_json():
    both = str(conditions(asked(data={"n": {"gt": 1}, "file.name": "src/f7.py"}), NOW, "sqlite"))
    assert both.index("instr(") < both.index("json_type(")
    for written_in_many_ways in ("é", 'a "quoted" word', "a\\b", "line\nbreak", 7, True, None, ["plain", 7]):
        assert "instr(" not in str(conditions(asked(data={"n": written_in_many_ways}), NOW, "sqlite"))
