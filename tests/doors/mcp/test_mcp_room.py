"""No answer of a tool fills a conversation, however long what it tells of is."""

import json
import threading

import pytest
from asking import HERE, call, refusal, serving
from mcp.shared.exceptions import MCPError

from scrubjay.doors.mcp.fitting import Room
from scrubjay.models.tokens import WordPiece

TOKENS = WordPiece().count
GUIDE = "The deployment guide. " + " ".join(f"Step {step}: restart node {step} and watch it." for step in range(1_500))


async def test_of_a_long_memory_the_passage_is_shown(tmp_path):
    async with serving(tmp_path) as (client, _):
        told, echo = await call(client, "remember", content=GUIDE, reason=GUIDE, data={"log": GUIDE})
        assert (TOKENS(told) < 400, len(json.dumps(echo)) < 5_000) == (True, True)
        assert told.endswith(f"; part of {len(GUIDE):,} characters shown)")
        text, found = await call(client, "recall", query="restart node 17 and watch it")
        assert (TOKENS(text) <= 3_000, len(json.dumps(found)) < 20_000) == (True, True)
        [hit] = found["hits"]
        memory = hit["memory"]
        assert (memory["characters"], memory["rest"]) == (len(GUIDE), f"scrubjay://memory/{memory['id']}")
        assert memory["content"].strip("… ") in GUIDE
        assert f"1. [note] {memory['content']} (id {memory['id']}, since " in text
        assert f"; part of {len(GUIDE):,} characters; " in text
        assert "`history` gives more by its id, with a larger budget" in text
        [whole] = (await client.read_resource(memory["rest"])).contents
        assert json.loads(whole.text)["content"] == GUIDE
        versions, history = await call(client, "history", id=memory["id"])
        assert TOKENS(versions) <= 3_000
        assert history["versions"][0]["content"].startswith("The deployment guide. Step 0")
        _, history = await call(client, "history", id=memory["id"], budget=100_000)
        assert history["versions"][0]["content"] == GUIDE
        assert "rest" not in history["versions"][0]


async def test_the_rest_is_read_by_its_id_wherever_recall_found_it(tmp_path):
    async with serving(tmp_path) as (client, jay):
        await jay.remember(GUIDE, user="bob", project="atlas")
        text, found = await call(client, "recall", query="restart node 17", user="*", project="*")
        assert "`history` gives more by its id" in text
        memory = found["hits"][0]["memory"]
        assert memory["project"] == "atlas"
        [whole] = (await client.read_resource(memory["rest"])).contents
        assert json.loads(whole.text)["content"] == GUIDE
        _, history = await call(client, "history", id=memory["id"], budget=100_000)
        assert history["versions"][0]["content"] == GUIDE
        # What a call names is still meant, and a key is one of the place at hand.
        assert "in project=shop" in await refusal(client, "history", id=memory["id"], project="shop")
        await jay.remember("8080", key="fact:port", user="bob", project="atlas")
        assert "in user=anna project=shop" in await refusal(client, "history", key="fact:port")
        assert "just one of them" in await refusal(client, "history", key="fact:port", id=memory["id"])


async def test_an_id_reaches_no_further_than_its_reader(tmp_path):
    async with serving(tmp_path, users=["anna", "carl"]) as (client, jay):
        hers = await jay.remember("Likes tea", **HERE)
        his = await jay.remember("Likes coffee", user="bob", project="shop")
        [whole] = (await client.read_resource(f"scrubjay://memory/{hers.id}")).contents
        assert json.loads(whole.text)["content"] == "Likes tea"
        assert "Likes tea" in (await call(client, "history", id=str(hers.id)))[0]
        assert "there is no memory" in await refusal(client, "history", id=str(his.id))
        assert "this key is bound to" in await refusal(client, "history", id=str(his.id), user="bob")
        with pytest.raises(MCPError, match="there is no memory"):
            await client.read_resource(f"scrubjay://memory/{his.id}")


