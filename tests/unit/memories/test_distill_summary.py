"""A summary is made of what was said, fits its budget, and says nothing twice."""

import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.errors import InvalidInput
from scrubjay.memories.distill import distill
from scrubjay.model import Trust
from scrubjay.models.tokens import tokens_of
from scrubjay.testing import NOW, a_memory

TOKENS = {name: tokens_of(name) for name in ("wordpiece", "o200k")}
WORDS = TOKENS["wordpiece"]

TALK = [
    ("user", "Hey! How are you doing today?"),
    ("assistant", "I'm doing well, thank you. How can I help you with your project today?"),
    ("user", "Our launch in Lisbon moved to 14 May. Maria Silva leads it now, with a budget of 40,000 euros."),
    ("assistant", "Got it, that sounds like a big change. Is there anything else?"),
    ("user", "Yes. I met the supplier yesterday, and they raised the price to 12 euros per box."),
    ("assistant", "Thanks for telling me."),
    ("user", "The launch in Lisbon moved to 14 May, and Maria Silva leads it."),
]


def talk(turns=TALK):
    return [
        a_memory(
            content,
            kind="message",
            data={"role": role},
            trust=Trust.TOLD if role == "user" else Trust.CONCLUDED,
            created_at=NOW + timedelta(minutes=place),
        )
        for place, (role, content) in enumerate(turns)
    ]


def distilled(memories, *, budget=60, tokens=WORDS, **more):
    return distill(memories, now=NOW + timedelta(days=1), tokens=tokens, budget=budget, **more)


def test_what_is_specific_is_kept_and_small_talk_is_not():
    summary = distilled(talk(), budget=90).summary
    assert "Maria Silva leads it" in summary.text
    assert "12 euros per box" in summary.text
    assert "How are you" not in summary.text
    assert "thank you" not in summary.text


def test_nothing_is_said_twice():
    summary = distilled(talk(), budget=500).summary
    assert summary.text.count("moved to 14 May") == 1 or summary.text.count("Lisbon") <= 2
    same = distilled(talk([("user", "The box costs 12 euros in Porto."), ("user", "The box costs 12 euros in Porto!")]))
    assert len(same.summary.sentences) == 1


def test_the_order_is_that_of_what_was_said_and_speakers_are_named():
    memories = talk()
    summary = distilled(memories, budget=120).summary
    places = [[memory.id for memory in memories].index(one.source) for one in summary.sentences]
    assert places == sorted(places)
    assert all(line.startswith(("user: ", "assistant: ")) for line in summary.text.splitlines())


def test_a_relative_date_is_written_out_behind_its_sentence():
    assert "[yesterday = 2026-01-14]" in distilled(talk(), budget=120).summary.text


def test_sources_and_trust_are_those_of_what_was_used():
    memories = talk()
    summary = distilled(memories, budget=30).summary
    assert summary.sources == tuple(dict.fromkeys(one.source for one in summary.sentences))
    assert summary.trust is Trust.TOLD
    foreign = [*memories, a_memory("Boxes of Acme cost 99 euros.", kind="observation", trust=Trust.FOREIGN)]
    assert distilled(foreign, budget=500).summary.trust is Trust.FOREIGN


def test_the_least_budget_may_hold_nothing():
    assert distilled(talk(), budget=1).summary is None
    assert distilled([], budget=100).summary is None
    with pytest.raises(InvalidInput, match="budget is 0"):
        distilled(talk(), budget=0)


def test_what_was_said_after_now_is_left_out():
    memories = talk()
    result = distill(memories, now=NOW, tokens=WORDS, budget=100)
    assert result.sources == (memories[0].id,)


def test_one_memory_twice_is_refused():
    memory = talk()[0]
    with pytest.raises(InvalidInput, match="one id twice"):
        distilled([memory, memory])


def test_vectors_tell_sentences_that_say_one_thing_in_other_words():
    turns = [("user", "The meeting is moved to Porto."), ("user", "We will gather in Portugal instead of Spain.")]
    same = distilled(talk(turns), embed=lambda texts: np.ones((len(texts), 1), dtype=np.float32))
    different = distilled(talk(turns), embed=lambda texts: np.eye(len(texts), dtype=np.float32))
    assert len(same.summary.sentences) == 1
    assert len(different.summary.sentences) == 2


