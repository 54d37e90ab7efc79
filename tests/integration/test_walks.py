"""One walk through each memory, on SQLite and on the whole production profile: PostgreSQL, Redis and Qdrant.

The suites of the memories run on the reference; with `make test-long`, on SQLite and PostgreSQL as well. A walk takes
the verbs that reach a store in ways of their own, opens the memory again, and looks at what is there.
"""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from scrubjay.errors import Conflict, NotFound
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.agents.driving import HOME, a_cycle, an_agent
from scrubjay.testing.patterns.executions import coin_tosses, deployments
from scrubjay.testing.workspace.repositories import SESSION, a_job, a_repository
from scrubjay.wiring import wire

MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "production"])
def opened(request, tmp_path, postgres_database, redis_url, server_url):
    """Opens the same memory whenever it is called, as another process would."""
    if request.param == "sqlite":
        urls = {"home": tmp_path / "home"}
    else:
        qdrant = urlsplit(server_url("qdrant")).netloc
        urls = {
            "records": postgres_database(),
            "working": redis_url,
            "vectors": f"qdrant://{qdrant}?prefix=walk-{uuid.uuid4().hex}",
        }
    settings = read_settings(**urls, tenant=f"walk-{uuid.uuid4().hex}", background=False)
    return lambda: wire(settings, embedder=ToyEmbedder())


def contents(found):
    return [one.content for one in found]


async def test_a_walk_through_facts(opened):
    async with opened() as jay:
        first = await jay.facts.store_project_fact("atlas", "db", "PostgreSQL 14", valid_from=MAY)
        second = await jay.facts.store_project_fact("atlas", "db", "PostgreSQL 18", reason="upgraded")
        assert (first.outcome, second.outcome) == ("stored", "superseded")
        assert (await jay.facts.store_project_fact("atlas", "db", "PostgreSQL 18")).outcome == "refreshed"
        await jay.facts.store_user_preference("ada", "editor", "Writes in Vim", importance=0.9)
        assert (await jay.facts.store("The office is in Berlin", project="atlas")).conflicts == ()
        assert (await jay.facts.store("the office is in BERLIN", project="atlas")).outcome == "duplicate_of"
        [flag] = (await jay.facts.store("The office is in Munich", project="atlas")).conflicts
        with pytest.raises(Conflict):
            await jay.facts.store("Oracle", key="fact:db", project="atlas", insert_only=True)
        # Of many at once, each becomes a version, and one is current.
        stored = (jay.facts.store_project_fact("atlas", "port", f"Port {number}") for number in range(8))
        await asyncio.gather(*stored)

    async with opened() as jay:
        facts = jay.facts
        assert (await facts.get_by_key("fact:db", project="atlas")).content == "PostgreSQL 18"
        [then] = await facts.as_of("fact:db", valid_at=MAY + timedelta(days=1), project="atlas")
        assert then.content == "PostgreSQL 14"
        # What was believed of the first, what is believed of it now, and the second.
        versions = await facts.history("fact:db", project="atlas")
        assert sorted(contents(versions)) == ["PostgreSQL 14", "PostgreSQL 14", "PostgreSQL 18"]
        ports = set(contents(await facts.history("fact:port", project="atlas")))
        assert ports == {f"Port {number}" for number in range(8)}
        assert (await facts.get_by_key("fact:port", project="atlas")).content in ports
        [found] = await facts.search("office Munich", project="atlas", limit=1)
        assert found.memory.content == "The office is in Munich"
        assert [one.explanation for one in await facts.conflicts(project="atlas")] == [flag.explanation]
        [believed] = await facts.resolve(flag.id, keep=flag.one.id, project="atlas")
        assert await facts.conflicts(project="atlas") == []
        assert believed.content == flag.one.content
        written = await facts.get_context_for_prompt("ada", "atlas", query="which database?")
        assert "Writes in Vim" in written.text
        assert "PostgreSQL 18" in written.text
        await facts.delete_by_key("fact:db", project="atlas")
        with pytest.raises(NotFound):
            await facts.get_by_key("fact:db", project="atlas")
        await facts.restore(key="fact:db", project="atlas")
        assert (await facts.get_by_key("fact:db", project="atlas")).content == "PostgreSQL 18"
        await facts.purge(key="fact:db", project="atlas")
        with pytest.raises(NotFound):
            await facts.history("fact:db", project="atlas")
        assert await jay.check() == []


