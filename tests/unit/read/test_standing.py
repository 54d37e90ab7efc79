"""Standing: what a user laid down for always has a place in the answer to whatever it is meant for."""

from dataclasses import replace

import pytest
from toy_serving import EMBEDDER, SERVING, serving

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, Query
from scrubjay.ports import Stores
from scrubjay.read.follow import UNSEEN
from scrubjay.read.fuse import Candidate
from scrubjay.read.recall import rank
from scrubjay.read.rerank import rerank
from scrubjay.read.retrieve import Retrieved
from scrubjay.read.standing import STANDING, join_standing
from scrubjay.read.understand import understand
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, a_scope, told
from scrubjay.write.embed import embed

RULE = "Always name the version when I ask about libraries."
OTHER_RULE = "Never write dates in words, please."
WISH = "I'm packing, and I really prefer trains over planes, can you book one?"
QUESTION = "Which version of the libraries?"


def turn(position, content, role="user", **fields):
    place = a_scope(session="s-1")
    return a_memory(content, kind="message", position=position, scope=place, data={"role": role}, **fields)


def asked(text=QUESTION, **options):
    return Query(text=text, filter=Filter(scope=a_scope()), **options)


def standing_of(*memories, text=QUESTION, similarities=()):
    """What is added to each, among enough others that nothing is scaled down."""
    others = [turn(100 + place, f"Yes, {place}", "assistant") for place in range(30)]
    given = [*similarities, *(0.1,) * (len(memories) - len(similarities))]
    pairs = [
        (Candidate(memory.id, 0.0, {"meaning": likeness}), memory)
        for memory, likeness in zip(memories, given, strict=True)
    ]
    found = [*pairs, *((Candidate(other.id, 0.0, {}), other) for other in others)]
    added = {one.memory.id: one for one in rerank(found, question=understand(asked(text)), now=NOW)}
    return [added[memory.id].signals["standing"] for memory in memories]


@pytest.mark.parametrize(
    "content",
    [
        RULE,
        OTHER_RULE,
        "Thanks! Please always use tabs.",
        "From now on, answer in French.",
        "Whenever I paste a log, start with the error.",
        "I'd rather have short answers.",
        "i would prefer bullet points",
        WISH,
    ],
)
def test_what_is_laid_down_is_known(content):
    assert standing_of(turn(0, content)) == [STANDING]


@pytest.mark.parametrize("who", ["user", "Human"])
def test_so_is_what_has_the_role_before_it(who):
    told = a_memory(f"{who}: {RULE}", kind="message", position=0, scope=a_scope(session="s-1"))
    assert standing_of(told) == [STANDING]


@pytest.mark.parametrize(
    "content",
    [
        "I've never used Flask.",
        "Does the query always return a list?",
        "Never mind, it works.",
        "The rather long preferences page",
        "She said: always wear a hat",
    ],
)
def test_what_only_has_such_a_word_is_not(content):
    assert standing_of(turn(0, content)) == [0]


def test_only_the_closest_rule_and_the_closest_wish_count():
    memories = [turn(0, RULE), turn(2, OTHER_RULE), turn(4, WISH), turn(6, "I prefer tea.")]
    assert standing_of(*memories, similarities=(0.3, 0.2, 0.1, 0.4)) == [STANDING, 0, 0, STANDING]


def test_a_question_about_what_was_needs_none_of_it():
    assert standing_of(turn(0, RULE), text="Which libraries did I choose?") == [0]


def test_neither_assistants_nor_people_among_themselves_lay_down_anything():
    assert standing_of(turn(0, RULE, "assistant")) == [0]
    assert standing_of(a_memory(RULE)) == [0]
    between = a_memory(RULE, kind="message", position=0, author="Bert", scope=a_scope(session="s-2"))
    assert standing_of(between) == [0]


def test_the_reason_is_said():
    rule = turn(0, RULE)
    [only] = rerank([(Candidate(rule.id, 0.0, {"meaning": 0.2}), rule)], question=understand(asked()), now=NOW)
    assert "meant for always" not in only.why, "alone, nothing is added"
    others = [turn(place, f"Yes, {place}", "assistant") for place in range(1, 31)]
    found = [(Candidate(one.id, 0.0, {"meaning": 0.2}), one) for one in (rule, *others)]
    assert "meant for always" in rerank(found, question=understand(asked()), now=NOW)[0].why


