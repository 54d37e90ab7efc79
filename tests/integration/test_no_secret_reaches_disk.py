"""No text that any verb of any memory takes brings a secret to disk: not to the records, their words, or Redis; nor
to an event or a line of the log.

Each verb that can write is called once for every parameter that it has, with a key of a well-known form planted there,
and a different one each time. Then everything that was stored is read, byte by byte.
"""

import json
import logging
import random
import string
from types import MappingProxyType

import psycopg
import pytest
import redis
from every_verb import parameters_of, verbs_of
from psycopg import sql

from scrubjay.errors import NotFound, StoreUnavailable
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

READING = {
    *("around", "count", "export", "get", "history", "list", "subscribe", "consolidate"),
    *("facts.get_by_id", "facts.get_by_key", "facts.get_user_preferences", "facts.get_project_facts"),
    *("facts.get_skills", "facts.history", "facts.as_of", "facts.list", "facts.conflicts", "facts.cleanup_expired"),
    *("facts.update_importance", "facts.boost_importance"),
    *("episodes.fetch_recent_context", "episodes.timeline", "work.parked", "work.retry", "work.archives"),
    *("working.recent", "working.scratch", "working.extend", "working.end", "working.session", "working.sessions"),
    *("missed", "access.keys", "access.revoke", "access.rotate", "access.audit"),
    *("agents.get", "agents.list", "agents.archive", "agents.cycles", "agents.steps", "agents.resume", "agents.replay"),
    *("agents.diff", "agents.files", "agents.snapshots", "agents.changes", "agents.restore"),
    # Files are kept as they are, byte for byte: docs/explanation/redaction.md says so.
    "agents.snapshot",
    *("patterns.get", "patterns.history", "patterns.families", "patterns.feedback", "patterns.learn"),
}
"""Verbs that store no text of their caller. Every other one is called."""

IDENTITIES = {"user", "project", "agent", "session", "workflow", "users", "projects", "agents"}
"""Names of a scope are kept as they are given: docs/explanation/redaction.md says so."""

NO_TEXT = {
    *("kind", "type", "level", "trust", "importance", "valid_from", "valid_to", "expires_at", "derived_from", "at"),
    *("encrypt", "mend", "auto_extract_patterns"),
    *("insert_only", "purge", "everything", "progress", "limit", "mode", "least_similarity", "explain", "touch"),
    *("types", "kinds", "since", "until", "as_of", "least_importance", "history", "budget", "sections", "as_", "ttl"),
    *("success", "attempt", "duration", "tokens", "cost", "memory_type", "outcome", "receipt", "success_only"),
    *("pattern_type", "min_samples", "across_projects", "min_confidence", "min_size"),
    *("rights",),
    *("status", "index", "cycle", "step", "expected", "namespaces", "recent", "to", "other"),
    *("top_k", "similarity_threshold", "memory_types", "role", "around", "expect", "conflict", "keep"),
}
"""Words of a fixed list, numbers and moments: anything else there is refused."""


class Planting:
    """Makes keys, and remembers where each was planted."""

    def __init__(self, hidden=""):
        self.planted = {}
        self._hidden = hidden
        self._letters = random.Random(0)

    def key(self, where):
        body = "".join(self._letters.choices(string.ascii_lowercase + string.digits, k=36))
        self.planted[body[12:]] = where
        return f"ghp_{body[:6]}{self._hidden}{body[6:]}"

    def found_in(self, stored):
        """The places whose keys are in these bytes; an index may fold letters, and leave out how a word begins."""
        folded = stored.lower()
        return sorted(where for rest, where in self.planted.items() if rest.encode() in folded)


