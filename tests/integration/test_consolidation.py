"""Consolidation, step by step, on the reference, on SQLite and on PostgreSQL."""

import asyncio
import gzip
from dataclasses import replace
from datetime import timedelta
from uuid import uuid5

import pytest

from scrubjay.errors import InvalidInput, NotFound, StoreDamaged
from scrubjay.jobs.work import orders_of
from scrubjay.jobs.worker import PURGED, Worker
from scrubjay.model import Scope, Trust, new_id
from scrubjay.model.portable import to_json
from scrubjay.model.work import STEPS, Policy
from scrubjay.model.working import Limits, scope_text
from scrubjay.testing.values import DAY, HOUR, NOW

HERE = {"user": "anna", "project": "shop", "session": "s-1"}
PLACE = {"user": "anna", "project": "shop"}
TALK = [
    {"role": "user", "content": "Hello! I prefer tabs over spaces for indentation."},
    {"role": "assistant", "content": "Noted. I prefer spaces myself, but tabs it is."},
    {"role": "user", "content": "The deployment failed yesterday because the disk of the build server was full."},
    {"role": "user", "content": "Always run the linter before you commit."},
]


async def talked(jay, messages=TALK, **where):
    place = {**HERE, **where}
    await jay.working.append(messages, **place)
    await jay.working.end(**place)


async def episodes(jay, **where):
    return [one.content for one in await jay.list(kinds=["message"], order="oldest", limit=1_000, **where)]


# Drain


async def test_an_ended_session_becomes_episodes_in_their_order(jay):
    await talked(jay)
    done = await jay.consolidate(steps="drain")
    assert done["drain"].counts == {"messages": 4, "sessions": 1}
    assert await episodes(jay, **HERE) == [one["content"] for one in TALK]
    assert [one.position for one in await jay.list(order="oldest", **HERE)] == [0, 1, 2, 3]
    assert await jay.working.session(**HERE) is None
    trusts = [one.trust for one in await jay.list(order="oldest", **HERE)]
    assert trusts == [Trust.TOLD, Trust.CONCLUDED, Trust.TOLD, Trust.TOLD]
    assert (await jay.consolidate(steps="drain"))["drain"].done == 0


async def test_a_live_session_is_left_alone_until_it_is_about_to_expire(jay, clock):
    await jay.working.append(TALK, **HERE)
    assert (await jay.consolidate(steps="drain"))["drain"].done == 0
    clock.advance(timedelta(hours=23, minutes=55))
    assert (await jay.consolidate(steps="drain"))["drain"].done == 4
    assert [one.content for one in await jay.working.recent(**HERE)] == [one["content"] for one in TALK]


async def test_a_long_session_keeps_its_newer_half(setup):
    setup_jay = await setup.open()
    setup_jay.parts.working.limits = Limits(messages=10)
    await setup_jay.working.append([f"message {place}" for place in range(12)], **HERE)
    assert (await setup_jay.consolidate(steps="drain"))["drain"].done == 7
    assert len(await episodes(setup_jay, **HERE)) == 7
    found = await setup_jay.working.recent(100, **HERE)
    assert [one.content for one in found] == [f"message {place}" for place in range(12)]


async def test_many_workers_at_once_store_nothing_twice(setup):
    jays = [await setup.open() for _ in range(4)]
    for number in range(5):
        await talked(jays[0], [f"message {place}" for place in range(10)], session=f"s-{number}")
    await asyncio.gather(*(jay.consolidate(steps=["drain", "distill"]) for jay in jays))
    for number in range(5):
        session = {**HERE, "session": f"s-{number}"}
        assert await episodes(jays[0], **session) == [f"message {place}" for place in range(10)]
    assert await jays[0].count(kinds=["summary"]) == 5


async def test_sessions_that_number_their_messages_alike_lose_none(jay):
    for session in ("s-1", "s-2"):
        said = [{"role": "user", "content": f"{session} says {number}", "id": number} for number in ("1", "2")]
        await talked(jay, said, session=session)
    assert (await jay.consolidate(steps="drain"))["drain"].counts == {"messages": 4, "sessions": 2}
    for session in ("s-1", "s-2"):
        assert await episodes(jay, **{**HERE, "session": session}) == [f"{session} says 1", f"{session} says 2"]


