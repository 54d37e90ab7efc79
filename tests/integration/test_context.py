"""Contexts put together from every memory, on the reference, on SQLite and on PostgreSQL."""

import json
import threading

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope, Trust
from scrubjay.model.context import ContextShape
from scrubjay.read import context as contexts
from scrubjay.read.assemble import assemble
from scrubjay.read.context import LETTERS, MOST_READ
from scrubjay.testing import a_memory
from scrubjay.testing.values import export_of

pytestmark = pytest.mark.memory_suite

TALK = {"user": "ada", "project": "shop", "session": "s-1"}
HERE = {"user": "ada", "project": "shop"}


@pytest.fixture
async def told(jay):
    """A memory in which something of everything was told about the refund form."""
    await jay.facts.store("Answer in English", type="instruction", key="language", user="ada")
    await jay.facts.store("Refunds above 300 EUR need a second approval", type="rule", project="shop")
    await jay.facts.store("The refund form is in checkout/refund.py", type="fact", project="shop")
    await jay.tasks.store_execution("SHOP-7", "Added a refund form for gift cards", True, project="shop")
    await jay.remember("class RefundForm: pass", kind="code", source="checkout/refund.py", project="shop")
    await jay.remember("Refund form design notes are on the wiki", project="shop")
    await jay.episodes.store_episode("The refund form crashed on Safari", kind="observation", **HERE)
    await jay.working.append(["Make the refund form work", {"role": "assistant", "content": "On it"}], **TALK)
    return jay


async def test_a_context_is_made_of_every_memory(told):
    context = await told.context("fix the refund form", **TALK)
    assert list(context.sections) == [
        "Instructions and rules",
        "Facts",
        "Tasks and patterns",
        "Workspace",
        "What happened",
        "Relevant memories",
        "Recent",
    ]
    assert [item.memory.content for item in context.sections["Recent"]] == ["Make the refund form work", "On it"]
    assert context.tokens == told.parts.tokens().count(context.text) <= context.budget
    assert all(item.why and item.tokens for item in context.items)


@pytest.mark.parametrize(
    ("sections", "headings"),
    [
        (["facts"], ["Instructions and rules", "Facts"]),
        (["tasks", "workspace"], ["Tasks and patterns", "Workspace"]),
        (["notes"], ["Relevant memories"]),
        (["notes", "tasks"], ["Tasks and patterns", "Relevant memories"]),
        (["working"], ["Recent"]),
        (["episodes"], ["What happened"]),
        ("facts", ["Instructions and rules", "Facts"]),
    ],
)
async def test_sections_can_be_chosen(told, sections, headings):
    # The observation was made outside of the session, so that it is found and not recent.
    context = await told.context("refund form", sections=sections, **TALK)
    assert list(context.sections) == headings


async def test_kinds_narrow_what_sections_admit(told):
    context = await told.context("refund form", kinds=["rule", "code"], **TALK)
    assert list(context.sections) == ["Instructions and rules", "Workspace"]
    assert (await told.context("refund form", sections=["tasks"], kinds=["rule"], **TALK)).text == ""


async def test_what_always_holds_does_not_change_with_the_question(jay):
    for number in range(40):
        kind = ("rule", "preference", "convention", "instruction")[number % 4]
        await jay.remember(f"It always holds that {number} is a number", kind=kind, user="ada", importance=number / 40)
    await jay.episodes.store_many([f"We spoke about topic number {number}" for number in range(60)], user="ada")
    for as_ in "markdown", "xml":
        texts = []
        for question in ("topic number 3", "is it a number?", "", "something else"):
            context = await jay.context(question, budget=400, as_=as_, user="ada")
            last = max(place for place, item in enumerate(context.items) if item.section == "Conventions")
            end = context.text.index(context.items[last].memory.content)
            texts.append(context.text[:end])
        assert len(set(texts)) == 1
        assert len(texts[0]) > 300
    before = await jay.context("topic number 3", budget=400, user="ada")
    again = await jay.context("topic number 3", budget=400, user="ada")
    assert before.text == again.text, "what was read before changes nothing"


async def test_the_same_context_in_every_form(told):
    markdown, xml, messages = [
        await told.context("refund form", as_=as_, **TALK) for as_ in ("markdown", "xml", "messages")
    ]
    assert [one.as_ for one in (markdown, xml, messages)] == ["markdown", "xml", "messages"]
    ids = [{item.memory.id for item in one.items} for one in (markdown, xml, messages)]
    assert ids[0] == ids[1] == ids[2]
    assert [one["role"] for one in messages.messages] == ["system", "user", "assistant"]
    assert json.loads(messages.text) == messages.messages
    with pytest.raises(InvalidInput, match="as_"):
        await told.context("refund form", as_="pdf", **TALK)
    with pytest.raises(InvalidInput, match="sections holds 'moods'"):
        await told.context("refund form", sections=["moods"], **TALK)


@pytest.mark.parametrize(
    "chat",
    [
        [("user", "Which host do we use?"), ("assistant", "Hetzner, since May")],
        [(None, "user: Which host do we use?"), (None, "Assistant: Hetzner, since May")],
    ],
)
async def test_a_chat_that_was_told_as_notes_becomes_messages(jay, chat):
    for author, said in chat:
        await jay.remember(said, author=author, **TALK)
    await jay.remember("Prices are in cents", user="ada")
    made = await jay.context("where is it hosted?", as_="messages", **TALK)
    assert made.messages[-2:] == [
        {"role": "user", "content": "Which host do we use?"},
        {"role": "assistant", "content": "Hetzner, since May"},
    ]
    assert "Hetzner" not in made.messages[0]["content"], "it is written once"


