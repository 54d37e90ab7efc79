"""LangGraph's checkpointer on Scrubjay. Run by test_adapters.py, in a process that has LangGraph."""

import asyncio
import operator
import random
from datetime import timedelta
from typing import Annotated, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import ERROR, INTERRUPT
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from test_docs import ROOT, check_what_is_shown, program_of
from test_examples import EXAMPLES, SHOWS

from lengths import sized
from scrubjay.adapters.langgraph import ScrubjaySaver, ScrubjayStore
from scrubjay.errors import Closed, InvalidInput
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

CHECKS = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}
"""How many checks LangGraph has of each capability: none may be left out."""

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

SETUPS = sized(short=["sqlite"], long=["memory", "sqlite", "postgresql"])
everywhere = pytest.mark.parametrize("setup", SETUPS, indirect=True)


class State(TypedDict):
    said: Annotated[list[str], operator.add]
    answer: str


def graph_of(checkpointer=None, store=None):
    """Two steps; the second one asks somebody before it goes on."""

    def first(state):
        return {"said": ["first"]}

    def second(state):
        answer = interrupt("shall I?")
        return {"said": [f"second: {answer}"], "answer": answer}

    builder = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return builder.compile(checkpointer=checkpointer, store=store)


@pytest.fixture
def setup(request, new_setup):
    """On SQLite, but for what is tried everywhere."""
    return new_setup(getattr(request, "param", "sqlite"))


@pytest.fixture
def saver(jay):
    return ScrubjaySaver(jay)


async def put(saver, thread="t", *, values=None, after=None, new=None, namespace="", **metadata):
    values = values or {}
    versions = dict.fromkeys(values, len(after["configurable"]["checkpoint_id"]) if after else 1)
    config = generate_config(thread, checkpoint_ns=namespace)
    if after:
        config["configurable"]["checkpoint_id"] = after["configurable"]["checkpoint_id"]
    checkpoint = generate_checkpoint(channel_values=values, channel_versions=versions)
    return await saver.aput(config, checkpoint, generate_metadata(**metadata), versions if new is None else new)


@everywhere
async def test_every_check_that_langgraph_has_is_passed(setup):
    jay = await setup.open()

    @checkpointer_test(name="Scrubjay")
    async def checkpointer():
        yield ScrubjaySaver(jay)

    report = await validate(checkpointer)
    assert {name: one.failures for name, one in report.results.items() if one.failures} == {}
    assert {name: one.tests_passed for name, one in report.results.items()} == CHECKS
    assert set(CHECKS) == {one.value for one in ALL_CAPABILITIES}


@everywhere
async def test_a_graph_goes_on_where_it_stopped_also_in_another_process(setup):
    config = {"configurable": {"thread_id": "t"}}
    paused = await graph_of(ScrubjaySaver(await setup.open())).ainvoke({"said": ["go"]}, config)
    assert paused["__interrupt__"][0].value == "shall I?"
    other = graph_of(ScrubjaySaver(await setup.open()))
    assert (await other.aget_state(config)).next == ("second",)
    done = await other.ainvoke(Command(resume="yes"), config)
    assert done == {"said": ["go", "first", "second: yes"], "answer": "yes"}
    history = [one async for one in other.aget_state_history(config)]
    assert [one.metadata["step"] for one in history] == [2, 1, 0, -1]
    # Back in time, and on from there another way.
    asked = next(one for one in history if one.next == ("second",))
    fork = await other.aupdate_state(asked.config, {"said": ["wait"]}, as_node="first")
    await other.ainvoke(None, fork)
    done = await other.ainvoke(Command(resume="no"), config)
    assert done == {"said": ["go", "first", "wait", "second: no"], "answer": "no"}


def test_a_graph_without_await(blocking):
    config = {"configurable": {"thread_id": "t"}}
    graph = graph_of(ScrubjaySaver(blocking), ScrubjayStore(blocking))
    graph.invoke({"said": ["go"]}, config)
    assert graph.invoke(Command(resume="yes"), config)["said"] == ["go", "first", "second: yes"]
    saver = ScrubjaySaver(blocking)
    assert [one.metadata["step"] for one in saver.list(config)] == [2, 1, 0, -1]
    assert [one.metadata["step"] for one in saver.list(config, limit=1)] == [2]
    saver.copy_thread("t", "u")
    saver.prune(["t"])
    assert len(list(saver.list(config))) == 1
    assert len(list(saver.list({"configurable": {"thread_id": "u"}}))) == 4
    run = saver.get_tuple(config).metadata.get("run_id")
    saver.delete_for_runs([str(run)])
    saver.delete_thread("u")
    assert saver.get_tuple({"configurable": {"thread_id": "u"}}) is None