async def test_a_poisoned_message_is_parked_and_the_rest_goes_on(jay, clock):
    taken = new_id()
    for its_id in (taken, uuid5(taken, scope_text(Scope(**HERE)))):
        await jay.remember(f"Another memory has the id {its_id}", id=its_id)
    await talked(jay, ["before", {"role": "user", "content": "poisoned", "id": taken}, "after"])
    await talked(jay, ["innocent"], session="s-2")
    done = await jay.consolidate(steps="drain")
    assert (done["drain"].failed, done.errors) == (1, ())
    assert await episodes(jay) == ["before", "after", "innocent"]
    for _ in range(4):
        [trouble] = await jay.work.parked()
        assert trouble.parked_at is None
        clock.advance(HOUR)
        await jay.consolidate(steps="drain")
    [trouble] = await jay.work.parked()
    assert trouble.parked_at is not None
    assert trouble.tries == 5
    assert "IdTaken" in trouble.error
    await jay.consolidate(steps="drain")
    assert await jay.working.session(**HERE) is None
    status = await jay.work.status()
    assert (status.failing, status.parked, status.sessions) == (0, 1, 0)
    # Its cause is gone, and it is tried again although no session holds it any more.
    await jay.forget(taken, purge=True)
    assert [one.id for one in await jay.work.retry(trouble.id)] == [trouble.id]
    assert (await jay.consolidate(steps="drain"))["drain"].done == 1
    assert await episodes(jay, **HERE) == ["before", "after", "poisoned"]
    assert await jay.work.parked() == []


async def test_retrying_what_is_not_there(jay):
    assert await jay.work.retry() == []
    with pytest.raises(NotFound, match="parked"):
        await jay.work.retry(new_id())
    with pytest.raises(InvalidInput, match="'nonsense'"):
        await jay.work.retry("nonsense")


# Distill


async def test_episodes_become_a_summary_and_facts_that_name_their_sources(jay):
    await talked(jay)
    done = await jay.consolidate(steps=["drain", "distill"])
    assert done["distill"].counts["sessions"] == 1
    messages = {one.id: one.content for one in await jay.list(kinds=["message"])}
    [summary] = await jay.list(kinds=["summary"])
    assert summary.scope == Scope(user="anna", project="shop")
    assert summary.key == "summary:s-1:0"
    assert summary.data["session"] == "s-1"
    assert summary.derived_from
    assert {*summary.derived_from} <= messages.keys()
    preferences = await jay.list(kinds=["preference"])
    assert [one.content for one in preferences]
    for fact in preferences:
        assert fact.scope == summary.scope
        assert all("I prefer tabs" in messages[source] for source in fact.derived_from)
    assert "tabs" in (await jay.context("indentation", **PLACE)).text


async def test_distilling_again_changes_nothing(jay, clock):
    await talked(jay)
    await jay.consolidate()
    before = await jay.list(history=True, limit=1_000)
    clock.advance()
    await jay.parts.works.upkeep.mark("distill", Scope(**HERE), -1)
    done = await jay.consolidate()
    assert done["distill"].done == 1
    assert done["distill"].counts.get("summaries", 0) == done["distill"].counts.get("facts", 0) == 0
    after = await jay.list(history=True, limit=1_000)
    assert [one.id for one in after] == [one.id for one in before]


async def test_a_summary_grows_with_its_session(jay, clock):
    await talked(jay, TALK[:1])
    await jay.consolidate()
    clock.advance(HOUR)
    await talked(jay, TALK[2:])
    await jay.consolidate()
    [summary] = await jay.list(kinds=["summary"])
    assert "disk" in summary.content
    versions = await jay.history(key="summary:s-1:0", **PLACE)
    assert [one.state(clock()) for one in versions] == ["superseded", "current"]


async def test_what_was_forgotten_does_not_come_back(jay, clock):
    await talked(jay)
    await jay.consolidate()
    for fact in await jay.list(kinds=["preference", "instruction"]):
        await jay.forget(fact.id)
    clock.advance()
    await jay.parts.works.upkeep.mark("distill", Scope(**HERE), -1)
    await jay.consolidate()
    assert await jay.list(kinds=["preference", "instruction"]) == []