def test_names_and_code_are_found_with_their_sources():
    memories = talk([("user", "Maria told Anna that `drop_table()` in store/db.py fails."), ("user", "Anna agrees.")])
    found = {(one.name, one.kind): one for one in distilled(memories).entities}
    assert found["Anna", "name"].mentions == 2
    assert found["Anna", "name"].sources == tuple(memory.id for memory in memories)
    assert ("drop_table()", "code") in found
    assert ("store/db.py", "code") in found


PIECES = st.sampled_from(
    [
        "I prefer tabs over spaces.",
        "We met Dr. Lee yesterday, e.g. for tea.",
        "See https://a.example/b?c=1. Always use it!",
        "- one\n- two\n\n> quoted. Words.",
        "```py\nx = 1.\n```",
        "本日は晴れ。明日は雨！",
        "🎉🚀 wow…",
        "my name is Zoë",
        "x" * 300,
        "\t\n",
        "In March 2024 it cost 5.00 euros, i.e. little",
    ]
)
MESSAGES = st.lists(
    st.tuples(
        st.lists(st.one_of(PIECES, st.text(max_size=40)), min_size=1, max_size=4).map(" ".join),
        st.sampled_from(list(Trust)),
        st.sampled_from(["user", "assistant", "tool", ""]),
    ),
    max_size=6,
)


def storable(text):
    return bool(text.strip()) and "\x00" not in text and text.encode("utf-8", "replace").decode() == text


@settings(max_examples=60, deadline=None)
@given(MESSAGES, st.integers(1, 120), st.sampled_from(sorted(TOKENS)))
def test_whatever_was_said(messages, budget, counter):
    tokens = TOKENS[counter]
    memories = [
        a_memory(text, kind="message", trust=trust, data={"role": role} if role else {})
        for text, trust, role in messages
        if storable(text)
    ]
    by_id = {memory.id: memory for memory in memories}
    result = distilled(memories, budget=budget, tokens=tokens)
    assert result == distilled(memories, budget=budget, tokens=tokens)
    if result.summary is not None:
        assert tokens.count(result.summary.text) == result.summary.tokens <= budget
        for one in result.summary.sentences:
            assert by_id[one.source].content[one.start : one.stop] == one.text
    for fact in result.facts:
        texts = [by_id[source].content for source in fact.sources]
        assert any(fact.content in text and fact.value in text for text in texts)
        assert all(by_id[source].trust is Trust.TOLD for source in fact.sources)
    for entity in result.entities:
        assert all(entity.name in by_id[source].content for source in entity.sources)
    for dated in result.dates:
        assert dated.text in by_id[dated.source].content


def test_a_long_session_takes_seconds_at_most():
    turns = [
        ("user", f"On {day} May we sold {day * 7} boxes to shop number {day}. It went well.") for day in range(1, 29)
    ]
    memories = [memory for _ in range(40) for memory in talk(turns)]
    began = datetime.now(UTC)
    assert distilled(memories, budget=400).summary.tokens <= 400
    assert datetime.now(UTC) - began < timedelta(seconds=60)


@pytest.mark.parametrize(
    "piece", ["@", "a", "a@", "A-", "a/", "i like ", "my name is ", '"i like" ', "@ab ", "Foo Bar ", "next friday "]
)
def test_hostile_talk_is_distilled_in_time(piece):
    hostile = piece * (1_000_000 // len(piece))

    began = time.process_time()
    distill(talk([("user", hostile)]), now=NOW, tokens=WORDS, budget=200)
    assert time.process_time() - began < 30


def test_of_a_very_long_message_the_opening_is_distilled():
    filler = "It rained again. " * 2_000
    found = distill(
        talk([("user", f"I live in Lisbon. {filler} I live in Porto."), ("user", " " * 30_000 + "I live in Faro.")]),
        now=NOW + timedelta(hours=1), tokens=WORDS, budget=200,
    )  # fmt: skip

    assert [fact.content for fact in found.facts] == ["I live in Lisbon"]
    assert found.summary is not None
    assert "Porto" not in found.summary.text