async def test_a_memory_without_await_under_a_graph_with_it(blocking):
    config = {"configurable": {"thread_id": "t"}}
    graph = graph_of(ScrubjaySaver(blocking))
    await graph.ainvoke({"said": ["go"]}, config)
    assert (await graph.ainvoke(Command(resume="yes"), config))["answer"] == "yes"


async def test_a_call_that_would_wait_for_itself_says_so(new_setup):
    saver = ScrubjaySaver(await new_setup("memory").open())
    with pytest.raises(InvalidInput, match="await its other form"):
        saver.get_tuple(generate_config("t"))
    # From another thread it may be called.
    assert await asyncio.to_thread(saver.get_tuple, generate_config("t")) is None


@everywhere
async def test_state_is_kept_byte_for_byte_and_nobody_recalls_it(jay, saver):
    values = {"password": TOKEN, "bytes": bytes(range(256)) * 100, "text": f"The token is {TOKEN}", "none": None}
    stored = await put(saver, values=values)
    await saver.aput_writes(stored, [("token", TOKEN), (ERROR, ValueError("no"))], "task")
    found = await saver.aget_tuple(stored)
    assert found.checkpoint["channel_values"] == values
    assert [(task, channel) for task, channel, _ in found.pending_writes] == [("task", ERROR), ("task", "token")]
    await jay.remember("The token of the bus company is a coin")
    for question in ("", "token", "step thread", "a write to"):
        assert [hit.memory.kind for hit in await jay.recall(question)] == ["note"]
    assert "thread" not in (await jay.context("which thread?")).text
    assert len(await jay.recall("", kinds=["checkpoint", "checkpoint_write"])) == 3
    assert {memory.kind for memory in await jay.list()} == {"note", "checkpoint", "checkpoint_write"}
    assert (await jay.stats()).pending == 0
    assert (await jay.stats()).vectors == 1


@everywhere
async def test_state_is_neither_pruned_nor_forgotten_with_time(setup, clock):
    from scrubjay.model.work import Policy

    jay = await setup.open()
    stored = await put(ScrubjaySaver(jay), values={"a": 1})
    await jay.remember("Nobody needs this", importance=0.1)
    clock.advance(timedelta(days=1000))
    policy = Policy(half_life=timedelta(days=30), prune_after=timedelta(days=90), prune_below=0.5)
    await jay.consolidate(policy=policy)
    assert await jay.count(kinds=["note"]) == 0
    assert (await ScrubjaySaver(jay).aget_tuple(stored)).checkpoint["channel_values"] == {"a": 1}


async def test_a_state_that_grows_is_stored_in_pieces_that_stay(jay, saver):
    said, stored = [], None
    letters = random.Random(7)
    for step in range(30):
        said.append("".join(letters.choices("abcdefghij", k=8_000)))
        stored = await put(saver, values={"said": list(said), "big": "x" * 50_000}, after=stored, step=step)
    assert (await saver.aget_tuple(stored)).checkpoint["channel_values"]["said"] == said
    room = await jay.parts.stores.blobs.room(jay.scoped({}))
    # Whole, the lists alone would be 3.7 million bytes.
    assert room.bytes < 1_300_000
    await saver.aprune(["t"])
    assert (await saver.aget_tuple(stored)).checkpoint["channel_values"]["said"] == said
    assert (await jay.parts.stores.blobs.room(jay.scoped({}))).bytes < 320_000
    await saver.adelete_thread("t")
    room = await jay.parts.stores.blobs.room(jay.scoped({}))
    assert (room.blobs, await jay.count(history=True)) == (0, 0)


async def test_what_a_step_did_not_change_is_not_serialized_again(saver):
    first = await put(saver, values={"big": "x" * 5_000, "small": 1})
    dumped, dumps = [], saver.serde.dumps_typed

    class Counting:
        dumps_typed = staticmethod(lambda value: dumped.append(value) or dumps(value))
        loads_typed = staticmethod(saver.serde.loads_typed)

    saver.serde = Counting()
    config = generate_config("t", checkpoint_id=first["configurable"]["checkpoint_id"])
    checkpoint = generate_checkpoint(
        channel_values={"big": "x" * 5_000, "small": 2}, channel_versions={"big": 1, "small": 2}
    )
    second = await saver.aput(config, checkpoint, generate_metadata(step=1), {"small": 2})
    assert "x" * 5_000 not in dumped
    assert (await saver.aget_tuple(second)).checkpoint["channel_values"] == {"big": "x" * 5_000, "small": 2}