async def test_without_a_user_knowledge_stays_in_the_session(jay):
    await jay.working.append(TALK, session="s-9")
    await jay.working.end(session="s-9")
    await jay.consolidate()
    assert {one.scope for one in await jay.list()} == {Scope(session="s-9")}
    assert (await jay.consolidate())["distill"].counts.get("summaries", 0) == 0


async def test_forgetting_the_words_forgets_what_was_made_of_them(jay):
    await talked(jay)
    await jay.consolidate()
    [told] = [one for one in await jay.list(kinds=["message"]) if "tabs over" in one.content]
    await jay.forget(told.id)
    assert await jay.list(kinds=["preference"]) == []


async def test_what_a_tool_said_is_trusted_no_more_than_the_tool(jay):
    said = "The build took 14 minutes on the old server."
    await jay.working.append([{"role": "tool", "content": said, "tool_call_id": "c"}], **HERE)
    await jay.working.end(**HERE)
    await jay.consolidate()
    [summary] = await jay.list(kinds=["summary"])
    assert summary.trust == Trust.OBSERVED


# Expire and decay


async def test_what_expired_is_closed_and_says_so(jay, clock):
    told = await jay.remember("Only today", user="anna", expires_at=NOW + HOUR)
    await jay.remember("Theirs", user="ben", expires_at=NOW + HOUR)
    clock.advance(DAY)
    done = await jay.consolidate(steps="expire", user="anna")
    assert done["expire"].done == 1
    stored = await jay.get(told.id)
    assert (stored.closed_because, stored.state(clock())) == ("expired", "expired")
    assert await jay.count(history=True, user="anna") == 1
    assert (await jay.consolidate(steps="expire"))["expire"].done == 1


RETAINING = ["expire", "decay", "prune"]


async def test_one_wrong_reading_of_the_clock_lets_nothing_go(jay, clock):
    told = await jay.remember("Until June", importance=0.4, expires_at=NOW + 100 * DAY)
    policy = Policy(half_life=timedelta(days=90), prune_after=timedelta(days=180), prune_below=0.5)
    await jay.consolidate(steps=RETAINING, policy=policy)
    for ahead in (365 * DAY, 2 * 365 * DAY):
        clock.advance(ahead)
        for _ in range(2):
            clock.advance(timedelta(minutes=1))
            done = await jay.consolidate(steps=RETAINING, policy=policy)
            assert [done[step].done for step in RETAINING] == [0, 0, 0]
            noted = await jay.work.parked()
            assert sorted((one.step, one.item[:11]) for one in noted) == [
                (step, "clock since") for step in sorted(RETAINING)
            ]
            assert f"{ahead.days} days after this was last done" in noted[0].error
        clock.advance(-ahead)
        await jay.consolidate(steps=RETAINING, policy=policy)
        assert await jay.work.parked() == []
        [kept] = await jay.list()
        assert (kept.id, kept.importance) == (told.id, 0.4)


async def test_a_clock_that_goes_on_from_where_it_leapt_to_is_right(jay, clock):
    told = await jay.remember("Until June", expires_at=NOW + 100 * DAY)
    await jay.consolidate(steps="expire")
    clock.advance(365 * DAY)
    assert (await jay.consolidate(steps="expire"))["expire"].done == 0
    assert await jay.list() == [], "it is over all the same"
    clock.advance(HOUR)
    assert (await jay.consolidate(steps="expire"))["expire"].done == 1
    assert (await jay.get(told.id)).closed_because == "expired"
    assert await jay.work.parked() == []


async def test_importance_halves_in_a_half_life_without_use(jay, clock):
    told = await jay.remember("Unused", importance=0.8)
    kept = await jay.remember("Pinned", importance=1.0)
    for _ in range(91):
        await jay.consolidate(steps="decay", policy=Policy(half_life=timedelta(days=90)))
        clock.advance(DAY)
    await jay.consolidate(steps="decay")
    # In steps of a week: never more than a week behind.
    assert 0.39 <= (await jay.get(told.id)).importance <= 0.43
    assert (await jay.get(kept.id)).importance == 1.0
    assert "whole tenant" in (await jay.consolidate(steps="decay", user="anna"))["decay"].skipped
    assert (await jay.consolidate(steps="decay", policy=Policy(half_life=None)))["decay"].skipped


