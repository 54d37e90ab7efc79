"""Two times, on every set-up: when something held in the world, and when it was believed here."""

from datetime import UTC, datetime, timedelta

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model import AsOf
from scrubjay.testing import NOW

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def on(month, day=1):
    return datetime(2025, month, day, tzinfo=UTC)


async def believed(jay, key="city", **narrow):
    return [memory.content for memory in await jay.list(key=key, **narrow)]


async def test_a_new_value_replaces_the_old_one_and_history_keeps_both(jay, clock):
    old = await jay.remember("Lives in Bonn", key="city", user="anna")
    clock.advance(DAY)
    new = await jay.remember("Lives in Rome", key="city", user="anna")
    assert (new.outcome, new.replaced) == ("superseded", old.id)
    assert await believed(jay) == ["Lives in Bonn", "Lives in Rome"][1:]
    versions = await jay.history(key="city", user="anna")
    # What was true before stays believed of that time: Bonn, closed as an open end, and again as a stretch that ended.
    assert [one.content for one in versions] == ["Lives in Bonn", "Lives in Rome", "Lives in Bonn"]
    assert [one.state(clock.now) for one in versions] == ["superseded", "current", "past"]
    assert {one.id for one in await jay.history(old.id, user="anna")} == {old.id, new.id}


async def test_what_was_believed_on_monday_and_what_was_true_in_march(jay, clock):
    clock.now = monday = on(6, 2)
    await jay.remember("Lives in Bonn", key="city", valid_from=on(1))
    clock.now = tuesday = on(6, 3)
    await jay.remember("Lives in Rome", key="city", valid_from=on(3))
    clock.now = on(6, 4)
    assert await believed(jay) == ["Lives in Rome"]
    assert await believed(jay, as_of=monday) == ["Lives in Bonn"]
    assert await believed(jay, as_of=AsOf(known_at=monday, valid_at=on(4))) == ["Lives in Bonn"]
    assert await believed(jay, as_of=AsOf(known_at=tuesday, valid_at=on(4))) == ["Lives in Rome"]
    assert await believed(jay, as_of=AsOf(valid_at=on(2))) == ["Lives in Bonn"]
    assert await believed(jay, as_of=AsOf(known_at=monday - HOUR, valid_at=on(4))) == []
    for mode in "hybrid", "words", "meaning":
        hits = await jay.recall("lives in", mode=mode, as_of=AsOf(known_at=monday, valid_at=on(4)))
        assert [hit.memory.content for hit in hits] == ["Lives in Bonn"], mode
        hits = await jay.recall("lives in", mode=mode)
        assert [hit.memory.content for hit in hits] == ["Lives in Rome"], mode
    context = await jay.context("lives in", as_of=monday)
    assert "Bonn" in context.text
    assert "Rome" not in context.text


async def test_a_backdated_fact_holds_until_the_next_change_that_is_known(jay, clock):
    await jay.remember("Lives in Rome", key="city", valid_from=on(6))
    clock.advance(DAY)
    past = await jay.remember("Lives in Bonn", key="city", valid_from=on(1))
    assert past.memory.valid_to == on(6)
    assert await believed(jay) == ["Lives in Rome"]
    assert await believed(jay, as_of=AsOf(valid_at=on(3))) == ["Lives in Bonn"]
    assert await believed(jay, as_of=AsOf(known_at=NOW, valid_at=on(3))) == []


async def test_a_stretch_in_the_middle_leaves_both_ends(jay, clock):
    await jay.remember("Lives in Bonn", key="city", valid_from=on(1))
    clock.advance(DAY)
    await jay.remember("Lives in Rome", key="city", valid_from=on(3), valid_to=on(5))
    for month, city in (2, "Bonn"), (3, "Rome"), (4, "Rome"), (5, "Bonn"), (12, "Bonn"):
        assert await believed(jay, as_of=AsOf(valid_at=on(month))) == [f"Lives in {city}"]
    assert await believed(jay) == ["Lives in Bonn"]
    for month, city in (2, "Bonn"), (4, "Rome"), (6, "Bonn"):
        hits = await jay.recall("lives in", mode="meaning", as_of=AsOf(valid_at=on(month)))
        assert [hit.memory.content for hit in hits] == [f"Lives in {city}"]


async def test_saying_the_old_value_again_after_a_change_is_news(jay, clock):
    for city in "Bonn", "Rome", "Bonn":
        clock.advance(DAY)
        told = await jay.remember(f"Lives in {city}", key="city")
    assert told.outcome == "superseded"
    assert await believed(jay) == ["Lives in Bonn"]
    assert await believed(jay, as_of=clock.now - DAY) == ["Lives in Rome"]


