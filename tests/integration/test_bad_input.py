"""Bad input gets one clear error, whichever verb it is given to and wherever it stands in the call.

Every parameter of every verb is given things that nobody should give. What is refused is refused by an error of ours,
before anything is written; what is taken can be read again. A driver's error, a TypeError or a hang fails here.
"""

import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from inspect import isawaitable
from uuid import uuid4

import pytest
from every_verb import parameters_of, verbs_of

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.model.checks import DEPTH_LIMIT, shown
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


POISON = {
    "None": None,
    "an object": object(),
    "a class": dict,
    "a number": 5,
    "minus one": -1,
    "not a number": math.nan,
    "infinity": math.inf,
    "70 bits": 2**70,
    "5,000 digits": 10**5_000,
    "empty text": "",
    "blank text": " \t",
    "NUL": "a\x00b",
    "half a pair": "a\ud800b",
    "two lines": "a\nb",
    "a long name": "k" * 300,
    "a million letters and one": "x" * 1_000_001,
    "bytes": b"text",
    "a list of a number": [1],
    "a list of an object": [object()],
    "a list of NUL": ["a\x00b"],
    "a list of half a pair": ["a\ud800b"],
    "a set": {1, "a"},
    "a dict with NaN": {"a": math.nan},
    "a dict with keys of two types": {1: 2, "a": 3},
    "a dict with NUL": {"a\x00b": "c"},
    "a dict with half a pair": {"a": "\ud800"},
    "lists inside lists": nested(5_000),
    "a naive moment": datetime(2026, 1, 1),  # noqa: DTZ001 -- that is what is wrong with it
    "the first moment": datetime.min.replace(tzinfo=UTC),
    "the last moment": datetime.max.replace(tzinfo=UTC),
    "a long time": timedelta(days=1_000_000),
    "an unknown id": uuid4(),
}

FOR_DRIVERS = ("70 bits", "NUL", "half a pair", "a dict with NUL", "a dict with half a pair", "the last moment")
"""What a database or Redis might choke on. The rest is refused, or not, before any of them is asked."""

NO_VALUES = {"progress", "handler", "policy"}
"""Python objects that are called or used, not values that come from a user."""

FLAGS = {"touch", "explain", "history", "dry_run", "everything"}
"""What only chooses how to answer, and is taken as true or false."""


async def valid_arguments(jay):
    """For each name, something that is right in a verb that needs it."""
    fact = (await jay.facts.store("The port is 8080", key="fact:port")).fact
    await jay.facts.store("Deploys run on Monday")
    flagged = await jay.facts.store("Deploys run on Tuesday")
    await jay.tasks.store_execution("T-1", "Kept the cookie", True, task_description="Log in fails")
    [task] = await jay.tasks.search_similar("Log in fails")
    await jay.working.append("Hello", session="s")
    await jay.working.set("plan", 1, session="s")
    await jay.agents.create("builder")
    await jay.agents.begin_cycle("builder")
    await jay.agents.propose("builder", "write")
    return {
        "agent": "builder",
        "tool": "write",
        "kind": "plan",
        "cycle": 1,
        "before": 1,
        "after": 1,
        "path": "files",
        "to": "twin",
        "id": fact.id,
        "key": "fact:port",
        "user": "anna",
        "project": "shop",
        "content": "something",
        "query": "port",
        "items": ["something"],
        "lines": [],
        "importance": 0.5,
        "conflict": flagged.conflicts[0].id,
        "keep": "both",
        "task_id": "T-2",
        "execution_summary": "Did it",
        "success": True,
        "executions": [],
        "receipt": task.receipt,
        "outcome": "helped",
        "task_description": "Log in fails",
        "messages": "Hello",
        "name": "plan",
        "value": 1,
        "handler": print,
        "session": "s",
        "episodes": ["Hello"],
        "description": "Log in fails",
        "task_type_pattern": "log.?in",
        "pattern_id": "none",
        "helpful": True,
    }


async def answered(verb, given):
    answer = verb(**given)
    if isinstance(answer, AsyncIterator):
        return [line async for line in answer]
    return await answer if isawaitable(answer) else answer


async def everything(jay):
    """All that is stored, but for how often it was read."""
    working = [await jay.working.recent(session="s"), await jay.working.scratch(session="s")]
    return [line async for line in jay.export()], [str(one) for one in working]