# Archive


@pytest.fixture
async def archived(setup, tmp_path, clock):
    setup.archive = tmp_path / "archive"
    setup.policy = Policy(archive_after=30 * DAY)
    jay = await setup.open()
    await talked(jay)
    await jay.consolidate()
    clock.advance(31 * DAY)
    return jay


async def test_old_episodes_move_into_a_file_and_back(archived, clock):
    jay = archived
    before = await jay.list(kinds=["message"], order="oldest")
    done = await jay.consolidate(steps="archive")
    assert done["archive"].counts == {"episodes": 4, "files": 1}
    assert await episodes(jay) == []
    [file] = await jay.work.archives()
    assert file.episodes == 4
    assert b"I prefer tabs" in gzip.decompress(file.file.read_bytes()).splitlines()[1]
    hollow = await jay.get(before[0].id)
    assert (hollow.content, hollow.state(clock())) == (f"(archived in {file.file.name})", "archived")
    # What was made of them is still there, and still knows its sources.
    assert await jay.list(kinds=["summary"])
    assert len(await jay.recall("linter", kinds=["message"])) == 0
    assert await jay.work.restore_archive(file.file.name) == 4
    assert await jay.work.restore_archive(file.file) == 0
    back = await jay.list(kinds=["message"], order="oldest")
    assert [to_json(replace(one, used_at=None)) for one in back] == [to_json(one) for one in before]
    assert await jay.recall("linter", kinds=["message"])
    assert await jay.check() == []
    # They count as used, and are not archived again at once.
    assert (await jay.consolidate(steps="archive"))["archive"].done == 0
    clock.advance(31 * DAY)
    assert (await jay.consolidate(steps="archive"))["archive"].done == 4


async def test_what_was_not_distilled_is_not_archived(setup, tmp_path, clock):
    setup.archive = tmp_path / "archive"
    jay = await setup.open()
    await talked(jay)
    await jay.consolidate(steps="drain")
    clock.advance(31 * DAY)
    policy = Policy(archive_after=30 * DAY)
    assert (await jay.consolidate(steps="archive", policy=policy))["archive"].done == 0


async def test_a_purge_reaches_the_archive(archived):
    jay = archived
    await jay.consolidate(steps="archive")
    [told] = [one for one in await jay.list(kinds=["message"], history=True) if one.position == 0]
    await jay.forget(told.id, purge=True)
    # Also when nothing is to be archived any more.
    done = await jay.consolidate(steps="archive", policy=Policy())
    assert done["archive"].counts["purged"] == 1
    [file] = await jay.work.archives()
    assert file.episodes == 3
    assert b"tabs over spaces" not in gzip.decompress(file.file.read_bytes())
    assert await jay.work.restore_archive(file.file) == 3


async def test_a_worker_looks_into_the_archive_soon_after_a_purge(archived, clock):
    jay = archived
    worker = Worker(orders_of(jay), without="index")
    await worker.turn()
    [told] = [one for one in await jay.list(kinds=["message"], history=True) if one.position == 0]
    await jay.forget(told.id, purge=True)
    clock.advance(PURGED)
    assert "archive" in {one.step for one in await worker.turn()}
    [file] = await jay.work.archives()
    assert b"tabs over spaces" not in gzip.decompress(file.file.read_bytes())
    clock.advance(PURGED)
    assert "archive" not in {one.step for one in await worker.turn()}


async def test_a_worker_sees_a_purge_among_however_many_that_it_has_dealt_with(archived, clock):
    jay = archived
    worker = Worker(orders_of(jay), without="index")
    before = clock()
    await jay.parts.stores.generations.leave([new_id() for _ in range(1_200)], at=before, due=before)
    clock.advance(PURGED)
    await worker.turn()
    clock.advance(PURGED)
    assert "archive" not in {one.step for one in await worker.turn()}
    [told] = [one for one in await jay.list(kinds=["message"], history=True) if one.position == 0]
    await jay.forget(told.id, purge=True)
    assert "archive" in {one.step for one in await worker.turn()}
    [file] = await jay.work.archives()
    assert b"tabs over spaces" not in gzip.decompress(file.file.read_bytes())