def values_with(key, number):
    """A value for each parameter that takes text, with the key in it wherever there is room for one."""
    said = f"The token of host{number} is {key}, keep it"
    task = {"task_id": key, "execution_summary": said, "success": True, "error_patterns": [said, {"message": said}]}
    line = {"id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "created_at": "2026-01-01T00:00:00Z"}
    line |= {"valid_from": "2026-01-01T00:00:00Z", "superseded_at": "2026-01-02T00:00:00Z", "closed_because": said}
    header = {"format": "scrubjay-memories", "version": 1}
    call = {"id": key, "function": {"name": key, "arguments": said}}
    return {
        **dict.fromkeys(("content", "query", "task_description", "description", "execution_summary", "goal"), said),
        "task_type_pattern": key,
        **dict.fromkeys(("reason", "note"), said),
        **dict.fromkeys(("id", "key", "source", "author", "execution", "key_prefix", "task_id", "task_type"), key),
        **dict.fromkeys(("model", "parent", "name", "tool_call_id"), key),
        "data": MappingProxyType({"log": [said], key: 1}),
        **dict.fromkeys(("directives", "reasoning", "summary"), said),
        "tool": key,
        **{name: {"log": [said], key: [said]} for name in ("configuration", "arguments", "state")},
        **{name: [said, {key: said}] for name in ("plan", "thoughts", "output", "error")},
        "artifacts": [key, said],
        "items": [{"content": said, "data": {"deep": {"token": key, key: [said]}}, "key": key}, said],
        "episodes": [{"content": said, "tool_call_id": key}],
        "executions": [task],
        "lines": [json.dumps(header), json.dumps({**line, "content": said, "reason": said})],
        "errors": [said],
        "error_patterns": [said, {"type": key, "message": said}],
        **{name: [key, said, "a"] for name in ("tools", "files", "parties")},
        "turns": [{"by": "a", "said": said}],
        "tool_calls": [call],
        "messages": [{"role": "tool", "content": said, "name": key, "tool_calls": [call], "tool_call_id": key}, said],
        "value": {"log": [said], key: said, "tuple": (said,)},
    }


async def base_of(jay, dotted, number):
    """Arguments with which a verb does something each time."""
    word = f"word{number}"
    match dotted:
        case "update" | "forget":
            return {"id": (await jay.remember(f"{word} is here")).id} | (
                {"importance": 0.1} if dotted == "update" else {}
            )
        case "facts.delete":
            return {"id": (await jay.facts.store(f"{word} is here")).id}
        case "facts.delete_by_key" | "facts.purge":
            await jay.facts.store(f"{word} is here", key=word)
            return {"key": word}
        case "facts.restore":
            stored = await jay.facts.store(f"{word} is here")
            await jay.facts.delete(stored.id)
            return {"id": stored.id}
        case "facts.resolve":
            await jay.facts.store(f"The {word} port is 80", project=word)
            stored = await jay.facts.store(f"The {word} port is 81", project=word)
            return {"conflict": stored.conflicts[0].id, "keep": stored.id}
        case "tasks.used":
            await jay.tasks.store_execution(word, f"Did {word}", True, project=word)
            task = (await jay.tasks.search_similar(word, project=word))[0]
            return {"receipt": task.receipt, "outcome": "helped"}
        case "tasks.get_task_context":
            await jay.tasks.store_execution(word, f"Did {word}", True)
            return {"task_id": word}
        case "episodes.store_episode":
            return {"content": word}
        case _:
            return await agent_at_work(jay.agents, dotted, word) if dotted.startswith("agents.") else {}


async def agent_at_work(agents, dotted, word):
    """Bring an agent to where the verb does something; return what the verb needs."""
    if dotted != "agents.create":
        await agents.create(word)
    if dotted in ("agents.propose", "agents.result", "agents.end_cycle", "agents.record_memory"):
        await agents.begin_cycle(word)
    if dotted == "agents.result":
        await agents.propose(word, "write")
    needed = {
        "agents.update": {"status": "archived"},
        "agents.propose": {"tool": "write"},
        "agents.record_memory": {"kind": "plan", "content": word},
        "agents.recall": {"query": word},
        "agents.fork": {"to": f"{word}-twin"},
    }
    return {"agent": word, **needed.get(dotted, {})}


NEEDED = {
    "content": "something",
    "query": "something",
    "key": "something",
    "user": "anna",
    "project": "shop",
    "items": [],
    "episodes": [],
    "executions": [],
    "lines": [],
    "task_id": "SHOP-1",
    "execution_summary": "Did it",
    "success": True,
    "task_description": "Do it",
    "messages": "Hello",
    "name": "plan",
    "value": 1,
    "task_type_pattern": "deploy",
    "description": "Do it",
}


async def plant(jay, planting):
    """Call every verb with a key in each of its texts, one after the other."""
    number = 0
    for dotted, verb in verbs_of(jay).items():
        names, needed = parameters_of(verb)
        for parameter in sorted(set(names) - IDENTITIES - NO_TEXT) if dotted not in READING else ():
            number += 1
            given = values_with(planting.key(f"{dotted}({parameter})"), number)
            assert parameter in given, f"{dotted} takes {parameter}: say in `values_with` how a secret gets there"
            base = {name: NEEDED[name] for name in needed if name in NEEDED} | await base_of(jay, dotted, number)
            if parameter in ("id", "key") and dotted in ("forget", "facts.restore", "facts.purge"):
                # They take an id or a key, never both.
                base = {}
            if parameter in ("parties", "turns"):
                base |= {"parties": ["a", "b"], "turns": [{"by": "a", "said": "Hello"}]}
            if dotted.startswith("working."):
                base["session"] = "s"
            try:
                await verb(**{**base, parameter: given[parameter]})
            except NotFound:
                assert parameter in ("id", "key", "task_id"), f"{dotted}({parameter}) does nothing"
            except StoreUnavailable:
                # Only a Redis that is away could tell what it has under a name.
                assert dotted in ("working.get", "working.delete")


def stored_in_postgres(url):
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        whole = [sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)) for (table,) in tables]
        return "".join(str(connection.execute(query).fetchall()) for query in whole).encode()


