"""pgvector on a real PostgreSQL: by comparing every vector, by its graphs, and beside other processes."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest
from sqlalchemy import text

from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.vectors import pgvector_tables as tables
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.errors import InvalidInput, Misconfigured, StoreUnavailable
from scrubjay.model import Filter, Scope, new_id
from scrubjay.testing import NOW, VectorsSuite, a_scope, congruence_of_vectors
from scrubjay.testing.vectors import HERE, an_entry, assert_nearest, directions, entries_of, ids_of


@pytest.fixture
async def url(postgres_database):
    url = postgres_database()
    database = Database(url)
    await migrate(database)
    await database.shut()
    return url


@pytest.fixture
async def opened(url):
    """Opens engines on one database, as many as asked for, each as another process would."""
    parts = []

    def open_one(**options):
        database = Database(url)
        parts.append((PgVectors(database, **options), database))
        return parts[-1][0]

    yield open_one
    for engine, database in parts:
        await engine.shut()
        await database.shut()


class Settled:
    """An engine whose searches are made once to have a graph built, and once more when it is there."""

    def __init__(self, engine):
        self._engine = engine

    def __getattr__(self, name):
        return getattr(self._engine, name)

    async def search(self, *given, **asked):
        before = await self._engine.search(*given, **asked)
        await self._engine.settle()
        after = await self._engine.search(*given, **asked)
        assert {match.id for match in after} == {match.id for match in before}
        return after


class TestExact(VectorsSuite):
    @pytest.fixture
    async def vectors(self, opened):
        return opened()


class TestWithGraphs(VectorsSuite):
    """Every tenant has a graph after its first search."""

    @pytest.fixture
    async def vectors(self, opened):
        return Settled(opened(exact_up_to=1, breadth=1_000))


class TestOnOlderPgvector(VectorsSuite):
    """Neither half floats nor graphs that can be asked for more."""

    @pytest.fixture
    async def vectors(self, opened, monkeypatch):
        monkeypatch.setattr(tables, "HALFVEC_SINCE", (99,))
        monkeypatch.setattr(tables, "ITERATIVE_SINCE", (99,))
        return Settled(opened(exact_up_to=1, breadth=1_000))


async def found(engine, question, asked=HERE, **options):
    return ids_of(await engine.search(1, question, asked, now=NOW, limit=10, **options))


async def asked_of(url, statement, **values):
    """What the server answers, one value."""
    database = Database(url)
    try:
        return await database.read(lambda connection: connection.execute(text(statement), values).scalar())
    finally:
        await database.shut()


async def graphs_of(url):
    return await asked_of(url, "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'")


async def with_graph(engine, *, tenant="default"):
    """Have the graph of a tenant built, by a search that admits all of it."""
    await engine.search(1, directions(1)[0], Filter(scope=Scope(tenant=tenant)), now=NOW, limit=1)
    await engine.settle()


@pytest.mark.parametrize("seed", range(3))
async def test_random_operations_give_the_answers_of_the_reference_with_graphs(opened, seed):
    await congruence_of_vectors(MemoryVectors(), Settled(opened(exact_up_to=20, breadth=1_000)), seed)


# Graphs


def lifelike(many, *, seed):
    """Vectors as models make them: 64 numbers that vary along far fewer directions."""
    axes = np.random.default_rng(0).standard_normal((12, 64), dtype=np.float32)
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((many, 12), dtype=np.float32) @ axes
    rows += 0.3 * generator.standard_normal((many, 64), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def recall(engine, entries, questions, asked):
    """The share of the ten nearest that is found."""
    admitted = [
        entry for entry in entries if asked.admits(entry.scope) and entry.kind in (asked.kinds or (entry.kind,))
    ]
    matrix = np.concatenate([entry.vectors for entry in admitted])
    shares = []
    for question in questions:
        truth = {admitted[place].id for place in np.argsort(-(matrix @ question))[:10]}
        shares.append(len(truth & set(await found(engine, question, asked))) / 10)
    return np.mean(shares)


async def test_graphs_find_what_is_near_with_and_without_filters(opened, url):
    engine = opened(exact_up_to=250)
    entries = [
        an_entry(
            row,
            scope=a_scope(f"u-{place % 10}", session=f"s-{place % 300}"),
            kind="note" if place % 40 else "rule",
        )
        for place, row in enumerate(lifelike(4_000, seed=1))
    ]
    await engine.upsert(1, entries)
    await with_graph(engine)
    await asked_of(url, "SELECT pg_stat_reset()")
    filters = [
        Filter(scope=Scope()),
        Filter(scope=Scope(), kinds=("note",)),
        Filter(scope=a_scope("u-3")),
        Filter(scope=a_scope("u-3"), reach="holds", kinds=("note", "rule")),
        Filter(scope=Scope(), kinds=("rule",)),  # 100 of them: compared one by one
        Filter(scope=Scope(session="s-7")),
    ]
    questions = lifelike(40, seed=2)
    for asked in filters:
        assert await recall(engine, entries, questions, asked) >= 0.95, asked
    scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE '%_near_%'"
    async with asyncio.timeout(60):
        # A connection reports its statistics after a statement, once a second. This one reads no graph.
        while await asked_of(url, scans) != 4 * len(questions):
            await recall(engine, entries, questions[:1], filters[4])


async def test_a_graph_belongs_to_one_tenant_and_small_ones_have_none(opened, url):
    engine = opened(exact_up_to=200)
    awkward = "O'Brien's 100% \\ \"tenant\" %s {x} 🦉"
    for tenant in ("small", awkward):
        await engine.upsert(1, entries_of(directions(400 if tenant == awkward else 100), scope=Scope(tenant=tenant)))
        await with_graph(engine, tenant=tenant)
    assert await graphs_of(url) == 1
    assert await asked_of(url, "SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%' AND indexdef LIKE '%🦉%'")
    [question] = directions(1, seed=9)
    matches = await engine.search(1, question, Filter(scope=Scope(tenant=awkward)), now=NOW, limit=10)
    assert len(matches) == 10
    assert len(await found(engine, question, Filter(scope=Scope(tenant="small")))) == 10


async def test_what_a_graph_cannot_find_is_found_by_comparing(opened):
    engine = opened(exact_up_to=50, breadth=20)
    entries = entries_of(directions(400), scope=a_scope("bob"))
    await engine.upsert(1, entries)
    await with_graph(engine)
    asked = Filter(scope=a_scope("bob"))
    assert len(await found(engine, entries[0].vectors[0], asked)) == 10
    # The filter is known to be wide, and now no longer is.
    await engine.retire(ids_of(entries[:395]))
    assert set(await found(engine, entries[0].vectors[0], asked)) == set(ids_of(entries[395:]))


async def test_a_question_of_zeros_has_an_answer(opened):
    engine = opened(exact_up_to=10)
    entries = entries_of(directions(30))
    nothing = an_entry(np.zeros(64, dtype=np.float32))
    await engine.upsert(1, [*entries, nothing])
    await with_graph(engine)
    matches = await engine.search(1, nothing.vectors[0], HERE, now=NOW, limit=100)
    assert {match.score for match in matches} == {0.0}
    assert set(ids_of(matches)) == {nothing.id, *ids_of(entries)}
    matches = await engine.search(1, entries[0].vectors[0], HERE, now=NOW, limit=100)
    assert len(matches) == 31, "too few for the graph, which leaves zeros out"


async def test_a_build_that_was_stopped_is_begun_again(opened, url):
    engine = opened(exact_up_to=10)
    await engine.upsert(1, entries_of(directions(50)))
    await with_graph(engine)
    # As a build leaves it that was killed half-way.
    database = Database(url)
    await database.write(lambda connection: connection.execute(text("UPDATE pg_index SET indisvalid = false "
        "WHERE indexrelid = to_regclass(:name)"), {"name": tables.graph_name(1, "default")}))  # fmt: skip
    await database.shut()
    other = opened(exact_up_to=10)
    assert len(await found(other, directions(1)[0])) == 10
    await other.settle()
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"
    assert await asked_of(url, valid, name=tables.graph_name(1, "default")) is True


async def test_shutting_stops_a_build_and_dropping_does_not_wait_for_one(opened, url):
    writer, builder = opened(), opened(exact_up_to=10)
    await writer.upsert(1, entries_of(directions(3_000)))
    database = Database(url)

    def hold(connection):
        # A build waits for transactions that are older than it: this one keeps it from ending.
        connection.execute(text("SELECT txid_current()"))
        loop.call_soon_threadsafe(holding.set)
        asyncio.run_coroutine_threadsafe(done.wait(), loop).result()

    loop, holding, done = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    holder = asyncio.create_task(database.write(hold))
    try:
        await holding.wait()
        await found(builder, directions(1)[0])
        async with asyncio.timeout(60):
            while not await graphs_of(url):  # noqa: ASYNC110 -- the server's to tell
                await asyncio.sleep(0.05)
            await writer.drop(1)
            await builder.settle()
            assert await writer.count(1) == 0
            await writer.upsert(2, entries_of(directions(3_000)))
            await builder.search(2, directions(1)[0], HERE, now=NOW, limit=1)
            while not await graphs_of(url):  # noqa: ASYNC110 -- the server's to tell
                await asyncio.sleep(0.05)
            await builder.shut()
    finally:
        done.set()
        await holder
        await database.shut()


# Beside others


async def test_many_may_create_the_table_at_once(opened, url):
    engines = [opened() for _ in range(6)]
    entries = entries_of(directions(60))
    await asyncio.gather(*(engine.upsert(1, entries[at * 10 : at * 10 + 10]) for at, engine in enumerate(engines)))
    assert await engines[0].count(1) == 60
    # The same entries from everybody: each is there once.
    await asyncio.gather(*(engine.upsert(2, entries) for engine in engines))
    assert await engines[0].count(2) == 60


async def test_real_processes_may_create_the_table_at_once(opened, url):
    script = f"""
