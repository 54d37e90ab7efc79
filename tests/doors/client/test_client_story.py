"""One story, told to the library and to a server through the client: every answer is the same value."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.model import AsOf, FactType, Trust
from scrubjay.model.episodes import Negotiation, Turn
from scrubjay.model.tasks import Execution
from scrubjay.model.working import Message

THEN = datetime(2025, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2025, 6, 1, tzinfo=UTC)
OWN_ID = UUID("01970a3c-5e1f-7c3a-9f0e-2b7d5a1c4e88")


class Compared:
    """Values without what no two runs have in common: ids by the order of their appearance, no present moments."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, value):
        if is_dataclass(value):
            name = type(value).__name__
            return {name: {one.name: self._field(one.name, getattr(value, one.name)) for one in fields(value)}}
        match value:
            case UUID():
                return self._known.setdefault(str(value), f"id {len(self._known)}")
            case datetime():
                return value if value.year < 2026 else "now"
            case float():
                return round(value, 3)
            case str():
                return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", lambda found: self.of(UUID(found[0])), value)
            case Mapping():
                return {key: self.of(one) for key, one in value.items()}
            case list() | tuple():
                return [self.of(one) for one in value]
        return value

    def _field(self, name: str, value):
        if name in ("milliseconds", "generation", "bytes_on_disk", "records", "texts", "receipt", "_fingerprint"):
            return "differs"
        return self.of(value)