async def test_a_worker_looks_again_for_what_was_purged_while_it_looked(archived, clock, monkeypatch):
    jay = archived
    worker = Worker(orders_of(jay), without="index")
    await worker.turn()
    [told] = [one for one in await jay.list(kinds=["message"], history=True) if one.position == 0]
    records = jay.parts.stores.records
    missing = records.missing

    async def purged_right_after(ids):
        found = await missing(ids)
        monkeypatch.setattr(records, "missing", missing)
        await jay.forget(told.id, purge=True)
        clock.advance(timedelta(microseconds=1))
        return found

    monkeypatch.setattr(records, "missing", purged_right_after)
    await jay.consolidate(steps="archive")
    clock.advance(PURGED)
    await worker.turn()
    [file] = await jay.work.archives()
    assert b"tabs over spaces" not in gzip.decompress(file.file.read_bytes())


async def test_a_damaged_archive_is_refused(archived):
    jay = archived
    await jay.consolidate(steps="archive")
    [file] = await jay.work.archives()
    file.file.write_bytes(file.file.read_bytes()[:-20])
    with pytest.raises(StoreDamaged, match="damaged"):
        await jay.work.restore_archive(file.file)
    assert [one.episodes for one in await jay.work.archives()] == [None]
    assert (await jay.consolidate(steps="archive"))["archive"].failed == 1
    with pytest.raises(InvalidInput, match="no archive"):
        await jay.work.restore_archive("nothing.jsonl.gz")


async def test_nothing_is_taken_out_when_the_file_cannot_be_written(archived, setup):
    setup.archive.parent.mkdir(exist_ok=True)
    setup.archive.write_text("a file where the folder should be")
    done = await archived.consolidate(steps="archive")
    assert "cannot be written" in done["archive"].error
    assert len(await episodes(archived)) == 4


# Prune


async def test_what_nobody_uses_is_pruned_and_a_dry_run_says_why(jay, clock):
    await jay.remember("Trivial", importance=0.1, user="anna")
    await jay.remember("Important", importance=0.9, user="anna")
    await jay.remember("Never push on Fridays", importance=0.1, kind="rule", user="anna")
    used = await jay.remember("Trivial but used", importance=0.1, user="anna")
    clock.advance(100 * DAY)
    jay.parts.uses.count(Scope(), [used.id])
    await jay.parts.uses.flush()
    policy = Policy(prune_after=90 * DAY)
    dry = await jay.consolidate(steps="prune", policy=policy, dry_run=True)
    [planned] = dry.planned
    assert "Trivial" in planned.what
    assert planned.why == "never recalled since 2026-01-15, and its importance 0.10 is below 0.2"
    assert await jay.count() == 4
    done = await jay.consolidate(steps="prune", policy=policy)
    assert done["prune"].done == 1
    gone = await jay.get(planned.id)
    assert gone.closed_because == "pruned: not recalled for 90 days, importance below 0.2"
    assert gone.state(clock()) == "forgotten"
    assert await jay.count() == 3


async def test_a_place_that_holds_too_much_loses_the_least(jay, clock):
    for number in range(10):
        await jay.remember(f"memory {number}", importance=number / 10, user="anna", session=f"s-{number % 3}")
        clock.advance()
    await jay.remember("Pinned", importance=1.0, user="anna")
    await jay.remember("Theirs", importance=0.0, user="ben")
    policy = Policy(most_memories=5)
    dry = await jay.consolidate(steps="prune", policy=policy, dry_run=True)
    assert [one.what for one in dry.planned] == [f"note 'memory {number}'" for number in range(6)]
    assert "user=anna holds 11 memories" in dry.planned[0].why
    await jay.consolidate(steps="prune", policy=policy)
    assert await jay.count(user="anna") == 5
    assert await jay.count(user="ben") == 1
    done = await jay.consolidate(steps="prune", policy=Policy(most_bytes=20), user="anna")
    assert done["prune"].done > 0
    assert sum(len(one.content) for one in await jay.list(user="anna")) <= 20