@everywhere
async def test_writes_are_settled_as_langgraph_settles_them(saver):
    stored = await put(saver)
    config = generate_config("t", checkpoint_id="not-yet-there")
    await saver.aput_writes(config, [("early", 1)], "task")
    await saver.aput_writes(stored, [("a", 1), ("b", 2)], "two", "~2")
    await saver.aput_writes(stored, [("c", 3)], "one", "~1")
    await saver.aput_writes(stored, [("a", 9), ("b", 9), ("d", 4)], "two", "~2")
    for value in ("first", "second", "first"):
        await saver.aput_writes(stored, [(INTERRUPT, value)], "one", "~1")
    found = await saver.aget_tuple(stored)
    assert found.pending_writes == [
        ("one", INTERRUPT, "first"),
        ("one", "c", 3),
        ("two", "a", 1),
        ("two", "b", 2),
        ("two", "d", 4),
    ]
    checkpoint = generate_checkpoint(checkpoint_id="not-yet-there")
    await saver.aput(generate_config("t"), checkpoint, generate_metadata(), {})
    assert (await saver.aget_tuple(config)).pending_writes == [("task", "early", 1)]


async def put_anything(both, config, ids, chance):
    """Put one checkpoint, nearly always after the last, and return its id."""
    before = {"channel_values": {}, "channel_versions": {}}
    if ids:
        config["configurable"]["checkpoint_id"] = ids[-1] if chance.random() < 0.8 else chance.choice(ids)
        before = (await both[1].aget_tuple(config)).checkpoint
    new = {name: chance.choice((1, "x", None, [2], b"3")) for name in "abc" if chance.random() < 0.4}
    versions = {name: f"{len(ids):032}.{chance.random()}" for name in new}
    checkpoint = generate_checkpoint(
        channel_values=before["channel_values"] | new, channel_versions=before["channel_versions"] | versions
    )
    metadata = generate_metadata(source=chance.choice(("loop", "input")))
    for one in both:
        await one.aput(config, checkpoint, metadata, versions)
    return checkpoint["id"]


@pytest.mark.parametrize("seed", range(sized(short=1, long=2)))
async def test_random_operations_are_answered_as_by_langgraphs_own_saver(saver, seed):
    chance, both = random.Random(seed), (saver, InMemorySaver())
    kept = {}
    for _ in range(60):
        place = (chance.choice("tu"), chance.choice(("", "", "sub")))
        config, ids = generate_config(place[0], checkpoint_ns=place[1]), kept.setdefault(place, [])
        match chance.choice(("put", "put", "put", "write", "write", "get", "list", "list", "delete")):
            case "put":
                ids.append(await put_anything(both, config, ids, chance))
            case "write" if ids:
                config["configurable"]["checkpoint_id"] = chance.choice(ids)
                writes = [(chance.choice(("a", ERROR, INTERRUPT)), chance.randint(0, 9)) for _ in range(2)]
                task, path = chance.choice("kl"), chance.choice(("", "~p"))
                for one in both:
                    await one.aput_writes(config, writes, task, path)
            case "get":
                config["configurable"] |= {"checkpoint_id": chance.choice(ids)} if ids and chance.random() < 0.5 else {}
                ours, theirs = [await one.aget_tuple(config) for one in both]
                assert ours == theirs
            case "list":
                asked = {"filter": chance.choice((None, {"source": "loop"})), "limit": chance.choice((None, 1, 3))}
                if ids and chance.random() < 0.5:
                    asked["before"] = generate_config(place[0], checkpoint_id=chance.choice(ids))
                ours, theirs = [[found async for found in one.alist(config, **asked)] for one in both]
                assert ours == theirs
            case "delete" if chance.random() < 0.3:
                for one in both:
                    await one.adelete_thread(place[0])
                kept = {other: ids for other, ids in kept.items() if other[0] != place[0]}


@everywhere
async def test_a_checkpoint_is_put_again_and_the_latest_has_the_greatest_id(saver):
    for name, value in (("b", 1), ("c", 2), ("a", 3), ("c", 4)):
        checkpoint = generate_checkpoint(checkpoint_id=name, channel_values={"v": value}, channel_versions={"v": value})
        await saver.aput(generate_config("t"), checkpoint, generate_metadata(), {"v": value})
    latest = await saver.aget_tuple(generate_config("t"))
    assert (latest.checkpoint["id"], latest.checkpoint["channel_values"]) == ("c", {"v": 4})
    assert [one.checkpoint["id"] async for one in saver.alist(generate_config("t"))] == ["c", "b", "a"]
    assert [one.checkpoint["id"] async for one in saver.alist(None, filter={"source": "loop"}, limit=2)] == ["c", "b"]


