"""LangGraph's store on Scrubjay. Run by test_adapters.py, in a process that has LangGraph."""

import random
from datetime import timedelta
from typing import TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from lengths import sized
from scrubjay.adapters.langgraph import ScrubjayStore
from scrubjay.errors import InvalidInput

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

SETUPS = sized(short=["sqlite"], long=["memory", "sqlite", "postgresql"])
everywhere = pytest.mark.parametrize("setup", SETUPS, indirect=True)


@pytest.fixture
def setup(request, new_setup):
    """On SQLite, but for what is tried everywhere."""
    return new_setup(getattr(request, "param", "sqlite"))


@pytest.fixture
def store(jay):
    return ScrubjayStore(jay, fields=["text"])


@everywhere
async def test_items_of_namespaces(store):
    assert isinstance(store, BaseStore)
    await store.aput(("users", "ada"), "tea", {"text": "Ada likes tea"})
    await store.aput(("users", "bob"), "tea", {"text": "Bob hates tea"})
    await store.aput(("users",), "tea", {"text": "Users drink"})
    found = await store.aget(("users", "ada"), "tea")
    assert (found.namespace, found.key, found.value) == (("users", "ada"), "tea", {"text": "Ada likes tea"})
    assert await store.aget(("users", "ada"), "coffee") is None
    assert {one.namespace for one in await store.asearch(("users",))} == {
        ("users",),
        ("users", "ada"),
        ("users", "bob"),
    }
    assert [one.value["text"] for one in await store.asearch(("users", "bob"))] == ["Bob hates tea"]
    assert await store.asearch(("user",)) == []
    assert len(await store.asearch(())) == 3
    await store.adelete(("users", "ada"), "tea")
    await store.adelete(("users", "ada"), "never there")
    assert await store.aget(("users", "ada"), "tea") is None
    assert await store.alist_namespaces() == [("users",), ("users", "bob")]


async def test_a_change_keeps_when_the_item_was_made(store, clock):
    await store.aput(("a",), "k", {"text": "one"})
    made = clock.now
    clock.advance(timedelta(hours=1))
    await store.aput(("a",), "other", {"text": "else"})
    await store.aput(("a",), "k", {"text": "two"})
    found = await store.aget(("a",), "k")
    assert (found.value, found.created_at, found.updated_at) == ({"text": "two"}, made, clock.now)
    assert [one.key for one in await store.asearch(("a",))] == ["k", "other"]
    await store.adelete(("a",), "k")
    await store.aput(("a",), "k", {"text": "three"})
    assert (await store.aget(("a",), "k")).created_at == clock.now