@pytest.fixture(params=["embedded", "servers"])
async def jay(request, tmp_path):
    options = {}
    if request.param == "servers":
        options["records"] = request.getfixturevalue("postgres_database")()
        options["working"] = request.getfixturevalue("redis_url")
    settings = read_settings(home=tmp_path, tenant=uuid4().hex, background=False, **options)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        yield jay


async def test_every_verb_refuses_what_it_cannot_use(jay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    valid = await valid_arguments(jay)
    on_servers = jay.parts.names["records"].startswith("postgresql")
    poison = {kind: POISON[kind] for kind in FOR_DRIVERS} if on_servers else POISON
    tried, wrong = 0, []
    for dotted, verb in verbs_of(jay).items():
        names, needed = parameters_of(verb)
        base = {name: valid[name] for name in needed}
        if dotted.startswith("working.") and dotted != "working.sessions":
            base["session"] = "s"
        for name in names:
            for kind, value in poison.items() if name not in NO_VALUES | FLAGS else ():
                tried += 1
                try:
                    await answered(verb, {**base, name: value})
                except (InvalidInput, NotFound, Conflict) as error:
                    wrong += [f"{dotted}({name}={kind}): too long to read"] if len(str(error)) > 1_000 else []
                except Exception as error:  # noqa: BLE001 -- any other error is the bug that is looked for
                    wrong.append(f"{dotted}({name}={kind}) raises {error!r}"[:300])
    assert not wrong, "\n".join(wrong)
    assert tried > 100 * len(poison)
    # Nothing that was taken makes a whole read fail.
    assert await everything(jay)


REFUSED = [
    ("facts.store", {"content": "x", "data": {"deep": nested(DEPTH_LIMIT)}}, "data"),
    ("facts.store", {"content": "x", "data": {"n": 10**5_000}}, "data.n"),
    ("facts.store", {"content": "x", "derived_from": "not a list"}, "derived_from"),
    ("facts.store", {"content": "x", "execution": ""}, "execution"),
    ("facts.store", {"content": "x", "reason": "a\x00b"}, "reason"),
    ("facts.store", {"content": "x", "insert_only": "false"}, "insert_only"),
    ("facts.store_many", {"items": "one text"}, "items"),
    ("facts.store_many", {"items": ["fine", 5]}, "item"),
    ("facts.store_user_preference", {"user": "anna", "key": None, "content": "x"}, "key"),
    ("facts.store_user_preference", {"user": "anna", "key": "", "content": "x"}, "key"),
    ("facts.get_by_key", {"key": None}, "key"),
    ("facts.list", {"order": "upwards"}, "order"),
    ("facts.search", {"query": "x", "types": 5}, "types"),
    ("facts.search", {"query": "x", "data": "x"}, "data"),
    ("facts.cleanup_expired", {"purge": "false"}, "purge"),
    ("forget", {"key": "fact:port", "purge": "false"}, "purge"),
    ("forget", {"key": "fact:port", "reason": "\ud800"}, "reason"),
    ("forget", {"id": 5}, "id"),
    ("remember_many", {"items": "one text"}, "items"),
    ("tasks.store_execution", {"task_id": "T", "execution_summary": "x", "success": True, "cost": 10**5_000}, "cost"),
    ("tasks.store_many", {"executions": "T-1"}, "executions"),
    ("tasks.search_similar", {"task_description": "x", "success_only": "false"}, "success_only"),
    ("tasks.get_task_context", {"description": "x", "tools": "pytest"}, "tools"),
    ("working.set", {"name": "plan", "value": nested(DEPTH_LIMIT), "session": "s"}, "value"),
    ("working.set", {"name": "plan", "value": 1, "expect": 5, "session": "s"}, "expect"),
    ("working.get", {"name": "a\x00b", "session": "s"}, "name"),
    ("working.append", {"messages": {"role": "user", "content": "x", 5: 6}, "session": "s"}, "5"),
]


@pytest.mark.parametrize(("dotted", "given", "named"), REFUSED)
async def test_the_error_names_what_is_wrong_and_nothing_is_written(new_setup, dotted, given, named):
    jay = await new_setup("sqlite").open()
    await valid_arguments(jay)
    before = await everything(jay)
    with pytest.raises(InvalidInput, match=f"(^| ){named}\\b"):
        await answered(verbs_of(jay)[dotted], given)
    assert await everything(jay) == before


def test_a_value_that_cannot_be_shown_still_makes_a_message():
    assert shown(10**5_000) == "of type int and too large to show"
    assert shown(nested(5_000)) == "of type list and too large to show"
