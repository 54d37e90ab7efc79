"""Questions that name a time or ask for the latest, from a whole memory on every set-up."""

from datetime import timedelta

import pytest

from scrubjay.read.times import midnight

pytestmark = pytest.mark.memory_suite

DAY = timedelta(days=1)


@pytest.fixture
def today(jay):
    return midnight(jay.parts.clock())


async def contents(jay, question, **options):
    return [hit.memory.content for hit in await jay.recall(question, user="anna", **options)]


async def journal(jay, *happened):
    told = [{"content": content, "kind": "event", "valid_from": moment} for content, moment in happened]
    await jay.remember_many(told, user="anna")


@pytest.mark.parametrize(
    "question",
    ["aprıl 2025", "what happened sıx days ago", "what happened in auguſt 2025?", "ſince yeſterday", "٣ days ago"],
)
async def test_no_letter_of_another_script_stops_a_question(jay, question):
    await jay.remember("The boiler broke", user="anna")
    assert await contents(jay, question) == ["The boiler broke"]
    assert "The boiler broke" in (await jay.context(question, user="anna")).text


async def test_what_is_dated_by_its_day_alone_is_of_that_day(jay, today):
    things = ["Cut the hedge", "Saw a dentist", "Bought a bicycle", "Paid the bill", "Sold the sofa", "Lost the keys"]
    await journal(jay, *((content, today - ago * DAY) for ago, content in enumerate(things)))
    asked = ["today", "yesterday", *(f"{ago} days ago" for ago in range(2, len(things)))]
    firsts = [await jay.recall(f"what happened {when}?", user="anna") for when in asked]
    assert [hits[0].memory.content for hits in firsts] == things
    assert all("of that time" in hits[0].why for hits in firsts)


async def test_what_happened_meanwhile_does_not_stand_before_the_fact_that_answers(jay, today):
    await jay.remember("On call this quarter is Ben", kind="fact", user="anna")
    things = ["Cut the hedge", "Saw a dentist", "Bought a bicycle", "Paid the bill", "Sold the sofa", "Lost the keys"]
    await journal(jay, *((content, today - ago * DAY) for ago, content in enumerate(things)))
    best, *_ = await contents(jay, "who is on call this week?")
    assert best == "On call this quarter is Ben"


async def test_since_and_before_mean_what_they_say(jay, today):
    await journal(
        jay, ("Anna left", today - 40 * DAY), ("Ben came", today - 20 * DAY), ("Zoe was ill", today - 2 * DAY)
    )
    line = f"{today - 20 * DAY:%-d %B %Y}"
    for side, expected in (
        ("after", {"Zoe was ill"}),
        ("since", {"Zoe was ill", "Ben came"}),
        ("before", {"Anna left"}),
        ("until", {"Anna left", "Ben came"}),
    ):
        hits = await jay.recall(f"what happened {side} {line}?", user="anna")
        assert {hit.memory.content for hit in hits if "of that time" in hit.why} == expected
        assert {hit.memory.content for hit in hits[: len(expected)]} == expected


async def test_a_day_full_of_messages_hides_no_event(jay, today):
    yesterday = today - DAY
    await journal(jay, ("Deploy of billing failed", yesterday + timedelta(hours=2)))
    said = [
        {
            "content": f"I look at thing {number}",
            "kind": "message",
            "valid_from": yesterday + timedelta(minutes=number + 180),
        }
        for number in range(120)
    ]
    await jay.remember_many(said, user="anna", session="s")
    await jay.remember_many([f"what happened in meeting {number}" for number in range(120)], user="anna")
    assert (await contents(jay, "what happened yesterday?"))[0] == "Deploy of billing failed"


async def test_the_latest_of_many_is_found_however_many_answer_alike(jay, today):
    told = [
        {"content": f"Release {number} of payments is out", "valid_from": today - (400 - number) * DAY}
        for number in range(300)
    ]
    await jay.remember_many(told, user="anna")
    [first, second, *_] = await jay.recall("what is the latest release of payments?", user="anna")
    assert [one.memory.content.split()[1] for one in (first, second)] == ["299", "298"]
    assert "the newest that was found" in first.why


async def test_a_newer_fact_is_the_latest_before_an_older_event(jay, today):
    await journal(jay, ("Moved the shop to Python version 3.9", today - 400 * DAY))
    await jay.remember(
        "The shop runs on Python version 3.13", kind="fact", key="python", valid_from=today - DAY, user="anna"
    )
    best, *_ = await contents(jay, "what is the latest Python version of the shop?")
    assert best == "The shop runs on Python version 3.13"


async def test_who_asks_why_not_the_latest_is_told_why(jay, today):
    await jay.remember("We use no latest tag for Docker images: nobody knows what runs", user="anna")
    await journal(jay, ("Deleted a wrong tag of Docker images", today - DAY))
    best, *_ = await contents(jay, "why do we not use the latest tag for Docker images?")
    assert best.startswith("We use no latest tag")