@everywhere
async def test_a_question_is_answered_with_scores(store):
    await store.aput(("m",), "1", {"text": "The cat sleeps on the warm stove", "year": 2024})
    await store.aput(("m",), "2", {"text": "Trains to Lisbon leave at noon", "year": 2025})
    await store.aput(("m", "deep"), "3", {"text": "A cat and a kitten play", "year": 2026})
    await store.aput(("m",), "4", {"text": "The cat of the neighbour sleeps"}, index=False)
    found = await store.asearch(("m",), query="where does the cat sleep?", limit=10)
    assert found[0].key == "1"
    assert {one.key for one in found} == {"1", "2", "3", "4"}
    scores = [one.score for one in found[:3]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert (found[-1].key, found[-1].score) == ("4", None)
    assert (await store.asearch(("m",), query="cat", filter={"year": {"$gt": 2024}}))[0].key == "3"
    assert [one.key for one in await store.asearch(("m", "deep"), query="cat")] == ["3"]
    assert len(await store.asearch(("m",), query="cat", limit=2)) == 2
    rest = await store.asearch(("m",), query="where does the cat sleep?", limit=10, offset=1)
    assert [one.key for one in rest] == [one.key for one in found[1:]]


async def test_what_is_read_of_a_value(jay, store):
    value = {
        "text": "left out",
        "title": "Beekeeping",
        "parts": [{"body": "hives in winter"}, {"body": "honey harvest"}],
    }
    await store.aput(("d",), "1", value, index=["title", "parts[*].body"])
    await store.aput(("d",), "2", {"title": "only a title"})
    await ScrubjayStore(jay).aput(("d",), "3", {"title": "Orchards", "size": {"trees": 12}})
    contents = {memory.content for memory in await jay.list(kinds=["item", "stored_item"])}
    assert contents == {"Beekeeping\nhives in winter\nhoney harvest", "d/2", "title: Orchards\nsize.trees: 12"}
    found = await store.asearch(("d",), query="winter hives")
    assert (found[0].key, found[0].value) == ("1", value)
    # An item is a memory like any other, but one that is not to be found is not.
    assert [hit.memory.kind for hit in await jay.recall("honey harvest", mode="words")] == ["item"]
    assert await jay.count(kinds=["stored_item"]) == 1


@everywhere
async def test_filters(store):
    values = [
        {"n": 1, "color": "red", "tags": ["a", "b"], "deep": {"x": 1, "y": 2}, "on": True},
        {"n": 2.5, "color": "blue", "tags": ["a"], "deep": {"x": 2}, "on": False},
        {"n": 10, "color": "green", "a.b": "dotted", "none": None},
        {"n": "10", "color": None},
    ]
    await store.abatch([PutOp(("f",), str(place), value) for place, value in enumerate(values)])

    async def found(**wanted):
        return sorted(one.key for one in await store.asearch(("f",), filter=wanted.pop("filter", wanted)))

    assert await found(color="red") == ["0"]
    assert await found(n={"$gt": 1}) == ["1", "2"]
    assert await found(n={"$gte": 1, "$lt": 10}) == ["0", "1"]
    assert await found(n={"$lte": 2.5}, color={"$ne": "red"}) == ["1"]
    assert await found(color={"$eq": "blue"}) == ["1"]
    assert await found(color={"$ne": "red"}) == ["1", "2", "3"]
    assert await found(color={"$gt": "f"}) == ["0", "2"]
    assert await found(tags=["a"]) == ["1"]
    assert await found(deep={"x": 1}) == ["0"]
    assert await found(deep={"x": {"$gte": 1}}) == ["0", "1"]
    assert await found(on=True) == ["0"]
    assert await found(none=None) == ["0", "1", "2", "3"]
    assert await found(filter={"a.b": "dotted"}) == ["2"]
    assert await found(n={"$gt": "1"}) == ["3"]
    assert await found(color="red", n=2) == []
    with pytest.raises(ValueError, match=r"filter n has the operator \$near: use one of \$eq"):
        await found(n={"$near": 1})
    found = await store.asearch(("f",), query="anything", filter={"color": {"$ne": "red"}}, limit=2)
    assert len(found) == 2


async def test_namespaces_are_listed(store):
    for path in ("a b c", "a b d e", "a b d i", "a b f", "a c f", "b a f", "users 1 v1"):
        await store.aput(tuple(path.split()), "k", {"text": path})
    assert await store.alist_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert await store.alist_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
    assert await store.alist_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert await store.alist_namespaces(prefix=("*",), suffix=("a", "*")) == [("b", "a", "f")]
    assert await store.alist_namespaces(prefix=("a",), suffix=("e",)) == [("a", "b", "d", "e")]
    assert await store.alist_namespaces(max_depth=1) == [("a",), ("b",), ("users",)]
    assert await store.alist_namespaces(max_depth=1, limit=1, offset=1) == [("b",)]
    assert await store.alist_namespaces(prefix=("no",)) == []


async def test_what_others_keep_under_such_keys_is_no_namespace(store, jay):
    await store.aput(("a",), "k", {"text": "tea"})
    await jay.remember("Told by hand", kind="item", key="item:1")
    await jay.remember("Told by hand, too", kind="item", key="item:2", data={"store": "round the corner"})
    assert await store.alist_namespaces() == [("a",)]


@everywhere
async def test_items_live_for_a_while_after_they_were_last_used(jay, clock):
    store = ScrubjayStore(jay, ttl={"default_ttl": 10, "refresh_on_read": True})
    await store.aput(("t",), "read", {"text": "tea is read often"})
    await store.aput(("t",), "searched", {"text": "coffee is searched"})
    await store.aput(("t",), "left", {"text": "milk is left alone"})
    await store.aput(("t",), "stays", {"text": "water stays"}, ttl=None)
    await store.aput(("t",), "short", {"text": "steam is short"}, ttl=0.5)
    clock.advance(timedelta(minutes=6))
    assert await store.aget(("t",), "short") is None
    assert await store.aget(("t",), "read") is not None
    assert [one.key for one in await store.asearch(("t",), query="coffee", limit=1)] == ["searched"]
    assert await store.aget(("t",), "left", refresh_ttl=False) is not None
    clock.advance(timedelta(minutes=6))
    assert await store.aget(("t",), "left") is None
    assert {one.key for one in await store.asearch(("t",), refresh_ttl=False)} == {"read", "searched", "stays"}
    assert [one.key for one in await store.asearch(("t",), query="tea", limit=1, refresh_ttl=False)] == ["read"]
    clock.advance(timedelta(minutes=6))
    assert [one.key for one in await store.asearch(("t",))] == ["stays"]
    await store.aput(("t",), "left", {"text": "milk is left alone"})
    assert (await store.aget(("t",), "left")).created_at == clock.now
    await store.aput(("t",), "left", {"text": "milk is left alone"}, ttl=None)
    clock.advance(timedelta(days=1))
    assert await store.aget(("t",), "left") is not None


async def test_a_batch_reads_before_it_writes_and_writes_all_or_nothing(store):
    await store.aput(("b",), "k", {"text": "before"})
    got, _, _, found, spaces = await store.abatch(
        [
            GetOp(("b",), "k"),
            PutOp(("b",), "k", {"text": "between"}),
            PutOp(("b",), "k", {"text": "after"}),
            SearchOp(("b",)),
            ListNamespacesOp((MatchCondition("prefix", ("b",)),)),
        ]
    )
    assert (got.value["text"], [one.value["text"] for one in found], spaces) == ("before", ["before"], [("b",)])
    assert (await store.aget(("b",), "k")).value["text"] == "after"
    with pytest.raises(ValueError, match=r"data\.store\.value\.when is .*: use JSON values only"):
        await store.abatch([PutOp(("b",), "1", {"text": "fine"}), PutOp(("b",), "2", {"when": object()})])
    assert await store.aget(("b",), "1") is None
    assert await store.abatch([]) == []


async def test_the_store_refuses_what_langgraph_refuses(store):
    for namespace in ((), ("langgraph", "x"), ("a.b",), ("",), (1,), ("a\0",)):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "k", {"text": "x"})
    for op in (GetOp(("a.b",), "k"), PutOp(("a.b",), "k", {}), SearchOp(("",)), PutOp((1,), "k", {})):
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([op])
    with pytest.raises(InvalidInput, match="ttl is 0: use minutes above zero"):
        await store.aput(("a",), "k", {"text": "x"}, ttl=0)
    with pytest.raises(InvalidInput, match="value is 'x': use a dict"):
        await store.aput(("a",), "k", "x")
    with pytest.raises(InvalidInput, match="an operation is 7"):
        await store.abatch([7])
    long = ("x" * 400, "y" * 400)
    await store.aput(long, "z" * 4000, {"text": "names have any length"})
    assert (await store.aget(long, "z" * 4000)).value["text"] == "names have any length"


