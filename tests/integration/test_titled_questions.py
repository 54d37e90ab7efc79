"""A long question with a title, on every set-up: its first line has a say of its own, and the answer says so."""

import pytest

pytestmark = pytest.mark.memory_suite

TITLE = "Printer jams on Monday"
BODY = " ".join(["Steps to reproduce: open the program, wait a while, look at the paper tray."] * 4)


async def test_the_title_of_a_long_question_counts(jay):
    reports = [f"Steps to reproduce: open the program, wait a while, look at number {place}" for place in range(8)]
    await jay.remember_many([*reports, "Printer jams every Monday", "Lunch is at noon"])
    [best, *others] = await jay.recall(f"{TITLE}\n\n{BODY}", mode="meaning", explain=True)
    assert best.memory.content == "Printer jams every Monday"
    assert best.signals["title_rank"] == 1
    assert best.signals["title"] > best.signals["meaning"]
    assert all({"meaning", "title"} <= hit.signals.keys() for hit in others)
    flat = await jay.recall(f"{TITLE} {BODY}", mode="meaning", explain=True)
    assert not any("title" in hit.signals for hit in flat), "without a line of its own it is no title"
    assert flat[0].memory.content in reports


async def test_a_title_narrows_nothing_and_widens_nothing(jay):
    await jay.remember("Printer jams every Monday", user="anna")
    await jay.remember("Printer jams on Monday", user="ben", data={"n": 1})
    question = f"{TITLE}\n{BODY}"
    for mode in ("hybrid", "meaning"):
        [hit] = await jay.recall(question, user="anna", mode=mode, explain=True)
        assert hit.memory.content == "Printer jams every Monday"
        assert "title" in hit.signals
        [hit] = await jay.recall(question, user="ben", mode=mode, data={"n": 1})
        assert hit.memory.content == "Printer jams on Monday"
        assert not await jay.recall(question, user="ben", mode=mode, data={"n": 2})
    [by_words] = await jay.recall(question, user="anna", mode="words", explain=True)
    assert "title" not in by_words.signals