import asyncio
from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.testing.vectors import directions, entries_of
async def main():
    database = Database({url!r})
    engine = PgVectors(database)
    print("ready", flush=True)
    input()
    await engine.upsert(1, entries_of(directions(20)))
    await engine.shut()
    await database.shut()
asyncio.run(main())
"""
    command = [sys.executable, "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]  # noqa: ASYNC220 -- only starts them
    for process in processes:
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = await asyncio.to_thread(process.communicate, timeout=60)
        assert process.returncode == 0, errors
    assert await opened().count(1) == 60


async def test_what_one_process_does_another_sees_at_once(opened):
    one, two = opened(), opened()
    entries = entries_of(directions(30))
    question = entries[0].vectors[0]
    assert await found(two, question) == []
    await one.upsert(1, entries)
    assert (await found(two, question))[0] == entries[0].id
    await two.retire([entries[0].id])
    assert entries[0].id not in await found(one, question)
    await two.drop(1)
    assert await found(one, question) == []
    await one.upsert(1, entries[:1])
    assert await found(two, question) == [entries[0].id]


async def test_searches_and_drops_at_once_do_not_fail(opened):
    one, two = opened(), opened()
    entries = entries_of(directions(20))

    async def write():
        for _ in range(15):
            await one.upsert(1, entries)
            await one.drop(1)

    async def ask():
        for _ in range(60):
            assert len(await found(two, entries[0].vectors[0])) in (0, 10)
            await two.retire([new_id()])
            assert await two.traces(ids_of(entries)) in (0, 20)

    await asyncio.gather(write(), ask(), ask())


async def test_a_memory_that_changes_its_tenant_leaves_the_old_one(opened):
    engine = opened()
    question, other = directions(2)
    entry = an_entry(question)
    await engine.upsert(1, [entry, an_entry(other)])
    for scope in (a_scope("bob"), a_scope(tenant="acme")):
        await engine.upsert(1, [an_entry(question, id=entry.id, scope=scope)])
        assert entry.id not in await found(engine, question)
        assert entry.id in await found(engine, question, Filter(scope=scope))


# What is stored, and what is refused


@pytest.mark.parametrize(
    ("dimensions", "type", "storage"),
    [(64, "halfvec", "p"), (3_072, "halfvec", "p"), (3_900, "halfvec", "e"), (4_200, "vector", "e")],
)
async def test_vectors_of_any_size_are_kept_and_found(opened, url, dimensions, type, storage):
    engine = opened(exact_up_to=5)
    entries = entries_of(directions(12, dimensions=dimensions), kind="k" * 64, scope=Scope(tenant="🦉" * 255))
    await engine.upsert(1, entries)
    for entry in entries[:2]:
        matches = await engine.search(1, entry.vectors[0], Filter(scope=entry.scope), now=NOW, limit=12)
        assert_nearest(matches, entries, entry.vectors[0], 12)
        await engine.settle()
    kept = "SELECT format_type(atttypid, atttypmod) || ' ' || attstorage::text FROM pg_attribute WHERE attrelid = "
    kept += "to_regclass('vectors_g1') AND attname = 'embedding'"
    assert await asked_of(url, kept) == f"{type}({dimensions}) {storage}"
    assert await graphs_of(url) == (1 if dimensions <= 4_000 else 0)


async def test_vectors_of_another_size_are_refused(opened):
    engine = opened()
    await engine.upsert(1, entries_of(directions(5)))
    [small] = directions(1, dimensions=32)
    with pytest.raises(InvalidInput, match="32"):
        await engine.search(1, small, HERE, now=NOW, limit=3)
    with pytest.raises(InvalidInput, match="32"):
        await engine.upsert(1, [an_entry(small)])
    with pytest.raises(InvalidInput, match="32 and 64"):
        await engine.upsert(1, [an_entry(small), *entries_of(directions(1))])
    assert await engine.count(1) == 5


async def test_vectors_with_numbers_that_are_not_finite_are_refused(opened):
    engine = opened()
    good, broken = directions(2)
    broken[3] = np.nan
    with pytest.raises(InvalidInput, match="finite"):
        await engine.upsert(1, [an_entry(good), an_entry(broken)])
    assert await engine.count(1) == 0
    with pytest.raises(InvalidInput, match="finite"):
        await engine.search(1, broken, HERE, now=NOW, limit=3)


async def test_records_elsewhere_are_refused(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    with pytest.raises(Misconfigured, match="SCRUBJAY_RECORDS is sqlite"):
        PgVectors(database)
    await database.shut()


async def test_a_server_that_is_gone_is_unavailable():
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    engine = PgVectors(database)
    for asked in (engine.upsert(1, entries_of(directions(1))), engine.count(1), engine.prepare()):
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            await asked
    await engine.shut()
    await database.shut()


async def test_preparing_installs_the_extension_once(opened, url):
    installed = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
    assert await asked_of(url, installed) == 0
    await asyncio.gather(*(opened().prepare() for _ in range(4)))
    assert await asked_of(url, installed) == 1


async def test_a_role_that_may_not_install_the_extension_hears_what_to_do(opened, url):
    role = f"guest_{new_id().hex}"
    for statement in (f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"):
        database = Database(url)
        await database.write(lambda connection, statement=statement: connection.execute(text(statement)))
        await database.shut()
    guest = Database(url.replace("postgres@", f"{role}@"))
    try:
        with pytest.raises(StoreUnavailable, match="CREATE EXTENSION vector"):
            await PgVectors(guest).upsert(1, entries_of(directions(1)))
        await opened().prepare()
        with pytest.raises(StoreUnavailable, match="GRANT CREATE ON SCHEMA"):
            await PgVectors(guest).upsert(1, entries_of(directions(1)))
    finally:
        await guest.shut()
        database = Database(url)
        for statement in (f"DROP OWNED BY {role}", f"DROP ROLE {role}"):
            await database.write(lambda connection, statement=statement: connection.execute(text(statement)))
        await database.shut()


async def test_a_server_without_the_extension_says_so(opened, url):
    # The server of the tests has it, so its list of what can be installed is hidden behind an empty one.
    database = Database(url)
    await database.write(
        lambda connection: connection.execute(text("CREATE VIEW pg_available_extensions AS SELECT ''::name AS name"))
    )
    name = await asked_of(url, "SELECT current_database()")
    await database.write(
        lambda connection: connection.execute(text(f"ALTER DATABASE {name} SET search_path = public, pg_catalog"))
    )
    await database.shut()
    engine = opened()
    with pytest.raises(StoreUnavailable, match="has no pgvector"):
        await engine.upsert(1, entries_of(directions(1)))
    assert await found(engine, directions(1)[0]) == []
