"""Nobody reads or changes what belongs to somebody else, by any verb of any memory.

The verbs are found by reflection, and each is called with all that a stranger may have got hold of: ids, keys,
receipts, versions and names. So a verb that is added later is walked as well; one that asks for something new fails
here until `Owned.known` says what a stranger would give it.
"""

import inspect
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import fields, is_dataclass
from uuid import UUID, uuid4

import pytest
from every_verb import parameters_of, verbs_of

from scrubjay.errors import ScrubjayError
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

MARK = "Ornithorhynchus"
"""A word in every text of the owner. A stranger never says it, and must never hear it."""


class Owned:
    """What somebody keeps in every memory, and what a stranger knows of it."""

    def __init__(self, jay, folder):
        self.jay = jay
        self.folder = folder
        self.where = {"user": "anna", "project": "shop"}
        self.session = f"s-{uuid4()}"
        self.heard = []

    async def fill(self):
        jay, where = self.jay, self.where
        note = await jay.remember(f"{MARK} note", key="note", id="my-own-id", session=self.session, **where)
        fact = await jay.facts.store(f"The {MARK} port is 8080", key="fact:port", **where)
        await jay.facts.store_user_preference("anna", "indent", f"{MARK} tabs", project="shop")
        await jay.facts.store_skill("deploy", f"Push the {MARK} tag", **where)
        gone = await jay.facts.store(f"The {MARK} host is gone", **where)
        await jay.facts.delete(gone.id, **where)
        await jay.facts.store(f"{MARK} deploys run on Monday", **where)
        other = await jay.facts.store(f"{MARK} deploys run on Tuesday", **where)
        assert other.conflicts
        for number in range(6):
            for works in (True, False):
                tool = "migrate" if works else "guess"
                told = {"task_description": f"deploy the {MARK} shop", "tools": [tool], "task_type": "deploy"}
                await jay.tasks.store_execution(f"SHOP-{number}-{works}", f"{MARK} {tool}", works, **told, **where)
        [similar, *_] = await jay.tasks.search_similar("deploy the shop", **where)
        context = await jay.tasks.get_task_context("deploy the shop", **where)
        await jay.tasks.used(similar.receipt, "helped", note=f"{MARK} helped", **where)
        await jay.patterns.learn(**where)
        learned = await jay.patterns.search_patterns(**where)
        said = await jay.working.append([f"{MARK} hello", f"{MARK} again"], session=self.session, **where)
        scratch = await jay.working.set("plan", f"{MARK} plan", session=self.session, **where)
        episode = await jay.episodes.store_episode(f"{MARK} happened", session=self.session, **where)
        agent = await self.fill_agents()
        self.ids = [note.id, fact.id, gone.id, other.id, other.conflicts[0].id, similar.memory_id, episode.id]
        self.ids += [said[0].id, "my-own-id", *(pattern.id for pattern in learned[:1]), agent.id]
        self.receipts = [similar.receipt, context.receipt]
        self.version = scratch.version
        return await self.kept()

    async def fill_agents(self):
        """An agent that stopped in its second cycle, with files of its own."""
        agents, where, files = self.jay.agents, self.where, self.folder / "files"
        files.mkdir()
        (files / "page.md").write_text(f"{MARK} page")
        agent = await agents.create("planner", directives=f"{MARK} directives", configuration={"a": MARK}, **where)
        await agents.begin_cycle("planner", goal=f"{MARK} goal", **where)
        await agents.propose("planner", "write", arguments={"path": MARK}, thoughts=[MARK], **where)
        await agents.result("planner", output=f"{MARK} output", error=MARK, artifacts=[f"{MARK}.md"], **where)
        await agents.record_memory("planner", "plan", f"{MARK} plan", namespaces=["long-term"], **where)
        await agents.snapshot("planner", files, **where)
        await agents.end_cycle("planner", state={"kept": MARK}, summary=f"{MARK} summary", **where)
        await agents.begin_cycle("planner", goal=f"{MARK} goal", **where)
        await agents.propose("planner", "read", reasoning=f"{MARK} reason", **where)
        return agent

    async def kept(self):
        """All that the owner has, word for word."""
        await self.jay.parts.uses.flush()
        in_session = {"session": self.session, **self.where}
        return (
            [line async for line in self.jay.export(**self.where)],
            list(await self.jay.working.recent(source="working", **in_session)),
            await self.jay.working.scratch(**in_session),
            await self.jay.working.session(**in_session),
        )

    def known(self, lines):
        """What a stranger would give for a parameter of this name, in turn."""
        taken = [{"id": one, "content": "mine"} for one in self.ids]
        return {
            **dict.fromkeys(("id", "conflict", "pattern_id"), self.ids),
            "after": [*self.ids, 1],
            **{name: [1, 2] for name in ("cycle", "before", "step", "index")},
            "at": [0, 1],
            "tool": ["write"],
            "kind": ["plan"],
            "other": ["planner"],
            "status": ["abandoned", "archived"],
            "namespaces": [["long-term"]],
            "path": [str(self.folder)],
            "to": [str(self.folder / "twin")],
            "keep": [*self.ids, "both"],
            "derived_from": [[one] for one in self.ids],
            "key": ["note", "fact:port", "pref:indent", "skill:deploy"],
            "key_prefix": ["fact:", "task:"],
            "receipt": self.receipts,
            "task_id": ["SHOP-1-True"],
            "name": ["plan"],
            "expect": [self.version],
            "session": [self.session],
            "agent": ["planner"],
            "workflow": ["release"],
            "user": ["anna"],
            "project": ["shop"],
            **{name: ["deploy the port, host and shop"] for name in ("query", "description", "task_description")},
            **{name: ["mine"] for name in ("content", "execution_summary", "reason", "note")},
            "items": [[one] for one in taken],
            "messages": [{"id": one, "content": "mine"} for one in self.ids],
            "episodes": [[one] for one in taken],
            "executions": [[{"task_id": "SHOP-1-True", "execution_summary": "mine", "success": False}]],
            "lines": lines,
            "value": ["mine"],
            "success": [True],
            "outcome": ["helped", "hurt"],
            "importance": [0.0],
            "task_type_pattern": ["deploy"],
            "helpful": [False],
            "everything": [True],
            "purge": [True],
            "history": [True],
            "across_projects": [True],
            "handler": [self.heard.append],
        }