class Chat:
    """A talk with an assistant, stored and embedded."""

    def __init__(self, vectors=None):
        self.store = MemoryStore()
        self.vectors = vectors or MemoryVectors()
        self.stores = Stores(
            records=self.store, generations=self.store, texts=self.store, vectors=self.vectors, blobs=MemoryBlobs()
        )

    async def tell(self, *contents):
        drafts = [
            replace(turn(place, content, ("user", "assistant")[place % 2]), position=None)
            for place, content in enumerate(contents)
        ]
        memories = await told(self.store, *drafts)
        await self.vectors.upsert(1, await embed(memories, EMBEDDER))
        return memories

    async def joined(self, *found, query=None):
        query = query or asked()
        vector = (await EMBEDDER.embed([query.text], question=True))[0]
        pairs = [(Candidate(memory.id, 3.0, {}), memory) for memory in found]
        retrieved = Retrieved(rankings={}, answered=SERVING, vector=vector)
        joined, missing = await join_standing(
            pairs, question=understand(query), query=query, retrieved=retrieved, stores=self.stores, now=NOW
        )
        assert joined[: len(pairs)] == pairs
        return joined[len(pairs) :], missing


@pytest.fixture
async def chat():
    return Chat()


async def test_the_closest_rule_and_wish_join_though_no_search_found_them(chat):
    said = await chat.tell(OTHER_RULE, "Noted.", RULE, "Noted.", WISH, "Booked.", "I have never flown.", "I see.")
    joined, missing = await chat.joined(said[1])
    assert [memory for _, memory in joined] == [said[2], said[4]]
    assert missing == ()
    assert [candidate.relevance for candidate, _ in joined] == [UNSEEN, UNSEEN]
    assert all(candidate.similarity is not None for candidate, _ in joined)


async def test_what_was_found_does_not_join_again(chat):
    said = await chat.tell(RULE, "Noted.")
    assert await chat.joined(*said) == ([], ())


@pytest.mark.parametrize(
    "query",
    [
        asked("Which libraries did I choose?"),
        asked("Give me an overview of our chats about libraries"),
        asked(mode="words"),
        asked(mode="meaning"),
        asked(least_similarity=0.2),
        asked(""),
    ],
)
async def test_nothing_joins_unless_it_is_a_question_to_act_upon(chat, query):
    said = await chat.tell(RULE, "Noted.")
    assert await chat.joined(said[1], query=query) == ([], ())


async def test_nothing_joins_where_no_assistant_speaks(chat):
    said = await chat.tell(RULE, "Noted.", "Which spreadsheet?")
    assert await chat.joined(said[2]) == ([], ())
    assert await chat.joined(a_memory("A spreadsheet is a table")) == ([], ())
    assert await chat.joined(a_memory("A spreadsheet is a table", data={"role": "assistant"})) == ([], ())


async def test_what_the_filter_does_not_admit_stays_out(chat):
    said = await chat.tell(RULE, "Noted.")
    await chat.store.close(a_scope(), [said[0].id], at=NOW, because="no longer")
    assert await chat.joined(said[1]) == ([], ())


class Leaving(MemoryVectors):
    """An engine that answers a search, and is away when it is asked about some memories by name."""

    async def search(self, *given, among=None, **options):
        if among is not None:
            raise StoreUnavailable("the engine is away")
        return await super().search(*given, **options)


async def test_an_engine_that_went_away_is_named():
    chat = Chat(Leaving())
    said = await chat.tell(RULE, "Noted.")
    assert await chat.joined(said[1]) == ([], ("vectors",))


@pytest.mark.parametrize(("engine", "degraded"), [(MemoryVectors, ()), (Leaving, ("vectors",))])
async def test_a_recall_has_it_among_its_answers(engine, degraded):
    chat = Chat(engine())
    talk = [f"Which tool reads a spreadsheet of type {place}?" for place in range(120)]
    said = await chat.tell(RULE, "Noted.", *(line for ask in talk for line in (ask, "There are several.")))

    query = asked("Which tool reads a spreadsheet of type 7?")
    answers, missing = await rank(query, stores=chat.stores, serving=serving, now=NOW)
    assert missing == degraded
    assert (said[0] in [one.memory for one in answers]) == (not degraded)
