"""Recall and the other ways to read, on every set-up: filters, modes, reasons, and questions of any shape."""

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.testing import NOW, ToyEmbedder

MODES = ("hybrid", "meaning", "words")


def contents(hits):
    return [hit.memory.content for hit in hits]


async def test_every_mode_finds_the_one_that_fits(jay):
    await jay.remember_many(["Deploys happen on Friday", "Anna prefers tabs", "The API is written in Go"])
    for mode in MODES:
        hits = await jay.recall("when are deploys?", mode=mode)
        assert contents(hits)[0] == "Deploys happen on Friday", mode
        assert hits.degraded == ()
        assert 0 <= hits[0].score <= 1
        assert hits[0].why
    with pytest.raises(InvalidInput, match="mode"):
        await jay.recall("x", mode="psychic")


async def test_the_signals_are_there_when_asked_for(jay):
    await jay.remember("Deploys happen on Friday", importance=1.0)
    [plain] = await jay.recall("deploys")
    [explained] = await jay.recall("deploys", explain=True)
    assert plain.signals == {}
    assert {"meaning", "words", "importance"} <= explained.signals.keys()
    assert explained.score == plain.score
    assert "important" in explained.why
    assert 0 < explained.similarity <= 1
    [by_words] = await jay.recall("deploys", mode="words", explain=True)
    assert "meaning" not in by_words.signals
    assert by_words.similarity is None


async def test_filters_apply_before_the_limit(jay):
    await jay.remember_many([{"content": f"common fact {place}", "data": {"n": place}} for place in range(300)])
    await jay.remember("a common rule", kind="rule", key="team:style:quotes", importance=0.9, data={"n": -1})
    narrows = (
        {"kinds": ["rule"]},
        {"kinds": "rule"},
        {"key": "team:style:quotes"},
        {"key_prefix": "team:"},
        {"least_importance": 0.8},
        {"data": {"n": -1}},
        {"data": {"n": {"lt": 0}}},
    )
    for narrow in narrows:
        for mode in MODES:
            assert contents(await jay.recall("common fact", mode=mode, limit=3, **narrow)) == ["a common rule"], narrow
        assert await jay.count(**narrow) == 1
        assert contents(await jay.recall("", **narrow)) == ["a common rule"]


async def test_data_is_compared_by_value_and_type(jay):
    for data in {"job": {"lang": "go"}, "n": 3}, {"job": {"lang": "rust"}, "n": "3"}, {"n": 3.5, "ok": True}, {}:
        await jay.remember("a result", data=data)
    expected = (
        ({"job.lang": "go"}, 1),
        ({"job.lang": ["go", "rust"]}, 2),
        ({"job.lang": {"exists": False}}, 2),
        ({"job.lang": {"ne": "go"}}, 3),
        ({"n": 3}, 1),
        ({"n": {"gte": 3, "lt": 4}}, 2),
        ({"n": {"in": [3, "3"]}}, 2),
        ({"ok": True}, 1),
        ({"ok": 1}, 0),
        ({"n": None}, 1),
    )
    for data, matching in expected:
        assert len(await jay.recall("result", data=data)) == matching, data
    with pytest.raises(InvalidInput, match="data filter"):
        await jay.recall("x", data={"n": {"between": [1, 2]}})


async def test_limit_is_kept_and_checked(jay):
    await jay.remember_many([f"common fact {place}" for place in range(30)])
    for limit in 1, 7, 30, 1_000:
        assert len(await jay.recall("common fact", limit=limit)) == min(limit, 30)
    for wrong in 0, -1, 1_001, "many", True:
        with pytest.raises(InvalidInput, match="limit"):
            await jay.recall("x", limit=wrong)
    with pytest.raises(InvalidInput, match="colour"):
        await jay.recall("x", colour="blue")


async def test_what_only_its_words_found_survives_any_threshold(setup):
    silent = await setup.open(words_only=True)
    await silent.remember("Error E4711 means that the disk is full")
    jay = await setup.open()
    await jay.remember("Deploys happen on Friday")
    hits = await jay.recall("E4711", least_similarity=1.0)
    assert contents(hits) == ["Error E4711 means that the disk is full"]
    assert hits[0].similarity is None
    assert len(await jay.recall("E4711", mode="meaning", least_similarity=1.0)) == 0
    with pytest.raises(InvalidInput, match="least_similarity"):
        await jay.recall("x", least_similarity=2)


async def test_an_empty_question_finds_the_newest(jay, clock):
    for place in range(5):
        clock.advance()
        await jay.remember(f"fact {place}")
    for nothing in "", "   ", "\n\t":
        assert contents(await jay.recall(nothing, limit=3)) == ["fact 4", "fact 3", "fact 2"]


HOSTILE = (
    "AND OR NOT NEAR(",
    '"unbalanced',
    "'; DROP TABLE memories; --",
    "a* b^2 {c} -d +e col:value body:x marks:s1x1",
    "🐦🐦🐦",
    "((((((((((",
    "\x00\x01 control",
    "%_\\",
    "Wo wohnt Änne?",
    "東京タワーはどこですか",
    "где живёт Анна",
    "أين تعيش آنا",
    "!!! ??? ...",
    "\ud83d half a pair",
    "x" * 1_000_000,
    "word " * 200_000,
)