async def test_what_is_shown_in_part_is_read_for_whomever_a_key_is_bound_to(tmp_path):
    async with serving(tmp_path, where={}, users=["anna", "carl"], projects=["shop", "atlas"]) as (client, jay):
        of = {"user": "carl", "project": "atlas"}
        await jay.remember(GUIDE, **of)
        foreign = await jay.remember(GUIDE, user="carl", project="secret")
        text, found = await call(client, "recall", query="restart node 17", **of)
        assert "all of it is the resource" in text
        memory = found["hits"][0]["memory"]
        [whole] = (await client.read_resource(memory["rest"])).contents
        assert json.loads(whole.text)["content"] == GUIDE
        _, history = await call(client, "history", id=memory["id"], budget=100_000)
        assert history["versions"][0]["content"] == GUIDE
        refused = await refusal(client, "history", id=str(foreign.id))
        assert (f"there is no memory '{foreign.id}'" in refused, "anna" in refused, "secret" in refused) == (
            True,
            True,
            False,
        )


async def test_no_room_is_not_taken_for_nothing(tmp_path):
    async with serving(tmp_path) as (client, jay):
        assert (await call(client, "context", query="deploy"))[0] == "Nothing is known yet."
        assert "Nothing like it" in (await call(client, "similar_tasks", description="Deploy the shop"))[0]
        await call(client, "task_done", task_id="T", summary="Ran it", success=True, description="Deploy the shop")
        await jay.remember("The shop is deployed with make", **HERE)
        text, found = await call(client, "context", query="deploy the shop", budget=1)
        assert text == f"There is no room for {found['left_out']} more: give a larger budget."
        text, found = await call(client, "similar_tasks", description="Deploy the shop", budget=1)
        assert text.startswith(f"There is no room for {found['left_out']} more: give a larger budget.")


async def test_ten_memories_of_a_paragraph_are_whole(tmp_path):
    paragraphs = [
        f"About topic {number}: " + f"it was settled in meeting {number} for good. " * 18 for number in range(10)
    ]
    async with serving(tmp_path) as (client, jay):
        await jay.remember_many(paragraphs, **HERE)
        _, found = await call(client, "recall", query="what was settled in the meeting", limit=10)
    assert {hit["memory"]["content"] for hit in found["hits"]} == set(paragraphs)
    assert "left_out" not in found


@pytest.mark.parametrize("budget", [1, 60, 150, 400, 1_500, 6_000])
async def test_an_answer_keeps_to_its_budget(tmp_path, budget):
    notes = [
        f"Note {number} about the cluster: {'restart it and watch the log. ' * 20 * number}" for number in range(12)
    ]
    async with serving(tmp_path) as (client, jay):
        await jay.remember_many([*notes, "The cluster is blue"], **HERE)
        text, found = await call(client, "recall", query="restart the cluster", limit=20, budget=budget)
        for note in notes:
            await jay.remember(note, key="fact:note", **HERE)
        versions, history = await call(client, "history", key="fact:note", budget=budget)
        known = [str(memory.id) for memory in await jay.history(key="fact:note", **HERE)]
    if budget > 20:
        assert TOKENS(text) <= budget
        assert TOKENS(versions) <= budget
    assert len(found["hits"]) + found.get("left_out", 0) == 13
    # The oldest go first.
    assert [one["id"] for one in history["versions"]] == known[history.get("left_out", 0) :]
    if found.get("left_out"):
        assert f"There is no room for {found['left_out']} more: give a larger budget." in text
    if budget >= 1_500:
        assert "The cluster is blue" in {hit["memory"]["content"] for hit in found["hits"]}


async def test_what_was_long_in_a_task_is_cut_too(tmp_path):
    async with serving(tmp_path) as (client, _):
        await call(
            client,
            "task_done",
            task_id="T-1",
            summary=GUIDE,
            success=True,
            description="Deploy the shop",
            errors=["timeout", GUIDE],
            files=[f"{'deep/' * 40}{number}.py" for number in range(1_000)],
        )
        text, found = await call(client, "similar_tasks", description="Deploy the shop again")
        assert (TOKENS(text) <= 1_000, len(json.dumps(found)) < 20_000) == (True, True)
        [task] = found["tasks"]
        assert task["summary"].endswith(" …")
        assert (task["errors"], 0 < len(task["files"]) < 1_000) == (["timeout"], True)
        assert json.loads((await client.read_resource(task["rest"])).contents[0].text)["kind"] == "task"


