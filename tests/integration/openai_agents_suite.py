"""The OpenAI Agents SDK's session on Scrubjay. Run by test_adapters.py, in a process that has the SDK."""

import asyncio
import random
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from agents import Agent, Model, ModelResponse, Runner, SessionSettings, SQLiteSession, Usage, function_tool
from agents.memory import Session
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from test_docs import ROOT, check_what_is_shown, program_of
from test_examples import EXAMPLES, SHOWS

from lengths import sized
from scrubjay.adapters.openai_agents import ScrubjaySession
from scrubjay.errors import Closed, InvalidInput

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

SETUPS = sized(short=["sqlite"], long=["memory", "sqlite", "postgresql"])
everywhere = pytest.mark.parametrize("setup", SETUPS, indirect=True)


@pytest.fixture
def setup(request, new_setup):
    """On SQLite, but for what is tried everywhere."""
    return new_setup(getattr(request, "param", "sqlite"))


@pytest.fixture
def session(jay):
    return ScrubjaySession("chat", jay, user="ada")


def said(text, role="user"):
    return {"role": role, "content": text}


class Scripted(Model):
    """Stands in for a language model: calls its tool when it is asked for the weather, and counts what it was shown."""

    def __init__(self):
        self.shown = []

    async def get_response(self, *, input, **_):
        self.shown.append(list(input))
        last = input[-1]
        if "weather" in str(last.get("content")):
            thought = ResponseReasoningItem(id="rs_1", summary=[], type="reasoning", encrypted_content="gAAAAABh" * 20)
            call = ResponseFunctionToolCall(
                call_id="call_1", name="weather", arguments='{"town": "Lisbon"}', type="function_call"
            )
            return ModelResponse(output=[thought, call], usage=Usage(), response_id=None)
        text = f"You said {len(input)} things, the last one {last.get('output') or last.get('content')!r}"
        message = ResponseOutputMessage(
            id="msg_1",
            content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
            role="assistant",
            status="completed",
            type="message",
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, **_):
        raise NotImplementedError


@function_tool
def weather(town: str) -> str:
    """The weather of a town."""
    return f"It is warm in {town}"


@contextmanager
def own_loop():
    """The loop that the SDK takes when none runs; by itself it makes one and never closes it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@everywhere
async def test_a_conversation_goes_on_also_in_another_process(setup):
    model = Scripted()
    agent = Agent(name="Jay", model=model, tools=[weather])
    jay = await setup.open()
    session = ScrubjaySession("chat", jay, user="ada")
    assert isinstance(session, Session)
    first = await Runner.run(agent, "How is the weather in Lisbon?", session=session)
    assert "It is warm in Lisbon" in first.final_output
    kinds = [item.get("type", "message") for item in await session.get_items()]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output", "message"]
    other = ScrubjaySession("chat", await setup.open(), user="ada")
    await Runner.run(agent, "And now?", session=other)
    assert model.shown[-1] == (await session.get_items())[:6]
    assert model.shown[-1][1]["encrypted_content"] == "gAAAAABh" * 20
    # What was said is remembered like anything else that is said in a session.
    found = await jay.recall("weather in Lisbon", user="ada", session="chat")
    assert {hit.memory.data["role"] for hit in found} == {"user", "assistant", "tool"}
    assert all(hit.memory.kind == "message" for hit in found)
    recent = await jay.working.recent(limit=2, source="records", user="ada", session="chat")
    assert [message.role for message in recent] == ["user", "assistant"]


def test_a_run_without_await(blocking):
    agent = Agent(name="Jay", model=Scripted())
    session = ScrubjaySession("chat", blocking)
    with own_loop():
        assert Runner.run_sync(agent, "Hello", session=session).final_output.startswith("You said 1 things")
        assert Runner.run_sync(agent, "Again", session=session).final_output.startswith("You said 3 things")


@everywhere
async def test_random_operations_are_answered_as_by_the_sdks_own_session(session):
    chance, theirs = random.Random(7), SQLiteSession("chat")
    for step in range(40):
        match chance.choice(("add", "add", "pop", "get", "clear" if chance.random() < 0.1 else "get")):
            case "add":
                items = [
                    said(f"{step} {place}", chance.choice(("user", "assistant")))
                    for place in range(chance.randint(0, 3))
                ]
                if chance.random() < 0.3:
                    items.append({"type": "reasoning", "id": "rs", "summary": []})
                await session.add_items(items)
                await theirs.add_items(items)
            case "pop":
                assert await session.pop_item() == await theirs.pop_item()
            case "get":
                limit = chance.choice((None, 0, 1, 2, 5, 100))
                assert await session.get_items(limit) == await theirs.get_items(limit)
            case "clear":
                await session.clear_session()
                await theirs.clear_session()
    assert await session.get_items() == await theirs.get_items()
    theirs.close()


async def test_items_come_back_as_they_were(jay, session):
    items = [
        said("The same"),
        said("The same"),
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": f"{TOKEN}=="},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": f"{TOKEN}=="},
        {"type": "function_call", "call_id": TOKEN, "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": TOKEN, "output": "NUL \0, half \ud800, and \U0001f41d"},
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "iVBORw0KGgo" * 9_000}],
        },
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Line\r\n"}, {"type": "input_text", "text": "two"}],
        },
        {"type": "function_call_output", "call_id": "c", "output": "word " * 8_000},
        {"type": "a_new_sort", "anything": [1, 2.5, None, True, {"deep": []}]},
    ]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(2) == items[-2:]
    for item in reversed(items):
        assert await session.pop_item() == item
    assert await session.pop_item() is None
    assert await session.get_items() == []
    assert len(await jay.recall("", user="ada")) == 0


async def test_secrets_are_taken_out_of_what_people_say(jay, session):
    await session.add_items([said(f"My token is {TOKEN}"), said([{"type": "input_text", "text": f"Again: {TOKEN}"}])])
    first, second = await session.get_items()
    assert first["content"] == "My token is [redacted:github-token]"
    assert second["content"][0]["text"] == "Again: [redacted:github-token]"
    assert [memory.redacted for memory in await jay.list(user="ada")] == [("github-token",), ("github-token",)]


async def test_the_newest_items_slide(jay):
    session = ScrubjaySession("chat", jay, session_settings=SessionSettings(limit=3))
    await session.add_items([said(str(number)) for number in range(600)])
    assert [item["content"] for item in await session.get_items()] == ["597", "598", "599"]
    assert [item["content"] for item in await session.get_items(limit=1)] == ["599"]
    everything = ScrubjaySession("chat", jay)
    assert [item["content"] for item in await everything.get_items()] == [str(number) for number in range(600)]
    assert len(await ScrubjaySession("chat", jay, session_settings={"limit": 7}).get_items()) == 7
    model = Scripted()
    await Runner.run(Agent(name="Jay", model=model), "Hello", session=session)
    assert len(model.shown[-1]) == 4
    await everything.clear_session()
    assert await everything.get_items() == []


async def test_sessions_of_one_scope_are_nobody_elses(jay):
    wide, ada, bob = (ScrubjaySession("chat", jay, **where) for where in ({}, {"user": "ada"}, {"user": "bob"}))
    other = ScrubjaySession("other", jay)
    for session, text in ((wide, "all"), (ada, "ada"), (bob, "bob"), (other, "other")):
        await session.add_items([said(text)])
    await jay.working.append("said elsewhere", session="chat")
    await jay.remember("A message of another making", kind="message", session="chat")
    assert await wide.get_items() == [said("all")]
    await wide.clear_session()
    assert [await one.get_items() for one in (wide, ada, bob, other)] == [
        [],
        [said("ada")],
        [said("bob")],
        [said("other")],
    ]
    assert (await ada.pop_item())["content"] == "ada"
    assert await jay.count(kinds=["message"]) == 3


@everywhere
async def test_of_many_who_pop_at_once_each_gets_another(setup):
    if setup.name == "memory":
        one = ScrubjaySession("chat", await setup.open())
        sessions = [one, one]
    else:
        sessions = [ScrubjaySession("chat", await setup.open()) for _ in range(2)]
    await sessions[0].add_items([said(str(number)) for number in range(10)])
    popped = await asyncio.gather(*(sessions[place % 2].pop_item() for place in range(12)))
    assert sorted(item["content"] for item in popped if item) == [str(number) for number in range(10)]
    assert popped.count(None) == 2


WRITER = """
import asyncio, sys
import scrubjay
from scrubjay.adapters.openai_agents import ScrubjaySession