async def test_a_walk_through_episodes(opened):
    where = {"session": "s-1", "user": "ada"}
    async with opened() as jay:
        said = ("Where is the backup?", "In the vault", "Thanks, and the key?", "Bob has it")
        await jay.episodes.store_many(
            [{"content": text, "at": MAY + timedelta(minutes=n)} for n, text in enumerate(said)], **where
        )
        await jay.episodes.store_episode("The vault was moved", kind="observation", user="ada")
        await jay.episodes.store_episode("Not hers", kind="observation", user="bob")
        await jay.working.append([{"role": "user", "content": "Is the restore done?"}], **where)

    async with opened() as jay:
        episodes = jay.episodes
        assert contents(await episodes.timeline(user="ada", session="s-1"))[: len(said)] == list(said)
        [hit, *_] = await episodes.recall("the backup in the vault", around=1, **where)
        assert hit.episode.content in said
        assert hit.before or hit.after
        recent = str(await episodes.fetch_recent_context(**where))
        assert recent.index("Bob has it") < recent.index("Is the restore done?")
        assert "Not hers" not in contents(await episodes.timeline(user="ada"))
        await jay.working.end(**where)
        done = await jay.consolidate(steps=["drain"])
        assert done["drain"].done == 1
        assert "Is the restore done?" in contents(await episodes.timeline(**where))
        receipt = await jay.forget(everything=True, purge=True, user="ada")
        assert set(receipt.remaining.values()) == {0}
        assert contents(await episodes.timeline()) == ["Not hers"]


async def test_a_walk_through_tasks(opened):
    async with opened() as jay:
        tasks = jay.tasks
        for attempt, success in ((1, False), (2, True)):
            await tasks.store_execution(
                "login",
                f"Attempt {attempt}: kept the session cookie",
                success,
                attempt=attempt,
                task_description="Customers are logged out on every page",
                error_patterns=[] if success else [{"type": "KeyError", "message": "cookie"}],
                project="shop",
            )
        await tasks.store_execution("other", "Painted the fence", True, project="garden")

    async with opened() as jay:
        tasks = jay.tasks
        question = "customers are logged out"
        found = await tasks.search_similar(question, project="shop")
        assert [(one.task_id, one.execution.attempt) for one in found] == [("login", 2), ("login", 1)]
        assert [one.success for one in await tasks.search_similar(question, success_only=True, project="shop")] == [
            True
        ]
        known = await tasks.get_task_context(question, project="shop")
        assert "kept the session cookie" in known.text
        used = await tasks.used(known.receipt, "helped", project="shop")
        assert set(used.memories) == {one.memory_id for one in known.similar_tasks}
        assert (await tasks.search_similar(question, project="shop"))[0].reused_count == 1
        # Told again it is corrected, not doubled.
        await tasks.store_execution("login", "It came back", False, attempt=2, project="shop")
        again = await tasks.search_similar(question + " it came back", project="shop")
        assert sorted((one.execution.attempt, one.success) for one in again) == [(1, False), (2, False)]