async def test_secrets_never_reach_the_store_and_scopes_do_not_mix(jay):
    ada, bob, wide = ScrubjayStore(jay, user="ada"), ScrubjayStore(jay, user="bob"), ScrubjayStore(jay)
    await ada.aput(("keys", TOKEN), TOKEN, {"text": f"the token is {TOKEN}", "password": "hunter2-hunter2"})
    found = await ada.aget(("keys", TOKEN), TOKEN)
    assert found.value == {"text": "the token is [redacted:github-token]", "password": "[redacted:credential]"}
    assert [one.value for one in await ada.asearch(("keys", TOKEN))] == [found.value]
    assert await ada.asearch(("keys", TOKEN[::-1])) == []
    assert all(TOKEN not in str((memory.key, memory.content, memory.data)) for memory in await jay.list())
    for other in (bob, wide):
        assert await other.aget(("keys", TOKEN), TOKEN) is None
        assert await other.asearch(()) == []
        assert await other.asearch((), query="token") == []
        assert await other.alist_namespaces() == []


@pytest.mark.parametrize("seed", range(sized(short=1, long=2)))
def test_random_operations_are_answered_as_by_langgraphs_own_store(blocking, seed):
    chance = random.Random(seed)
    ours, theirs = ScrubjayStore(blocking), InMemoryStore()
    labels = ("a", "b", "c")
    for _ in range(60):
        namespace = tuple(chance.choices(labels, k=chance.randint(1, 3)))
        key = chance.choice("kl")
        match chance.choice(("put", "put", "put", "delete", "get", "search", "list")):
            case "put":
                value = {"n": chance.randint(0, 5), "color": chance.choice(("red", "blue")), "id": chance.random()}
                for store in (ours, theirs):
                    store.put(namespace, key, value)
            case "delete":
                for store in (ours, theirs):
                    store.delete(namespace, key)
            case "get":
                one, other = (store.get(namespace, key) for store in (ours, theirs))
                assert (one and one.value) == (other and other.value)
            case "search":
                wanted = chance.choice(({}, {"color": "red"}, {"n": {"$gte": 2, "$lt": 5}}, {"n": {"$ne": 3}}))
                one, other = (
                    {
                        (item.namespace, item.key): item.value
                        for item in store.search(namespace[:2], filter=wanted, limit=99)
                    }
                    for store in (ours, theirs)
                )
                assert one == other
            case "list":
                # Theirs still lists namespaces whose items are all deleted.
                held = {item.namespace for item in theirs.search((), limit=999)}
                depth = chance.choice((1, 2, 3))
                second = namespace[1:2]
                meant = {one for one in held if len(one) > len(second) and one[1 : 1 + len(second)] == second}
                listed = ours.list_namespaces(prefix=("*", *second), max_depth=depth)
                assert listed == sorted({one[:depth] for one in meant})


def test_a_node_uses_the_store(blocking):
    class Asked(TypedDict):
        question: str
        known: str

    def remember(state: Asked, *, store: BaseStore):
        store.put(("facts",), "hive", {"text": "The hive stands in Lisbon"})
        return {"known": store.search(("facts",), query=state["question"])[0].value["text"]}

    builder = StateGraph(Asked)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    graph = builder.compile(store=ScrubjayStore(blocking, fields=["text"]))
    assert graph.invoke({"question": "Where is the hive?"})["known"] == "The hive stands in Lisbon"