@everywhere
async def test_threads_of_one_scope_are_nobody_elses(setup):
    jay = await setup.open()
    wide, ada, bob = ScrubjaySaver(jay), ScrubjaySaver(jay, user="ada"), ScrubjaySaver(jay, user="bob")
    other = ScrubjaySaver(jay.for_tenant("other"))
    for saver, value in ((wide, "all"), (ada, "ada"), (bob, "bob"), (other, "other")):
        await put(saver, values={"who": value}, run_id="r")
    for saver, value in ((wide, "all"), (ada, "ada"), (bob, "bob"), (other, "other")):
        assert (await saver.aget_tuple(generate_config("t"))).checkpoint["channel_values"] == {"who": value}
        assert len([one async for one in saver.alist(None)]) == 1
    await wide.adelete_for_runs(["r"])
    await ada.adelete_thread("t")
    assert [await saver.aget_tuple(generate_config("t")) is None for saver in (wide, ada, bob, other)] == [
        True,
        True,
        False,
        False,
    ]
    # Who forgets a user forgets the user's threads.
    await jay.forget(everything=True, purge=True, user="bob")
    assert await bob.aget_tuple(generate_config("t")) is None


async def test_delta_channels_outlive_pruning(saver):
    def joined(before, writes):
        return [*(before or []), *(one for write in writes for one in write)]

    class Growing(TypedDict):
        said: Annotated[list, DeltaChannel(joined, snapshot_frequency=4)]

    builder = StateGraph(Growing)
    builder.add_node("speak", lambda state: {"said": [f"turn {len(state['said'])}"]})
    builder.add_edge(START, "speak")
    graph, config = builder.compile(checkpointer=saver), {"configurable": {"thread_id": "t"}}
    for turn in range(5):
        await graph.ainvoke({"said": [f"ask {turn}"]}, config)
    before = (await graph.aget_state(config)).values["said"]
    assert len(before) == 10
    many = len([one async for one in saver.alist(config)])
    await saver.aprune(["t"])
    assert (await graph.aget_state(config)).values["said"] == before
    assert 1 < len([one async for one in saver.alist(config)]) < many
    assert len((await graph.ainvoke({"said": ["more"]}, config))["said"]) == 12


async def test_a_serializer_that_encrypts(jay):
    class Turned:
        """Stands in for a cipher."""

        def encrypt(self, plaintext):
            return "turned", plaintext[::-1]

        def decrypt(self, ciphername, ciphertext):
            return ciphertext[::-1]

    saver = ScrubjaySaver(jay, serde=EncryptedSerializer(Turned()))
    stored = await put(saver, values={"secret": "plain words"})
    assert (await saver.aget_tuple(stored)).checkpoint["channel_values"] == {"secret": "plain words"}
    assert all("msgpack+turned" in str(memory.data) for memory in await jay.list(kinds=["checkpoint"]))


async def test_a_memory_that_encrypts_encrypts_states_too(tmp_path):
    settings = read_settings(home=tmp_path, encrypt="all", encryption_key="0f" * 32, background=False)
    values = {"short": "walrus", "long": "walrus " * 1_000}
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        stored = await put(ScrubjaySaver(jay), values=values, step=4)
        await ScrubjaySaver(jay).aput_writes(stored, [("a", "walrus")], "task")
    assert not [path for path in tmp_path.iterdir() if b"walrus" in path.read_bytes()]
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        [found] = [one async for one in ScrubjaySaver(jay).alist(generate_config("t"), filter={"step": 4})]
        assert (found.checkpoint["channel_values"], found.pending_writes) == (values, [("task", "a", "walrus")])


async def test_bad_input_has_one_clear_error(new_setup):
    setup = new_setup("memory")
    jay = await setup.open()
    saver = ScrubjaySaver(jay)
    with pytest.raises(InvalidInput, match="thread_id is ''"):
        await saver.aget_tuple(generate_config("t", checkpoint_id="x") | {"configurable": {"thread_id": ""}})
    with pytest.raises(InvalidInput, match="has no thread_id"):
        await saver.aget_tuple({"configurable": {}})
    with pytest.raises(InvalidInput, match="strategy is 'some': use one of keep_latest, delete"):
        await saver.aprune(["t"], strategy="some")
    with pytest.raises(InvalidInput, match="workflow is 'w': leave it out"):
        ScrubjaySaver(jay, workflow="w")
    with pytest.raises(InvalidInput, match="jay is None: give a memory"):
        ScrubjaySaver(None)
    await jay.close()
    with pytest.raises(Closed):
        await saver.aget_tuple(generate_config("t"))


def test_the_example(shown_by):
    printed = shown_by((EXAMPLES / "langgraph_resume.py").read_text(encoding="utf-8"))
    assert [line for line in SHOWS["langgraph_resume.py"] if line not in printed] == []


def test_the_page_is_true(shown_by):
    page = ROOT / "docs/howto/use-with-langgraph.md"
    program = program_of(page)
    check_what_is_shown(program, shown_by(program), page)