async def test_a_walk_through_patterns(opened):
    async with opened() as jay:
        await jay.tasks.store_many(deployments())
        await jay.tasks.store_many(coin_tosses(), project="dice")
        learned = await jay.patterns.learn()
        assert await jay.patterns.learn(project="dice") == []
        success = next(one for one in learned if one.pattern_type == "success")
        assert success.success_indicators[0].what == ("migrate", "test")

    async with opened() as jay:
        patterns = jay.patterns
        assert {one.id for one in await patterns.search_patterns()} == {one.id for one in learned}
        description = "Deploy the billing service to production"
        assert success.id in {one.pattern.id for one in await patterns.find_matching_patterns(description)}
        assert any("migrate" in one.text for one in await patterns.recommend(description))
        better = await patterns.feedback(success.id, helpful=True)
        assert better.confidence > success.confidence
        await jay.tasks.store_many(deployments(60, start=60))
        newer = next(one for one in await patterns.learn() if one.pattern_type == "success")
        assert (newer.id, newer.samples) == (success.id, 120)
        assert len(await patterns.history(success.id)) >= 2
        guess = await patterns.predict(description, tools=["migrate", "test"])
        assert guess.probability > guess.base_rate


async def test_a_walk_through_the_workspace(opened, tmp_path):
    repo = a_repository(tmp_path / "repo")
    async with opened() as jay:
        done = await jay.workspace.store_completion(**a_job(repo, files=["shop/session.py", "cart.py"]), project="shop")
        same = await jay.workspace.store_completion(**a_job(repo, files=["shop/session.py", "cart.py"]), project="shop")
        assert (done.outcome, same.id) == ("stored", done.id)
        await jay.workspace.ingest(repo, history=0, project="shop")

    async with opened() as jay:
        workspace = jay.workspace
        [hit, *_] = await workspace.search_memories(repo, query="ShoppingCart", project="shop")
        assert hit.completion.task_id == "shop-1"
        (repo / "cart.py").unlink()
        session, cart = (await workspace.get(done.id, project="shop")).files
        assert (session.text, session.state, cart.state) == (SESSION, "fresh", "missing")
        assert any(
            hit.memory.data["path"] == "shop/session.py"
            for hit in await workspace.search_code("keep session", project="shop")
        )
        again = await workspace.ingest(repo, history=0, project="shop")
        assert again.removed
        assert (await workspace.stats(repo, project="shop")).completions == 1
        await workspace.prune(repo, keep_for=timedelta(microseconds=1), project="shop")
        assert (await workspace.stats(repo, project="shop")).completions == 0
        receipt = await jay.forget(everything=True, purge=True, project="shop")
        assert set(receipt.remaining.values()) == {0}


async def test_a_walk_through_agents(opened, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    async with opened() as jay:
        agents = jay.agents
        await an_agent(jay)
        for number in (1, 2):
            (folder / f"page-{number}.md").write_text(f"Page {number}\n")
            await a_cycle(jay, number)
            await agents.snapshot("builder", folder, **HOME)
        await agents.begin_cycle("builder", goal="Write page 3", **HOME)
        await agents.propose("builder", "write", arguments={"path": "page-3.md"}, **HOME)

    async with opened() as jay:
        agents = jay.agents
        point = await agents.resume("builder", **HOME)
        assert (point.cycle.index, point.proposal.tool, point.state) == (3, "write", {"pages": 2})
        await agents.result("builder", "unknown", **HOME)
        await agents.end_cycle("builder", state={"pages": 3}, **HOME)
        assert [one.index for one in await agents.cycles("builder", **HOME)] == [3, 2, 1]
        changed = await agents.diff("builder", 1, 2, **HOME)
        assert changed.state
        await agents.fork("builder", "twin", at=1, **HOME)
        assert (await agents.resume("twin", **HOME)).state == {"pages": 1}
        assert "Page 2 is written" in str(await agents.recall("builder", "what is written?", **HOME))
        await agents.restore("builder", tmp_path / "restored", **HOME)
        restored = {path.name: path.read_text() for path in (tmp_path / "restored").iterdir()}
        assert restored == {f"page-{number}.md": f"Page {number}\n" for number in (1, 2)}
        happened = [one.what async for one in agents.replay("builder", **HOME)]
        assert (happened.count("began"), happened.count("ended"), happened.count("snapshot")) == (3, 3, 2)