async def test_every_question_is_safe(jay):
    await jay.remember_many(["Anna lives in Tokyo", "Änne wohnt in Köln", "東京タワーは東京にあります", "🐦 is a bird"])
    for question in HOSTILE:
        for mode in MODES:
            hits = await jay.recall(question, mode=mode)
            assert hits.degraded == (), question[:40]
        await jay.context(question)
    assert contents(await jay.recall("wohnt anne", mode="words"))[0] == "Änne wohnt in Köln"
    assert contents(await jay.recall("東京タワー", mode="words"))[0] == "東京タワーは東京にあります"


async def test_a_long_memory_is_found_by_its_part(setup):
    jay = await setup.open(embedder=ToyEmbedder(window=16))
    paragraphs = [f"Paragraph {place} speaks of topic{place} and nothing else." for place in range(40)]
    await jay.remember("\n\n".join(paragraphs))
    [hit] = await jay.recall("paragraph topic23 speaks", mode="meaning")
    assert "topic23" in hit.passage
    assert len(hit.passage) < 200


async def test_being_found_counts_as_being_used(setup):
    jay = await setup.open()
    told = await jay.remember("Deploys happen on Friday")
    await jay.recall("deploys")
    await jay.recall("deploys")
    await jay.recall("deploys", touch=False)
    await jay.context("deploys")
    await jay.close()
    memory = await (await setup.open()).get(told.id)
    assert (memory.uses, memory.used_at) == (3, NOW)


async def test_listing_goes_page_by_page(jay):
    done = await jay.remember_many([{"content": f"fact {place}", "id": f"f-{place}"} for place in range(25)])
    for order, expected in ("oldest", done), ("newest", done[::-1]):
        pages, after = [], None
        while page := await jay.list(limit=10, order=order, after=after):
            pages.append([one.id for one in page])
            after = page[-1].id
        assert [len(page) for page in pages] == [10, 10, 5]
        assert [one for page in pages for one in page] == [one.id for one in expected]
    assert [one.content for one in await jay.list(limit=1, order="oldest", after="f-3")] == ["fact 4"]
    assert await jay.list(order="oldest", after="f-24") == [], "the end"
    with pytest.raises(NotFound, match="after: unknown is not stored here"):
        await jay.list(after="unknown")
    with pytest.raises(InvalidInput, match="limit"):
        await jay.list(limit=0)


async def test_what_was_said_around_a_message(jay):
    for place in range(10):
        await jay.remember(f"turn {place}", kind="message", user="anna", session="s", id=f"t-{place}")
    await jay.remember("elsewhere", kind="message", user="anna", session="other")
    around = await jay.around("t-4", before=2, after=3, user="anna")
    assert [one.content for one in around] == [f"turn {place}" for place in range(2, 8)]
    assert [one.content for one in await jay.around("t-0", before=5, after=0)] == ["turn 0"]
    await jay.forget("t-5", user="anna")
    assert [one.content for one in await jay.around("t-4", before=0, after=1)] == ["turn 4", "turn 6"]
    alone = await jay.remember("no session")
    assert [one.id for one in await jay.around(alone.id)] == [alone.id]
    with pytest.raises(NotFound):
        await jay.around("t-4", user="bob")


async def test_stats_and_counts_say_what_is_there(jay, clock):
    await jay.remember("tabs", kind="preference", key="indent", user="anna")
    clock.advance()
    await jay.remember("spaces", kind="preference", key="indent", user="anna")
    await jay.remember("Go", kind="fact", user="bob")
    stats = await jay.stats()
    assert (stats.memories, stats.versions, stats.scopes) == (2, 4, 2)
    assert stats.kinds == {"preference": 1, "fact": 1}
    assert (stats.pending, stats.vectors) == (0, 4)
    assert [(one.number, one.state) for one in stats.generations] == [(1, "active")]
    assert stats.embedder == "toy"
    assert (await jay.stats(user="anna")).memories == 1
    assert await jay.count(user="anna", history=True) == 3
    assert await jay.check() == []


@pytest.mark.parametrize("way", ["role", "author", "text", "nobody"])
async def test_an_assistant_is_known_for_one_however_that_is_told(jay, way):
    lecture = "You can use yeast, flour, water and salt for sourdough bread. " * 12
    for place, (role, text) in enumerate([("user", "I bake sourdough bread"), ("assistant", lecture)] * 3):
        told = {
            "role": {"data": {"role": role}, "content": text},
            "author": {"author": role, "content": text},
            "text": {"content": f"{role}: {text}"},
            "nobody": {"content": text},
        }[way]
        await jay.remember(**{**told, "content": f"{told['content']} {place}"}, session="s1")
    hits = await jay.recall("sourdough bread with yeast and salt", explain=True)
    assert {hit.signals["role"] < 0 for hit in hits if "yeast" in hit.memory.content} == {True}
    assert {hit.signals["role"] < 0 for hit in hits if "yeast" not in hit.memory.content} == {False}


async def test_who_wrote_a_note_is_found_with_it(jay):
    await jay.remember("Deploys happen on Friday", author="Anna")
    await jay.remember("Deploys happen on Monday", author="Bo")
    for mode in ("hybrid", "words"):
        assert contents(await jay.recall("what did Bo say?", mode=mode))[0] == "Deploys happen on Monday"