async def test_code_is_cut_between_lines(tmp_path):
    repository = tmp_path / "code"
    (repository / ".git").mkdir(parents=True)
    for name in "abcdefgh":
        lines = [f"    {name}{line} = keep(session, {line})" for line in range(80)]
        (repository / f"{name}.py").write_text("\n".join([f"def keep_{name}(session):", *lines]) + "\n")
    async with serving(tmp_path / "home") as (client, jay):
        await jay.workspace.ingest(repository, **HERE)
        text, found = await call(client, "search_code", query="keep a session", budget=600)
        assert TOKENS(text) <= 600
        assert found["hits"]
        for hit in found["hits"]:
            first, last = map(int, hit["shown"].split("-"))
            read = (repository / hit["path"]).read_text().splitlines()
            assert hit["text"].splitlines() == read[first - 1 : last]


async def test_a_budget_is_a_number_of_tokens(tmp_path):
    async with serving(tmp_path) as (client, _):
        asked = {"recall": "query", "context": "query", "search_code": "query", "similar_tasks": "description"}
        for tool, name in {**asked, "history": "key"}.items():
            for budget, shown in ((0, "0"), (100_001, "100001")):
                refused = await refusal(client, tool, budget=budget, **{name: "x"})
                assert f"budget is {shown}: use a whole number from 1 to 100,000" in refused


def words(text):
    return len(text.split())


async def test_very_long_memories_are_counted_once_or_twice_and_keep_nobody_waiting(tmp_path):
    told = " ".join(f"step{step % 7} was done" for step in range(10_000))
    budget, counted, counting = 20_000, [], set()

    def count(text):
        counted.append(len(text))
        counting.add(threading.get_ident())
        return words(text)

    async with serving(tmp_path, count=count) as (client, jay):
        for number in range(8):
            await jay.remember(f"Story {number}. {told}", key="story", **HERE)
        counted.clear()
        text, _ = await call(client, "history", key="story", budget=budget)
    assert 0.9 * budget < words(text) <= budget
    # What fits has 160,000 characters at most: counted when it is cut to its parts, and when these are together.
    assert sum(counted) < 5 * 160_000
    assert threading.get_ident() not in counting


PROSE = "the quick brown fox jumps over the lazy dog " * 182
LOG = "\n".join(
    f"21:{line % 60:02d}:17.{line * 7919 % 1000:03d}Z {line * 104729 % 0xFFFFFF:06x}" for line in range(900)
)
CHINESE = "数据库迁移在周五之后冻结，部署服务需要先检查日志。" * 300


async def test_what_begins_lighter_than_it_goes_on_fills_its_room(tmp_path):
    async with serving(tmp_path) as (client, jay):
        await jay.remember(PROSE + LOG, key="report", reason=PROSE + LOG, **HERE)
        shown = 0
        for budget in (2_000, 3_000, 4_000, 6_000, 8_000, 12_000):
            text, history = await call(client, "history", key="report", budget=budget)
            assert 0.9 * budget < TOKENS(text) <= budget
            [version] = history["versions"]
            assert len(version["content"]) > shown, "a larger budget never shows less"
            shown = len(version["content"])
        _, history = await call(client, "history", key="report", budget=40_000)
        assert "characters" not in history["versions"][0], "all of it is shown"
        for way in (PROSE[:8_000] + LOG, LOG[:8_000] + PROSE, "Short. " * 40):
            for number in range(3):
                await jay.remember(f"Report {number}. {way}", key="several", **HERE)
        for budget in (3_000, 9_000):
            text, _ = await call(client, "history", key="several", budget=budget)
            assert 0.85 * budget < TOKENS(text) <= budget


@pytest.mark.parametrize("most", [1, 20, 700, 1_500, 2_000, 5_000])
def test_a_text_is_cut_where_its_tokens_end(most):
    room = Room(budget=100_000, count=TOKENS)
    for text in (PROSE + LOG, LOG + PROSE, PROSE + CHINESE, "word", "ß" * 20_000):
        kept = room.cut(text, most)
        assert text.startswith(kept)
        assert TOKENS(kept) <= most
        assert len(kept) == len(text) or TOKENS(kept) >= most * 0.95 - 20
