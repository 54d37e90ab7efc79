"""A workflow has memory when there is one, and goes on when there is none."""

import asyncio
import logging

import pytest

import scrubjay
from scrubjay import AsyncWorkflowMemory, WorkflowMemory
from scrubjay.errors import InvalidInput, Misconfigured

EMPTY = {"preferences", "instructions", "facts", "conventions", "tech_stack", "skills", "rules", "patterns", "feedback"}


@pytest.fixture
def settings(tmp_path):
    return {"home": tmp_path / "home", "embedder": "none", "background": False}


def tell_and_ask(memory):
    preference = memory.store_user_preference("u-42", "indent", "Prefers tabs")
    learned = memory.store_learned_fact("u-42", "db", {"port": 5432}, "atlas", execution_id="run-7")
    return preference, learned, memory.get_context_for_workflow("u-42", "atlas")


def check(preference, learned, known):
    assert (preference.outcome, preference.fact.key, str(preference.fact.scope)) == (
        "stored",
        "pref:indent",
        "user=u-42",
    )
    assert (learned.fact.key, learned.fact.execution, learned.fact.data) == (
        "fact:db",
        "run-7",
        {"value": {"port": 5432}},
    )
    assert str(learned.fact.scope) == "user=u-42 project=atlas"
    assert learned.fact.memory.trust == "concluded"
    assert [one["content"] for one in known["preferences"]] == ["Prefers tabs"]
    assert [one["key"] for one in known["facts"]] == ["fact:db"]
    assert known["available"]
    assert set(known) == EMPTY | {"text", "tokens", "available"}
    assert "- Prefers tabs" in known["text"]


def test_on_an_open_memory(settings):
    with scrubjay.open(**settings) as jay:
        memory = WorkflowMemory(jay)
        check(*tell_and_ask(memory))
        memory.close()
        assert jay.count() == 2, "what was open before stays open"


def test_opened_when_it_is_needed(settings):
    opened = []

    def opener():
        opened.append(scrubjay.open_async(**settings))
        return opened[-1]

    with WorkflowMemory(opener) as memory:
        assert opened == []
        check(*tell_and_ask(memory))
        assert len(opened) == 1
    memory.close()


def test_the_default_memory_is_opened_when_none_is_given(settings, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_HOME", str(settings["home"]))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    with WorkflowMemory() as memory:
        assert not settings["home"].exists()
        check(*tell_and_ask(memory))
    assert settings["home"].exists()


async def test_awaited(settings):
    async with scrubjay.open_async(**settings) as jay:
        memory = AsyncWorkflowMemory(jay)
        preference = await memory.store_user_preference("u-42", "indent", "Prefers tabs")
        learned = await memory.store_learned_fact("u-42", "db", {"port": 5432}, "atlas", execution_id="run-7")
        check(preference, learned, await memory.get_context_for_workflow("u-42", "atlas"))
        await memory.close()
        assert await jay.count() == 2


async def test_awaited_on_a_memory_that_is_not_open_yet(settings):
    async with AsyncWorkflowMemory(scrubjay.open_async(**settings)) as memory:
        assert (await memory.get_context_for_workflow("u-42"))["available"]


def check_without(preference, learned, known):
    assert (preference, learned) == (None, None)
    assert known == {**{name: [] for name in EMPTY}, "text": "", "tokens": 0, "available": False}


async def test_steps_side_by_side_open_one_memory(settings):
    made = []

    def opener():
        made.append(scrubjay.open_async(**settings))
        return made[-1]

    async with AsyncWorkflowMemory(opener) as memory:
        await asyncio.gather(*(memory.store_learned_fact("u-42", f"k{place}", "v") for place in range(4)))
    assert len(made) == 1


def test_a_workflow_goes_on_when_the_memory_was_closed(settings, caplog):
    jay = scrubjay.open(**settings)
    memory = WorkflowMemory(jay)
    jay.close()
    with caplog.at_level(logging.WARNING, logger="scrubjay.workflow"):
        check_without(*tell_and_ask(memory))
    assert len([one for one in caplog.records if "goes on without memory" in one.getMessage()]) == 3


@pytest.mark.parametrize(
    "records", ["postgresql://nobody@127.0.0.1:1/none", "sqlite:////proc/none/scrubjay.db"], ids=["server", "folder"]
)
def test_a_workflow_goes_on_when_the_store_cannot_be_reached(settings, records, caplog):
    memory = WorkflowMemory(lambda: scrubjay.open_async(**settings, records=records))
    with memory, caplog.at_level(logging.WARNING, logger="scrubjay.workflow"):
        assert memory.store_user_preference("u-42", "indent", "Prefers tabs") is None
        assert not memory.get_context_for_workflow("u-42")["available"]
    assert "get_context_for_workflow" in caplog.text


def test_a_wrong_setting_is_logged_too(settings, caplog):
    def opener():
        raise Misconfigured("SCRUBJAY_VECTORS is wrong")

    with WorkflowMemory(opener) as memory, caplog.at_level(logging.WARNING, logger="scrubjay.workflow"):
        assert not memory.get_context_for_workflow("u-42")["available"]
    assert "SCRUBJAY_VECTORS is wrong" in caplog.text


def test_it_comes_back_with_the_memory(settings):
    broken = [True]

    def opener():
        if broken:
            raise Misconfigured("not yet")
        return scrubjay.open_async(**settings)

    with WorkflowMemory(opener) as memory:
        assert memory.store_user_preference("u-42", "indent", "Prefers tabs") is None
        broken.clear()
        check(*tell_and_ask(memory))


def test_what_the_workflow_did_wrong_is_told(settings):
    with scrubjay.open(**settings) as jay, pytest.raises(InvalidInput, match="content is"):
        WorkflowMemory(jay).store_user_preference("u-42", "indent", " ")
    for key in ("", None):
        with scrubjay.open(**settings) as jay, pytest.raises(InvalidInput, match="key is"):
            WorkflowMemory(jay).store_learned_fact("u-42", key, "PostgreSQL 18")


def test_the_wrong_sort_of_memory_is_refused(settings):
    with pytest.raises(InvalidInput, match="use AsyncWorkflowMemory"):
        WorkflowMemory(scrubjay.open_async(**settings))
    with scrubjay.open(**settings) as jay, pytest.raises(InvalidInput, match="use WorkflowMemory"):
        AsyncWorkflowMemory(jay)