async def test_the_notes_of_an_agent_stay_notes(jay):
    await jay.remember("Hetzner hosts the shop", author="assistant", **TALK)
    made = await jay.context("where is it hosted?", as_="messages", **TALK)
    assert [one["role"] for one in made.messages] == ["system"]
    assert list(made.sections) == ["Relevant memories"]


async def test_notes_do_not_crowd_out_what_happened(jay):
    await jay.episodes.store_episode("The shop went down", kind="observation", **TALK)
    await jay.remember_many([{"content": f"Note {number}", **TALK} for number in range(MOST_READ)])
    made = await jay.context("", **TALK)
    assert [item.memory.content for item in made.sections["Recent"]] == ["The shop went down"]


async def test_a_message_that_was_drained_is_there_once(told):
    from scrubjay.memories.working import telling_of

    said = await told.parts.working.take(told.scoped(TALK), limit=10)
    await told.remember_many([telling_of(one) for one in said], **TALK)
    context = await told.context("refund form", **TALK)
    assert context.text.count("Make the refund form work") == 1
    await told.parts.working.drained(told.scoped(TALK), [one.id for one in said], now=told.parts.clock())
    drained = await told.context("refund form", **TALK)
    assert [item.memory.id for item in drained.sections["Recent"]] == [one.id for one in said]


async def test_several_agents_share_a_conversation(told):
    context = await told.context("refund form", agent="writer", **TALK)
    assert [item.memory.content for item in context.sections["Recent"]] == ["Make the refund form work", "On it"]
    await told.working.append("Only for the writer", agent="writer", **TALK)
    own = await told.context("refund form", agent="writer", **TALK)
    assert [item.memory.content for item in own.sections["Recent"]] == ["Only for the writer"]


async def test_an_agent_keeps_its_shape(told):
    shape = await told.shape_context(budget=60, sections=["facts", "working"], agent="writer")
    assert shape == ContextShape(budget=60, sections=("facts", "working"))
    context = await told.context("refund form", agent="writer", **TALK)
    assert context.budget == 60
    assert set(context.sections) <= {"Instructions and rules", "Facts", "Recent", "Also holds"}
    assert (await told.context("refund form", **TALK)).budget == 1_000, "others are not concerned"
    asked = await told.context("refund form", budget=500, sections=["tasks"], agent="writer", **TALK)
    assert (asked.budget, list(asked.sections)) == (500, ["Tasks and patterns"])
    assert "context_shape" not in {item.memory.kind for item in (*context.items, *context.left_out)}


async def test_the_narrowest_scope_decides_each_part_of_a_shape(jay):
    await jay.shape_context(budget=3_000, as_="xml")
    await jay.shape_context(budget=500, agent="writer")
    shape = await jay.shape_context(sections=["facts"], agent="writer", project="shop")
    assert shape == ContextShape(budget=500, sections=("facts",), as_="xml")
    await jay.shape_context(budget=700, agent="writer")
    context = await jay.context("x", agent="writer", project="shop")
    assert (context.budget, context.as_) == (700, "xml")
    await jay.forget(key="context:shape", everything=False)
    assert (await jay.context("x", agent="writer")).as_ == "markdown"


async def test_a_stranger_shapes_nothing(jay):
    foreign = {"data": {"budget": 7}, "trust": Trust.FOREIGN, "scope": Scope()}
    await jay.import_lines(export_of(a_memory("x", kind="context_shape", key="context:shape", **foreign)))
    assert (await jay.context("x")).budget == 1_000
    for wrong in ({"budget": 0}, {"sections": []}, {"sections": ["moods"]}, {"as_": "pdf"}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            await jay.shape_context(**wrong)


async def test_what_is_no_advice_is_not_offered(jay):
    badly = a_memory("Moved the shop to PostgreSQL, badly", kind="rejected_completion", scope=Scope(project="shop"))
    await jay.import_lines(export_of(badly))
    await jay.facts.store("The shop uses PostgreSQL 16", key="fact:db", project="shop")
    await jay.tasks.store_execution("SHOP-1", "Moved the shop to PostgreSQL", True, project="shop")
    [task] = await jay.tasks.search_similar("shop PostgreSQL", project="shop", similarity_threshold=0.0)
    await jay.tasks.used(task.receipt, "helped", note="PostgreSQL shop", project="shop")
    context = await jay.context("shop PostgreSQL", project="shop")
    assert {item.memory.kind for item in (*context.items, *context.left_out)} == {"fact", "task"}


async def test_records_alone_when_working_memory_is_not_to_be_read(setup):
    from dataclasses import replace

    jay = await setup.open()
    await jay.working.append("held", **TALK)
    jay.parts = replace(jay.parts, working_source="records", is_open=jay.parts.is_open)
    assert (await jay.context("held", **TALK)).text == ""


@pytest.mark.parametrize("letters", [10, LETTERS])
async def test_long_memories_are_counted_beside_the_loop(jay, letters, monkeypatch):
    await jay.remember(f"The refund form {'x ' * letters}", kind="rule")
    counted = []

    def assembling(**offered):
        counted.append(threading.current_thread() is not threading.main_thread())
        return assemble(**offered)

    monkeypatch.setattr(contexts, "assemble", assembling)
    context = await jay.context("fix the refund form", budget=100)
    assert counted == [letters == LETTERS]
    assert context.tokens <= 100