# Whole


async def test_a_dry_run_changes_nothing(setup, tmp_path, clock):
    setup.archive = tmp_path / "archive"
    jay = await setup.open()
    await talked(jay)
    await jay.remember("Only today", expires_at=NOW + HOUR, importance=0.1)
    await jay.remember("Hardly wanted", importance=0.1)
    clock.advance(DAY)
    before = [await jay.list(history=True), await jay.working.session(**HERE), await jay.parts.works.log.runs()]
    policy = Policy(archive_after=HOUR, prune_after=HOUR, most_memories=1)
    done = await jay.consolidate(dry_run=True, policy=policy)
    assert done.dry_run
    assert {one.step for one in done.planned} >= {"drain", "expire", "decay", "prune"}
    named = {one.id: (one.step, one.what) for one in done.planned if one.id is not None}
    assert sorted(named.values()) == [("expire", "note 'Only today'"), ("prune", "note 'Hardly wanted'")], "each once"
    assert before == [await jay.list(history=True), await jay.working.session(**HERE), await jay.parts.works.log.runs()]
    assert not setup.archive.exists()


async def test_consolidation_keeps_to_its_tenant_and_scope(jay):
    other = jay.for_tenant("other")
    for memory in (jay, other):
        await talked(memory)
        await talked(memory, user="ben")
    await jay.consolidate(user="anna")
    assert len(await episodes(jay, user="anna")) == 4
    assert await episodes(jay, user="ben") == []
    assert await other.list() == []
    await jay.consolidate()
    assert len(await episodes(jay, user="ben")) == 4
    assert await other.list() == []


async def test_patterns_are_learned_where_executions_changed(jay):
    for number in range(12):
        works = number % 2 == 0
        given = {"task_type": "bugfix", "tools": ["pytest"] if works else ["print"], **PLACE}
        await jay.tasks.store_execution(f"t-{number}", f"Fixed the login bug {number}", works, **given)
    done = await jay.consolidate(steps="learn")
    assert done["learn"].counts["places"] == 1
    assert (await jay.consolidate(steps="learn"))["learn"].counts == {}


async def test_what_waited_for_the_model_is_indexed(setup, moody_embedder):
    jay = await setup.open(embedder=moody_embedder)
    moody_embedder.down = True
    await talked(jay)
    done = await jay.consolidate()
    assert done["drain"].done == 4
    assert "index" in "".join(done.errors)
    moody_embedder.down = False
    assert (await jay.consolidate(steps="index"))["index"].done > 4
    assert (await jay.stats()).pending == 0


async def test_what_is_made_of_a_session_is_nothing_to_distill(jay):
    nobodys = {"user": None}
    await talked(jay, **nobodys)
    await jay.consolidate(steps=["drain", "distill"])
    assert len(await jay.list(session="s-1", project="shop", limit=20)) > len(TALK), "it lies in the session itself"
    assert (await jay.work.status()).undistilled == 0
    assert (await jay.consolidate(steps="distill"))["distill"].done == 0
    await talked(jay, TALK[:1], **nobodys)
    done = await jay.consolidate(steps=["drain", "distill"])
    assert done["distill"].counts["sessions"] == 1


async def test_status_says_how_it_is_doing(jay, clock):
    await talked(jay)
    clock.advance(HOUR)
    status = await jay.work.status()
    assert (status.sessions, status.messages, status.lag) == (1, 4, HOUR)
    assert all(one.finished_at is None for one in status.steps)
    await jay.consolidate()
    status = await jay.work.status()
    assert (status.sessions, status.messages, status.lag, status.undistilled) == (0, 0, timedelta(0), 0)
    runs = {one.step: one for one in status.steps}
    assert tuple(runs) == STEPS
    assert (runs["drain"].total, runs["drain"].runs, runs["drain"].failures) == (4, 1, 0)
    metrics = status.metrics()
    assert metrics["scrubjay_work_drain_done_total"] == 4.0
    assert metrics["scrubjay_work_parked"] == 0.0


async def test_an_unknown_step_is_refused(jay):
    with pytest.raises(InvalidInput, match="'nap': use some of drain"):
        await jay.consolidate(steps=["drain", "nap"])