async def main(home):
    async with scrubjay.open_async(home, embedder="none", background=False) as jay:
        session = ScrubjaySession("chat", jay)
        for step in range(20):
            await session.add_items([{"role": "user", "content": f"there {step} {place}"} for place in range(3)])

asyncio.run(main(sys.argv[1]))
"""


def test_what_several_processes_add_together_stays_together(blocking, tmp_path):
    session, step = ScrubjaySession("chat", blocking), 0
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "home")]) as writer:
        while writer.poll() is None and not asyncio.run(session.get_items(1)):
            time.sleep(0.05)
        while writer.poll() is None:
            asyncio.run(session.add_items([said(f"here {step} {place}") for place in range(3)]))
            step += 1
    assert writer.returncode == 0
    texts = [item["content"].split() for item in asyncio.run(session.get_items())]
    for start in range(0, len(texts), 3):
        assert len({(name, number) for name, number, _ in texts[start : start + 3]}) == 1
        assert [place for _, _, place in texts[start : start + 3]] == ["0", "1", "2"]
    for name, many in (("here", step), ("there", 20)):
        assert [int(number) for writer, number, _ in texts[::3] if writer == name] == list(range(many))


async def test_bad_input_has_one_clear_error(new_setup):
    jay = await new_setup("memory").open()
    session = ScrubjaySession("chat", jay)
    with pytest.raises(InvalidInput, match="item 1 is 'two': give dicts"):
        await session.add_items([said("one"), "two"])
    with pytest.raises(InvalidInput, match="which is no JSON"):
        await session.add_items([{"role": "user", "content": object()}])
    with pytest.raises(InvalidInput, match="items is 'text': give a list"):
        await session.add_items("text")
    assert await session.get_items() == []
    with pytest.raises(InvalidInput, match="limit is -1: use a whole number from 0"):
        await session.get_items(-1)
    with pytest.raises(InvalidInput, match="session is 'other': leave it out"):
        ScrubjaySession("chat", jay, session="other")
    with pytest.raises(InvalidInput, match="session is ''"):
        ScrubjaySession("", jay)
    with pytest.raises(InvalidInput, match="the limit of session_settings is 'two'"):
        await ScrubjaySession("chat", jay, session_settings={"limit": "two"}).get_items()
    await jay.close()
    with pytest.raises(Closed):
        await session.get_items()


def test_the_example(shown_by):
    printed = shown_by((EXAMPLES / "openai_agents_chat.py").read_text(encoding="utf-8"))
    assert [line for line in SHOWS["openai_agents_chat.py"] if line not in printed] == []


def test_the_page_is_true(shown_by):
    page = ROOT / "docs/howto/use-with-openai-agents.md"
    program = program_of(page)
    check_what_is_shown(program, shown_by(program), page)