def told(jay, compared: Compared, repository: Path):
    """The story: what was asked, and what came of it."""

    def step(what, run):
        try:
            return what, compared.of(run())
        except (InvalidInput, NotFound, Conflict) as error:
            return what, type(error).__name__, compared.of(str(error))

    anna = {"user": "anna", "project": "shop"}
    core = jay.remember("Prefers tabs", kind="preference", key="pref:indent", **anna)
    yield "remember", compared.of(core)
    yield step("again", lambda: jay.remember("Prefers tabs", kind="preference", key="pref:indent", **anna))
    yield step(
        "details",
        lambda: jay.remember(
            "Ünïcode 🐦 \u2028 and more",
            id=OWN_ID,
            data={"n": 1, "deep": [None, {"x": 1.5}]},
            importance=0.9,
            trust=Trust.OBSERVED,
            source="a/b.py",
            author="bob",
            reason="seen",
            derived_from=[core.id],
            valid_from=THEN,
            valid_to=LATER,
            user="anna",
        ),
    )
    yield step("many", lambda: jay.remember_many(["one", {"content": "two", "user": "bob"}], user="anna", session="s"))
    yield step("update", lambda: jay.update(core.id, content="Prefers spaces", reason="asked", **anna))
    yield step("importance", lambda: jay.update(OWN_ID, importance=0.2, user="anna"))
    yield step("no importance", lambda: jay.update(OWN_ID, importance=None, user="anna"))
    yield step("expiry", lambda: jay.update(OWN_ID, expires_at=LATER + timedelta(days=9_999), user="anna"))
    yield step("no expiry", lambda: jay.update(OWN_ID, expires_at=None, user="anna"))
    yield step("get", lambda: jay.get(OWN_ID))
    yield step("get by name", lambda: jay.get("somebody's/own id"))
    yield step("history", lambda: jay.history(key="pref:indent", **anna))
    yield step("history by id", lambda: jay.history(core.id, **anna))
    yield step("no history", jay.history)
    yield step("recall", lambda: jay.recall("how to indent?", explain=True, touch=False, **anna))
    yield step("recall then", lambda: jay.recall("unicode", as_of=AsOf(valid_at=THEN), user="anna", touch=False))
    yield step("recall by data", lambda: jay.recall("", data={"n": {"gte": 1}}, as_of=AsOf(valid_at=THEN), touch=False))
    yield step("context", lambda: jay.context("indent", budget=200, **anna))
    yield step("as messages", lambda: jay.context("indent", as_="messages", sections=["facts"], **anna))
    yield step("shape", lambda: jay.shape_context(budget=300, as_="xml", agent="reviewer"))
    yield step("around", lambda: jay.around(OWN_ID))
    yield step("list", lambda: jay.list(order="oldest", limit=3, kinds="preference", **anna))
    yield step("count", lambda: jay.count(kinds=["preference"], history=True))
    yield step("count by data", lambda: jay.count(data={"n": {"lte": 1}}, as_of=THEN, user="anna"))
    yield step("stats", lambda: jay.stats(user="anna"))
    yield step("bad limit", lambda: jay.recall("x", limit=0))
    yield step("bad importance", lambda: jay.remember("x", importance=7.5))
    yield step("nothing there", lambda: jay.get(UUID(int=7)))
    yield step("forget", lambda: jay.forget(OWN_ID, reason="over", user="anna"))
    yield step("forget what?", jay.forget)
    yield step("purge", lambda: jay.forget([OWN_ID], purge=True, user="anna"))

    for name in (".", "..", "a/../b", "..."):
        yield step(f"named {name}", lambda name=name: jay.remember(f"Named {name}", id=name))
        yield step(f"get {name}", lambda name=name: jay.get(name))
        yield step(f"history of {name}", lambda name=name: jay.history(name))
        yield step(f"forget {name}", lambda name=name: jay.forget(name))

    facts = jay.facts
    port = facts.store("The shop listens on port 8080", type=FactType.PROJECT_FACT, key="fact:port", project="shop")
    yield "store", compared.of(port)
    yield step("replace", lambda: facts.store("The shop listens on port 9090", key="fact:port", project="shop"))
    yield step("only new", lambda: facts.store("Port 1", key="fact:port", project="shop", insert_only=True))
    yield step("facts", lambda: facts.store_many(["A fact", {"content": "Another", "importance": 0.9}], project="shop"))
    yield step("preference", lambda: facts.store_user_preference("anna", "tone", "Short answers"))
    yield step("project fact", lambda: facts.store_project_fact("shop", "lead", "Bob leads"))
    yield step("skill", lambda: facts.store_skill("deploy", "Push a tag", project="shop"))
    yield step("by key", lambda: facts.get_by_key("fact:port", project="shop", touch=False))
    yield step("preferences", lambda: facts.get_user_preferences("anna", touch=False))
    yield step("search facts", lambda: facts.search("which port?", project="shop", touch=False))
    yield step("prompt", lambda: facts.get_context_for_prompt("anna", "shop", query="deploy", touch=False))
    yield step("fact history", lambda: facts.history("fact:port", project="shop"))
    yield step("as of", lambda: facts.as_of("fact:port", valid_at=THEN, project="shop"))
    yield step("boost", lambda: facts.boost_importance(facts.list(project="shop")[0].id, 0.9, project="shop"))
    yield step("delete", lambda: facts.delete_by_key("fact:port", reason="moved", project="shop"))
    yield step("restore", lambda: facts.restore(key="fact:port", project="shop"))
    yield step("conflicts", lambda: facts.conflicts(project="shop"))
    yield step("clean up", lambda: facts.cleanup_expired(project="shop"))
    yield step("list facts", lambda: facts.list(types=["SKILL"], project="shop"))

    working, where = jay.working, {"session": "chat", "user": "anna"}
    said = Message(id=UUID(int=5), role="assistant", content="Hello", name="jay", at=THEN)
    yield step("append", lambda: working.append(["Hi", said, {"role": "tool", "content": "42"}], **where))
    yield step("recent", lambda: working.recent(2, **where))
    yield step("set", lambda: working.set("plan", {"steps": [1, 2]}, ttl=timedelta(hours=1), **where))
    yield step(
        "scratch", lambda: [working.get("plan", **where), working.get("none", **where), working.scratch(**where)]
    )
    yield step("conflict", lambda: working.set("plan", 1, expect="", **where))
    yield step("take", lambda: [working.delete("plan", **where), working.delete("plan", **where)])
    yield step("sessions", lambda: [working.extend(**where), working.sessions(user="anna"), working.session(**where)])
    yield step("end", lambda: working.end(**where))
    yield step("consolidate", lambda: jay.consolidate(steps="drain", user="anna").steps[0].done)

    episodes = jay.episodes
    said = Message(id=UUID(int=6), role="assistant", content="Hello", name="jay", at=THEN)
    deal = Negotiation(parties=("a", "b"), turns=(Turn(by="a", said="10?", at=THEN),), outcome="agreed")
    yield step("episode", lambda: episodes.store_episode("It took 12 minutes", kind="observation", session="s-1"))
    yield step(
        "told", lambda: [episodes.store_episode(said, session="s-1"), episodes.store_episode(deal, session="s-1")]
    )
    yield step(
        "episodes",
        lambda: episodes.store_many(["Hm", {"content": "Ah", "role": "tool"}, deal], session="s-2", user="anna"),
    )
    yield step("timeline", lambda: episodes.timeline(session="s-2", user="anna"))
    yield step("find episodes", lambda: episodes.recall("agreed", around=1, session="s-1", touch=False))
    yield step("just now", lambda: episodes.fetch_recent_context("s-1", budget=200))

    tasks = jay.tasks
    yield step(
        "execution",
        lambda: tasks.store_execution(
            "T-1",
            "Ran the migration",
            True,
            task_description="Deploy the shop",
            error_patterns=[{"type": "E"}],
            at=THEN,
        ),
    )
    yield step(
        "executions",
        lambda: tasks.store_many(
            [Execution(task_id="T-2", execution_summary="It broke", success=False, tools=("sh",))], project="shop"
        ),
    )
    yield step("similar", lambda: list(tasks.search_similar("deploy the shop", similarity_threshold=0.1)))
    yield step("before", lambda: tasks.get_task_context("deploy the shop"))
    yield step("used", lambda: tasks.used(tasks.search_similar("deploy the shop")[0].receipt, "helped", note="well"))
    yield step("import tasks", lambda: tasks.import_lines(['{"task_id": "T-3"}', "", "no json"]))
    yield step("patterns", lambda: [jay.patterns.learn(), jay.patterns.search_patterns(), jay.patterns.families()])
    yield step("extract", lambda: jay.patterns.extract_pattern("deploy", min_samples=1))
    yield step("predict", lambda: [jay.patterns.predict("deploy"), jay.patterns.recommend("deploy")])
    yield step("feedback", lambda: jay.patterns.feedback(jay.patterns.search_patterns()[0].id, helpful=True))

    workspace, job = jay.workspace, {"goal": "Keep sessions", "repo_path": repository, "task_id": "W-1"}
    yield step("job", lambda: workspace.store_completion(files=["app.py"], tests={"passed": 1}, **job))
    yield step("no job", lambda: workspace.store_completion(status="failed", **job))
    yield step("jobs", lambda: workspace.search_memories(repository, query="sessions"))
    yield step("one job", lambda: workspace.get(workspace.search_memories(repository)[0].id))
    yield step("ingest", lambda: workspace.ingest(repository, project="code").files)
    yield step("code", lambda: workspace.search_code("keep a session", project="code"))
    yield step("files", lambda: workspace.relevant_files("keep a session", project="code"))
    yield step("cite", lambda: workspace.cite("Here", ["app.py#keep"], repo_path=repository, project="code"))
    yield step("secrets", lambda: workspace.scan_secrets(project="code"))
    yield step("prune", lambda: workspace.prune(repository, keep_for=timedelta(days=1), dry_run=True))
    agents, home = jay.agents, {"project": "shop"}
    deployer = agents.create("deployer", directives="Deploy what is merged", configuration={"model": "m"}, **home)
    yield "agent", compared.of(deployer)
    yield step("cycle", lambda: agents.begin_cycle(deployer, goal="Deploy release 7"))
    yield step("propose", lambda: agents.propose(deployer, "deploy", arguments={"release": 7}, reasoning="merged"))
    yield step("too early", lambda: agents.end_cycle("deployer", **home))
    yield step("result", lambda: agents.result(deployer, output={"seconds": 41}, artifacts=["log.txt"]))
    yield step("record", lambda: agents.record_memory(deployer, "reflection", "Calm on Mondays", namespaces=["long"]))
    yield step("ended", lambda: agents.end_cycle(deployer, state={"release": 7}, summary="Deployed"))
    yield step("resume", lambda: agents.resume("deployer", **home))
    yield step("steps", lambda: [agents.cycles(deployer), agents.steps(deployer, 1)])
    yield step("replay", lambda: list(agents.replay(deployer)))
    yield step("their memory", lambda: agents.recall(deployer, "when to deploy?", namespaces=["long"]))
    yield step("fork", lambda: agents.fork("deployer", "careful", at=1, **home))
    yield step("diff", lambda: agents.diff("deployer", 1, 1, other="careful", **home))
    yield step(
        "agents", lambda: [agents.list(**home), agents.update(deployer, status="archived"), agents.snapshots(deployer)]
    )
    yield step("no agent", lambda: agents.get("nobody"))
    yield step("work", lambda: [jay.work.status().failing, jay.work.parked(), jay.work.archives()])


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    (folder / ".git").mkdir()
    (folder / "app.py").write_text("def keep(session):\n    return session\n")
    return folder