def stored_in_redis(url):
    client, stored = redis.Redis.from_url(url), []
    readers = {
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"set": client.smembers,
        b"stream": client.xrange,
        b"string": client.get,
    }
    for key in client.scan_iter():
        stored += [key, str(readers[client.type(key)](key)).encode()]
    client.close()
    return b"".join(stored)


def stored_in_files(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(params=["embedded", "servers"])
def places(request, tmp_path):
    """Settings, and how to read all that was stored with them."""
    if request.param == "embedded":
        return {}, lambda: stored_in_files(tmp_path)
    postgres = request.getfixturevalue("postgres_database")()
    server = request.getfixturevalue("redis_url")
    return (
        {"records": postgres, "working": server, "working_durability": "redis"},
        lambda: stored_in_postgres(postgres) + stored_in_redis(server) + stored_in_files(tmp_path),
    )


def listening_to(jay):
    """What events say, as they come."""
    said = []
    jay.subscribe("*", lambda event: said.append(repr(event)))
    return said


async def test_no_verb_lets_a_secret_through(places, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    options, stored = places
    planting = Planting()
    settings = read_settings(home=tmp_path, background=False, **options)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        said = listening_to(jay)
        await plant(jay, planting)
        assert len(planting.planted) > 100
        assert planting.found_in(stored()) == []
        await jay.working.end(session="s")
        await jay.consolidate()
        assert planting.found_in(stored()) == []
    assert planting.found_in(stored()) == []
    assert said
    assert planting.found_in(f"{said} {caplog.text}".encode()) == []


async def test_no_verb_lets_a_secret_through_in_which_an_invisible_character_stands(tmp_path):
    planting = Planting(hidden="\u200b")
    settings = read_settings(home=tmp_path, background=False)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        said = listening_to(jay)
        await plant(jay, planting)
    assert planting.found_in(stored_in_files(tmp_path) + repr(said).encode()) == []


async def test_no_job_and_none_of_its_files_lets_a_secret_through(tmp_path):
    planting = Planting()
    settings = read_settings(home=tmp_path / "home", background=False)
    said = lambda where: f"Use {planting.key(where)} here"  # noqa: E731 -- the same words, another key
    environment = json.dumps([{"name": "DB_PASSWORD", "value": "Kx7Qm92vTz4L"}])
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        heard = listening_to(jay)
        await jay.workspace.store_completion(
            goal=said("goal"),
            repo_path=tmp_path / "repo",
            task_id=planting.key("task_id"),
            summary=said("summary"),
            files={
                "a/env.json": environment,
                f"b/{planting.key('path')}.txt": "a file whose name holds a key",
                "c/notes.md": said("content"),
                "d/deep.json": json.dumps({"content": json.dumps({"note": said("deep")})}),
            },
            tests=[said("tests")],
        )
        written = "".join([line async for line in jay.export()])
    stored = stored_in_files(tmp_path / "home") + f"{written} {heard}".encode()
    assert planting.found_in(stored) == []
    assert b"Kx7Qm92vTz4L" not in stored


async def test_what_is_planted_would_be_found(tmp_path):
    planting = Planting()
    settings = read_settings(home=tmp_path, background=False, redact=False)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        await jay.remember(f"The token is {planting.key('content')}")
        await jay.working.set("plan", planting.key("value"), session="s")
    assert planting.found_in(stored_in_files(tmp_path)) == ["content", "value"]