async def test_a_stretch_that_ended_and_is_told_again_is_one_memory(jay, clock):
    stretch = {"content": "Anna lived in Bonn", "valid_from": on(1), "valid_to": on(3)}
    both = await jay.remember_many([stretch, {**stretch, "valid_to": on(4)}, stretch])
    clock.advance(DAY)
    again = await jay.remember(**stretch)
    assert [one.outcome for one in (*both, again)] == ["stored", "stored", "unchanged", "unchanged"]
    assert again.id == both[0].id
    assert (await jay.remember(**{**stretch, "valid_from": on(2)})).outcome == "unchanged"
    await jay.forget(again.memory.id)
    assert (await jay.remember(**stretch)).outcome == "stored"


async def test_what_holds_until_a_day_and_is_told_again_is_one_memory(jay, clock):
    offer = {"content": "The offer stands", "valid_to": NOW + 9 * DAY}
    first = await jay.remember(**offer)
    clock.advance(HOUR)
    assert (await jay.remember(**offer)).id == first.id
    better = await jay.remember(**offer, valid_from=NOW - DAY)
    assert (better.outcome, better.replaced) == ("superseded", first.id)


async def test_a_history_that_is_told_again_makes_no_versions(jay, clock):
    cities = [("Bonn", on(1)), ("Rome", on(3)), ("Oslo", on(5))]
    for _ in range(2):
        for city, since in cities:
            await jay.remember(city, key="city", valid_from=since)
        clock.advance(DAY)
    assert len(await jay.history(key="city")) == 5  # Three that are believed, and two that were until the next came.


async def test_what_expires_is_gone_from_answers_and_stays_in_history(jay, clock):
    told = await jay.remember("The build is red", expires_at=NOW + HOUR)
    await jay.remember("The build was green")
    clock.advance(HOUR - timedelta(seconds=1))
    assert len(await jay.recall("build")) == 2
    clock.advance()
    for mode in "hybrid", "words", "meaning":
        hits = await jay.recall("build", mode=mode)
        assert [hit.memory.content for hit in hits] == ["The build was green"], mode
    assert await jay.count() == 1
    assert (await jay.get(told.id)).state(clock.now) == "expired"
    assert await jay.count(as_of=NOW) == 2


async def test_what_is_not_yet_so_waits_for_its_time(jay, clock):
    await jay.remember("The office is closed", valid_from=NOW + HOUR, valid_to=NOW + DAY)
    assert len(await jay.recall("office")) == 0
    clock.advance(HOUR)
    for mode in "hybrid", "words", "meaning":
        assert len(await jay.recall("office", mode=mode)) == 1, mode
    clock.advance(DAY)
    for mode in "hybrid", "words", "meaning":
        assert len(await jay.recall("office", mode=mode)) == 0, mode
    assert len(await jay.recall("office", history=True)) == 1


async def test_correcting_one_stretch_leaves_the_others(jay, clock):
    bonn = await jay.remember("Lives in Bonn", key="city", valid_from=on(1), valid_to=on(3))
    await jay.remember("Lives in Rome", key="city", valid_from=on(3))
    clock.advance(DAY)
    await jay.update(bonn.id, content="Lives in Berlin")
    assert await believed(jay, as_of=AsOf(valid_at=on(2))) == ["Lives in Berlin"]
    assert await believed(jay) == ["Lives in Rome"]
    assert await believed(jay, as_of=AsOf(known_at=NOW, valid_at=on(2))) == ["Lives in Bonn"]


async def test_since_and_until_are_about_the_world(jay):
    await jay.remember_many([{"content": f"Event of month {month}", "valid_from": on(month)} for month in range(1, 7)])
    spring = {"since": on(3), "until": on(5)}
    assert await jay.count(**spring) == 2
    for mode in "hybrid", "words", "meaning":
        hits = await jay.recall("event of month", mode=mode, **spring)
        assert {hit.memory.content for hit in hits} == {"Event of month 3", "Event of month 4"}
    with pytest.raises(InvalidInput, match="until"):
        await jay.count(since=on(5), until=on(3))


async def test_history_asks_for_one_thing_that_exists(jay):
    with pytest.raises(InvalidInput):
        await jay.history()
    with pytest.raises(InvalidInput):
        await jay.history("a", key="b")
    with pytest.raises(NotFound):
        await jay.history(key="city")
    with pytest.raises(NotFound):
        await jay.history("unknown")