def lines_with(ids):
    """Lines to import, each with an id that is taken."""
    told = {"content": "mine", "created_at": "2026-01-01T00:00:00Z", "valid_from": "2026-01-01T00:00:00Z"}
    header = json.dumps({"format": "scrubjay-memories", "version": 1})
    return [[header, json.dumps({**told, "id": str(one)})] for one in ids if isinstance(one, UUID)]


def calls_of(verb, known, where):
    """Every way to call a verb in which one thing varies that a stranger knows."""
    names, needed = parameters_of(verb)
    unknown = [name for name in needed if name not in known and name not in where]
    assert not unknown, f"{verb.__qualname__} needs {unknown}: say in `Owned.known` what a stranger would give"
    base = {name: known[name][0] for name in needed if name not in where} | {
        k: v for k, v in where.items() if k in names
    }
    if verb.__self__.__class__.__name__ == "WorkingMemory" and "session" in names:
        base["session"] = known["session"][0]
    yield base
    for name in names:
        yield from ({**base, name: value} for value in known.get(name, ()) if name not in where)


def texts_in(value, seen=None):
    """Every text inside an answer, however deep."""
    seen = seen if seen is not None else set()
    if isinstance(value, str):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        if is_dataclass(value):
            inner = [getattr(value, one.name) for one in fields(value)]
        elif isinstance(value, Mapping):
            inner = [*value.keys(), *value.values()]
        else:
            inner = value if isinstance(value, list | tuple | set | frozenset) else ()
        for one in inner:
            yield from texts_in(one, seen)


async def answer_of(verb, given):
    """What the stranger gets to see: the answer, or the error."""
    try:
        answer = verb(**given)
        if isinstance(answer, AsyncIterator):
            return [line async for line in answer]
        return await answer if inspect.isawaitable(answer) else None
    except ScrubjayError as error:
        return str(error)


STRANGERS = {
    "another tenant with the same names": ("evil", {"user": "anna", "project": "shop"}),
    "another tenant that names nothing": ("evil", {}),
    "another user of the same tenant": ("acme", {"user": "bob", "project": "shop"}),
}

WALKS = [
    *(("memory", stranger) for stranger in STRANGERS),
    *((engine, stranger) for engine in ("sqlite", "postgresql", "redis") for stranger in list(STRANGERS)[::2]),
]


@pytest.fixture
async def installation(engine, new_setup, tmp_path, request):
    """One installation that two tenants share; `redis` keeps working memory there."""
    if engine != "redis":
        yield await new_setup(engine).open()
        return
    settings = read_settings(
        home=tmp_path, working=request.getfixturevalue("redis_url"), working_durability="redis", background=False
    )
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        yield jay


@pytest.mark.parametrize(("engine", "stranger"), WALKS)
async def test_a_stranger_neither_reads_nor_changes_anything(installation, engine, stranger, tmp_path):
    run = uuid4().hex
    name, where = STRANGERS[stranger]
    owned = Owned(installation.for_tenant(f"acme-{run}"), tmp_path)
    evil = installation.for_tenant(f"{name}-{run}")
    evil.subscribe("*", owned.heard.append, **where)
    before = await owned.fill()
    assert MARK in str(before)
    known = owned.known(lines_with(owned.ids))
    verbs = verbs_of(evil)
    if engine == "redis":
        verbs = {dotted: verb for dotted, verb in verbs.items() if dotted.startswith("working.")}
    walked = 0
    for dotted, verb in verbs.items():
        for given in calls_of(verb, known, where):
            answer = await answer_of(verb, given)
            leaked = [text for text in texts_in(answer) if MARK in text]
            assert not leaked, f"{dotted}({given}) tells {leaked[0][:200]}"
            walked += 1
    assert walked > 5 * len(verbs)
    assert await owned.kept() == before
    seen = [event.scope for event in owned.heard if event.scope is not None]
    assert seen or engine == "redis"
    assert all(evil.scoped(where).sees(scope) for scope in seen)