@pytest.mark.parametrize(
    "own",
    ["stats", "count", "recall", "export", "a/history", "a/around", "patterns/x", "tasks/x/context", "a/b", "owl"],
)
def test_an_id_of_ones_own_may_be_a_word_of_a_route(library, remote, own):
    for jay in (library, remote):
        said = jay.remember(f"Told as {own}", id=own, key=f"own:{own}", user="wordy")
        where = {"user": "wordy"}
        assert jay.get(own, **where).id == said.id
        assert [one.id for one in jay.history(own, **where)] == [said.id]
        assert [one.id for one in jay.around(own, **where)] == [said.id]
        assert jay.update(own, importance=0.9, **where).memory.importance == 0.9
        # It names the newest version, and its UUID the first.
        for content in ("Told anew", "Told once more"):
            newest = jay.update(own, content=content, **where).memory
            assert (newest.content, jay.get(own, **where).id) == (content, newest.id)
        assert jay.get(said.id, **where).content == said.memory.content
        assert len(jay.history(own, **where)) == 3
        assert jay.forget(own, **where).ids == (newest.id,)


@pytest.mark.parametrize("own", ["conflicts", "search", "by-key", "preferences", "a/boost", "a/importance", "b/c"])
def test_so_may_that_of_a_fact(library, remote, own):
    for jay in (library, remote):
        said = jay.facts.store(f"It is {own}", id=own, key=f"fact:{own}", user="factual")
        assert jay.facts.get_by_id(own, user="factual").id == said.id
        assert jay.facts.update_importance(own, 0.9, user="factual").importance == 0.9
        newest = jay.update(own, content=f"It is still {own}", user="factual").memory
        assert jay.facts.get_by_id(own, user="factual").id == newest.id
        assert jay.facts.delete(own, user="factual").ids == (newest.id,)


NO_JSON = {"a": {1}}


@pytest.mark.parametrize(
    "tell",
    [
        lambda jay: jay.remember("x", data=NO_JSON),
        lambda jay: jay.remember("x", data={1: 2}),
        lambda jay: jay.remember_many([{"content": "x", "data": NO_JSON}]),
        lambda jay: jay.facts.store("x", data={"at": datetime(2026, 1, 1, tzinfo=UTC)}),
        lambda jay: jay.working.set("plan", NO_JSON, session="s"),
        lambda jay: jay.working.append({"role": "assistant", "tool_calls": [NO_JSON]}, session="s"),
        lambda jay: jay.agents.create("nobody", configuration=NO_JSON),
    ],
)
def test_what_is_no_json_is_refused_and_not_translated(library, remote, tell):
    for jay in (library, remote):
        with pytest.raises(InvalidInput, match=r"use JSON values only|JSON keys are text"):
            tell(jay)


def test_the_client_answers_as_the_library_does(library, remote, repository):
    ours = list(told(library, Compared(), repository))
    theirs = list(told(remote, Compared(), repository))
    assert len(ours) > 80
    different = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if mine != other]
    assert different == []
