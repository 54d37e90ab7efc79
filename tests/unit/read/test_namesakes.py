"""Namesakes: for a long question with a title, what calls itself alike comes first."""

import pytest

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.model import Filter, Query
from scrubjay.ports import Stores
from scrubjay.read.fuse import DEPTH, Candidate
from scrubjay.read.namesakes import NAMESAKE, namesakes
from scrubjay.read.recall import rank
from scrubjay.read.rerank import rerank
from scrubjay.read.understand import OPENING, understand
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, a_scope, told

BODY = "Steps to reproduce: open the program, wait, and look at the paper. " * 4
TITLE = "Printer jams on Mondays"


def asked(text=f"{TITLE}\n{BODY}"):
    return understand(Query(text=text, filter=Filter(scope=a_scope())))


def report(title, **fields):
    return a_memory(f"{title}\n{BODY}", **fields)


def likenesses(*memories, question=None):
    found = namesakes(memories, question or asked())
    assert found is not None
    return found


def test_the_more_of_a_title_is_shared_the_more_it_is_alike():
    same, some, none = likenesses(report(TITLE), report("Printer is slow"), report("Screen stays dark"))
    assert same > some > none
    assert same + some + none == pytest.approx(0.0), "they are counted from their mean"


def test_a_word_that_few_have_counts_more():
    others = [report(f"Printer of floor {floor}") for floor in range(8)]
    common, rare, *_ = likenesses(report("Printer upstairs"), report("Paper jam upstairs"), *others)
    assert rare > common


def test_words_that_only_one_of_the_titles_has_make_it_less_alike():
    brief, long = likenesses(report("Printer jams"), report("Printer jams in cold weather under heavy load in May"))
    assert brief > long


def test_the_form_of_a_word_does_not_matter():
    same, other = likenesses(report("jamming printers on monday"), report("Screen stays dark"))
    assert same > other


@pytest.mark.parametrize(
    "untitled",
    [
        pytest.param(a_memory(f"{TITLE} {BODY}"), id="a first line that is too long"),
        pytest.param(a_memory(f"{TITLE}\n{BODY}", position=3, scope=a_scope(session="s")), id="a turn of a session"),
        pytest.param(a_memory("🙂\nPrinter jams on Mondays"), id="a first line without words"),
    ],
)
def test_what_has_no_title_is_like_none(untitled):
    _, without, none = likenesses(report(TITLE), untitled, report("Screen stays dark"))
    assert without == none


def test_a_short_memory_of_one_line_is_its_own_title():
    same, other = likenesses(a_memory(TITLE), report("Screen stays dark"))
    assert same > other


def test_titles_that_share_nothing_change_nothing():
    assert likenesses(report("Screen stays dark"), report("Lunch is late")) == [0.0, 0.0]


@pytest.mark.parametrize("text", [TITLE, BODY, f"{'long ' * OPENING}\n{BODY}"])
def test_a_question_without_a_title_compares_none(text):
    assert namesakes([report(TITLE)], asked(text)) is None
    [ranked] = rerank([(Candidate(report(TITLE).id, 1.0, {}), report(TITLE))], question=asked(text), now=NOW)
    assert ranked.signals["namesake"] == 0.0


def test_a_title_without_words_compares_nothing():
    assert likenesses(report(TITLE), question=asked(f"🙂 🙂\n{BODY}")) == [0.0]


def test_it_is_added_to_the_score_and_told():
    found = [(Candidate(one.id, 1.0, {}), one) for one in (report("Screen stays dark"), report(TITLE))]
    first, second = rerank(found, question=asked(), now=NOW)
    assert first.memory is found[1][1]
    assert first.signals["namesake"] == pytest.approx(NAMESAKE)
    assert second.signals["namesake"] == pytest.approx(-NAMESAKE)
    assert "titled alike" in first.why
    assert "titled alike" not in second.why


async def test_a_namesake_far_behind_is_fetched_and_found():
    store = MemoryStore()
    others = [report(f"Screen {place} stays dark, program {place}") for place in range(DEPTH // 2)]
    namesake = a_memory(f"{TITLE}\nNothing else is known.")
    await told(store, *others, namesake)
    stores = Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())
    query = Query(text=f"{TITLE}\n{BODY}", filter=Filter(scope=a_scope()), limit=1)
    answers, _ = await rank(query, stores=stores, serving=None, now=NOW)
    assert [one.memory.id for one in answers] == [namesake.id]
