"""`write`: what is known, what is decided, what is stored; alone, in batches and among others."""

import asyncio
from dataclasses import replace
from uuid import uuid5

import pytest

from scrubjay.errors import Conflict, IdTaken
from scrubjay.model import Memory, Scope
from scrubjay.ports import Decision, Known, Records
from scrubjay.testing.values import (
    DAY,
    HOUR,
    NOW,
    a_memory,
    a_scope,
    all_rows,
    keep_all,
    replace_by_key,
    some_memories,
    told,
)

TALK = a_scope(session="s-1")


class Listening:
    """Decides like `replace_by_key`, and keeps what it was told to be known, draft by draft."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}

    def __call__(self, draft: Memory, known: Known) -> Decision:
        """Decide, and note what was known."""
        self.known[draft.content] = known
        return replace_by_key(draft, known)


def leave_the_past(draft: Memory, known: Known) -> Decision:
    """Store the draft. What has its key held until then."""
    closes = tuple(old.closed(draft.created_at, because="replaced", by=draft.id) for old in known.same_key)
    left = [replace(old, id=uuid5(old.id, str(draft.id)), valid_to=draft.valid_from) for old in known.same_key]
    return Decision(outcome="stored", memory=draft, closes=closes, opens=(draft, *left))


def keep_longer(draft: Memory, known: Known) -> Decision:
    """Store what is new, in place of what has its key; what is known already is kept as long as the draft."""
    decision = replace_by_key(draft, known)
    if decision.outcome != "unchanged":
        return decision
    kept = replace(decision.memory, expires_at=draft.expires_at, generation=None)
    return replace(decision, memory=kept, keeps=(kept,))


async def known_of(store: Records, draft: Memory) -> Known:
    """What the store knows that bears on this draft."""
    listening = Listening()
    await store.write([draft], listening)
    return listening.known[draft.content]


class WritingSuite:
    """A write stores what was decided, all of it or nothing, and knows what went before."""

    async def test_writing_nothing_is_fine(self, store: Records) -> None:
        assert await store.write([], keep_all) == []

    async def test_a_new_memory_is_stored_as_it_was_told(self, store: Records) -> None:
        draft = a_memory(key="pref:indent", data={"width": 4})
        [remembered] = await store.write([draft], replace_by_key)
        assert (remembered.memory, remembered.outcome, remembered.replaced) == (draft, "stored", None)
        assert await store.get(draft.scope, [draft.id]) == [draft]

    async def test_answers_come_in_the_order_of_the_drafts(self, store: Records) -> None:
        drafts = some_memories(20)
        remembered = await store.write(drafts, replace_by_key)
        assert [one.id for one in remembered] == [draft.id for draft in drafts]

    async def test_what_is_unchanged_answers_with_the_stored_memory(self, store: Records) -> None:
        first = a_memory()
        await store.write([first], replace_by_key)
        [again] = await store.write([a_memory(created_at=NOW + HOUR)], replace_by_key)
        assert (again.memory, again.outcome) == (first, "unchanged")
        assert await all_rows(store, first.scope) == [first]

    async def test_what_is_replaced_is_closed_and_named(self, store: Records) -> None:
        old = a_memory("Tabs", key="pref:indent")
        new = a_memory("Spaces", key="pref:indent", created_at=NOW + HOUR)
        await store.write([old], replace_by_key)
        [remembered] = await store.write([new], replace_by_key)
        assert (remembered.memory, remembered.outcome, remembered.replaced) == (new, "superseded", old.id)
        closed = old.closed(new.created_at, because="replaced", by=new.id)
        assert await store.get(old.scope, [old.id, new.id]) == [closed, new]

    async def test_closing_takes_the_row_as_it_is_given(self, store: Records) -> None:
        old = a_memory("Tabs", key="pref:indent")
        await told(store, old)
        ended = replace(old.closed(NOW + HOUR, because="it ended"), valid_to=NOW + HOUR)
        new = a_memory("Spaces", key="pref:indent")
        await store.write(
            [new], lambda draft, _: Decision(outcome="stored", memory=draft, closes=(ended,), opens=(new,))
        )
        assert await store.get(old.scope, [old.id]) == [ended]

    async def test_what_is_kept_longer_changes_in_nothing_else(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Away", expires_at=NOW + HOUR, importance=0.7))
        await store.mark([stored.id], 3)
        again = a_memory("Away", expires_at=NOW + DAY)
        [done] = await store.write([again], keep_longer)
        kept = replace(stored, expires_at=NOW + DAY)
        assert (done.outcome, done.memory) == ("unchanged", kept)
        assert await all_rows(store, a_scope()) == [kept]
        assert await store.pending(3, limit=9) == [kept]

    async def test_what_was_closed_can_be_kept_anew(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Away", key="k", expires_at=NOW + HOUR, importance=0.7))
        [closed] = await store.close(stored.scope, [stored.id], at=NOW + HOUR, because="expired")
        kept = stored.kept_until(NOW + DAY)

        def anew(draft: Memory, known: Known) -> Decision:
            assert (draft, known.same_id) == (stored, closed)
            return Decision(outcome="stored", memory=kept, keeps=(kept,))

        [done] = await store.write([stored], anew)
        assert (done.outcome, done.memory) == ("stored", kept)
        assert await all_rows(store, a_scope()) == [kept]
        assert await store.pending(3, limit=9) == [kept]
        again = a_memory("Away", key="k", created_at=NOW + HOUR)
        assert (await known_of(store, again)).same_key == (kept,)

    async def test_a_later_draft_sees_that_it_is_kept_longer(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Away", key="k", expires_at=NOW + HOUR))
        longer = [a_memory("Away", key="k", expires_at=NOW + days * DAY) for days in (1, 2)]
        new = a_memory("Back", key="k", created_at=NOW + HOUR)
        done = await store.write([*longer, new], keep_longer)
        closed = replace(stored, expires_at=NOW + 2 * DAY).closed(NOW + HOUR, because="replaced", by=new.id)
        assert [one.outcome for one in done] == ["unchanged", "unchanged", "superseded"]
        assert await all_rows(store, a_scope()) == [closed, new]

    async def test_what_is_new_in_the_batch_can_be_kept_longer(self, store: Records) -> None:
        talk = a_scope(session="s")
        first, again = (a_memory("Away", scope=talk, expires_at=NOW + days * DAY) for days in (1, 2))
        await store.write([first, again], keep_longer)
        assert await all_rows(store, talk) == [replace(first, expires_at=NOW + 2 * DAY, position=0)]

    async def test_one_decision_may_open_several(self, store: Records) -> None:
        past = a_memory("Tabs", key="pref:indent", valid_from=NOW - DAY, valid_to=NOW)
        present = a_memory("Spaces", key="pref:indent")
        decision = Decision(outcome="stored", memory=present, opens=(past, present))
        [remembered] = await store.write([present], lambda *_: decision)
        assert remembered.memory == present
        assert await all_rows(store, present.scope) == [past, present]

    async def test_same_id_is_known_in_any_state_and_any_scope_of_the_tenant(self, store: Records) -> None:
        [stored] = await told(store, a_memory(scope=a_scope("bob")))
        [closed] = await store.close(stored.scope, [stored.id], at=NOW, because="forgotten")
        assert (await known_of(store, a_memory("Other words", id=stored.id))).same_id == closed

    async def test_same_id_is_not_known_across_tenants(self, store: Records) -> None:
        [stored] = await told(store, a_memory(scope=a_scope(tenant="acme")))
        listening = Listening()
        with pytest.raises(IdTaken):
            await store.write([a_memory("Mine", id=stored.id, scope=a_scope(tenant="other"))], listening)
        assert all(known.same_id is None for known in listening.known.values())
        assert await all_rows(store, stored.scope) == [stored]
        assert await all_rows(store, Scope(tenant="other")) == []

    async def test_same_key_is_what_is_believed_oldest_validity_first(self, store: Records) -> None:
        later = a_memory("Spaces", key="k", valid_from=NOW)
        earlier = a_memory("Tabs", key="k", valid_from=NOW - DAY, valid_to=NOW)
        forgotten = a_memory("Both", key="k", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY)
        elsewhere = [a_memory("Tabs", key="k", scope=a_scope(project="p")), a_memory("Tabs", key="K")]
        await told(store, later, earlier, forgotten, *elsewhere)
        await store.close(later.scope, [forgotten.id], at=NOW, because="wrong")
        assert (await known_of(store, a_memory("New", key="k"))).same_key == (earlier, later)
        assert (await known_of(store, a_memory("No key"))).same_key == ()

    async def test_same_words_are_believed_open_ended_and_of_the_same_scope(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("Open"),
            a_memory("Ended", valid_to=NOW + DAY),
            a_memory("Forgotten"),
            a_memory("Elsewhere", scope=a_scope(project="p")),
            a_memory("Other kind", kind="fact"),
            a_memory("Other data", data={"a": 1}),
        )
        await store.close(a_scope(), [stored[2].id], at=NOW, because="wrong")
        assert (await known_of(store, a_memory("Open"))).same_words == stored[0]
        for content in ("Ended", "Forgotten", "Elsewhere", "Other kind", "Other data"):
            assert (await known_of(store, a_memory(content))).same_words is None, content

    async def test_same_words_of_what_has_ended_end_with_it(self, store: Records) -> None:
        later, earlier, other, _keyed = await told(
            store,
            a_memory("On call", valid_from=NOW - DAY, valid_to=NOW),
            a_memory("On call", valid_from=NOW - 2 * DAY, valid_to=NOW),
            a_memory("On call", valid_from=NOW - DAY, valid_to=NOW + DAY),
            a_memory("Away", key="k", valid_from=NOW - DAY, valid_to=NOW),
        )
        listening = Listening()
        told_again = [
            a_memory("On call", valid_from=NOW - HOUR, valid_to=other.valid_to),
            a_memory("On call", valid_from=NOW - HOUR, valid_to=NOW + HOUR),
            a_memory("On call"),
            a_memory("Away", key="k", valid_from=NOW - DAY, valid_to=NOW),
        ]
        for draft, same in zip(told_again, (other, None, None, None), strict=True):
            assert (await known_of(store, draft)).same_words == same
        await store.write([a_memory("Else"), replace(told_again[0], id=a_memory().id, valid_to=NOW)], listening)
        assert listening.known["On call"].same_words == earlier
        await store.close(a_scope(), [earlier.id], at=NOW, because="wrong")
        assert (await known_of(store, a_memory("On call", valid_to=NOW, valid_from=NOW - HOUR))).same_words == later

    async def test_events_said_twice_are_two(self, store: Records) -> None:
        outcomes = [
            remembered.outcome
            for remembered in await store.write([a_memory("ok", kind="message") for _ in range(3)], replace_by_key)
        ]
        assert outcomes == ["stored"] * 3

    async def test_a_draft_sees_what_the_drafts_before_it_did(self, store: Records) -> None:
        drafts = [
            a_memory("Tabs", key="k"),
            a_memory("Spaces", key="k"),
            a_memory("Spaces", key="k"),
            a_memory("Tabs", key="k"),
        ]
        outcomes = [remembered.outcome for remembered in await store.write(drafts, replace_by_key)]
        assert outcomes == ["stored", "superseded", "unchanged", "superseded"]
        rows = await all_rows(store, a_scope())
        assert [row.id for row in rows] == [drafts[0].id, drafts[1].id, drafts[3].id]
        assert [row.superseded_by for row in rows] == [drafts[1].id, drafts[3].id, None]

    async def test_answers_are_the_memories_as_the_whole_batch_leaves_them(self, store: Records) -> None:
        old = a_memory("Tabs", key="k")
        await store.write([old], replace_by_key)
        drafts = [a_memory("Tabs", key="k"), a_memory("Spaces", key="k"), a_memory("Both", key="k")]
        remembered = await store.write(drafts, replace_by_key)
        assert [one.outcome for one in remembered] == ["unchanged", "superseded", "superseded"]
        assert [one.id for one in remembered] == [old.id, drafts[1].id, drafts[2].id]
        assert [one.memory for one in remembered] == await all_rows(store, a_scope())

    async def test_an_id_told_twice_in_one_batch_is_known_the_second_time(self, store: Records) -> None:
        draft = a_memory()
        outcomes = [remembered.outcome for remembered in await store.write([draft, draft], replace_by_key)]
        assert outcomes == ["stored", "unchanged"]

    async def test_an_id_taken_in_mid_batch_leaves_nothing(self, store: Records) -> None:
        [old] = await told(store, a_memory("Tabs", key="k"))
        drafts = [a_memory("Spaces", key="k"), a_memory("More"), a_memory("Taken", id=old.id)]

        def careless(draft: Memory, known: Known) -> Decision:
            return replace_by_key(draft, replace(known, same_id=None))

        with pytest.raises(IdTaken):
            await store.write(drafts, careless)
        assert await all_rows(store, old.scope) == [old]
        assert await store.check() == []

    async def test_a_decision_that_fails_in_mid_batch_leaves_nothing(self, store: Records) -> None:
        [old] = await told(store, a_memory("Tabs", key="k", scope=TALK))

        def failing(draft: Memory, known: Known) -> Decision:
            if draft.content == "Broken":
                raise ZeroDivisionError
            return replace_by_key(draft, known)

        drafts = [a_memory("Spaces", key="k", scope=TALK), a_memory("More", scope=TALK), a_memory("Broken", scope=TALK)]
        with pytest.raises(ZeroDivisionError):
            await store.write(drafts, failing)
        assert await all_rows(store, TALK) == [old]
        [after] = await told(store, a_memory("After", scope=TALK))
        assert after.position == (old.position or 0) + 1, "an undone write leaves no gap"
        assert await store.check() == []

    async def test_two_open_ended_memories_under_one_key_are_refused(self, store: Records) -> None:
        [old] = await told(store, a_memory("Tabs", key="k"))
        with pytest.raises(Conflict):
            await store.write([a_memory("More"), a_memory("Spaces", key="k")], keep_all)
        assert await all_rows(store, old.scope) == [old]

    async def test_two_open_ended_memories_of_the_same_words_are_refused(self, store: Records) -> None:
        [old] = await told(store, a_memory())
        with pytest.raises(Conflict):
            await store.write([a_memory("More"), a_memory()], keep_all)
        assert await all_rows(store, old.scope) == [old]

    async def test_one_key_may_hold_in_many_stretches_of_time(self, store: Records) -> None:
        stretches = [
            a_memory(f"Version {day}", key="k", valid_from=NOW + day * DAY, valid_to=NOW + (day + 1) * DAY)
            for day in range(3)
        ]
        await told(store, *stretches, a_memory("From then on", key="k", valid_from=NOW + 3 * DAY))
        assert len(await all_rows(store, a_scope())) == 4

    async def test_one_key_in_two_scopes_is_two_memories(self, store: Records) -> None:
        scopes = [Scope(), a_scope(), a_scope("bob"), a_scope(project="p"), a_scope(tenant="acme")]
        for scope in scopes:
            [remembered] = await store.write([a_memory(key="k", scope=scope)], replace_by_key)
            assert remembered.outcome == "stored"

    async def test_names_that_differ_only_in_case_are_different(self, store: Records) -> None:
        drafts = [a_memory(key="k", scope=a_scope("anna")), a_memory(key="k", scope=a_scope("Anna")), a_memory(key="K")]
        remembered = await store.write(drafts, replace_by_key)
        assert [one.outcome for one in remembered] == ["stored"] * 3

    async def test_positions_count_on_within_a_session(self, store: Records) -> None:
        first = await told(store, *some_memories(3, kind="message", scope=TALK))
        [other] = await told(store, a_memory(scope=a_scope(session="s-2")))
        more = await told(store, *some_memories(2, kind="message", scope=TALK))
        start = first[0].position
        assert start is not None
        assert [memory.position for memory in first + more] == list(range(start, start + 5))
        assert other.position == start
        assert await store.get(TALK, [memory.id for memory in more]) == more

    async def test_what_is_left_of_one_of_the_same_batch_stands_in_its_place(self, store: Records) -> None:
        moments = (NOW - 2 * HOUR, NOW - HOUR)
        drafts = [a_memory(f"Since {at}", key="k", scope=TALK, valid_from=at) for at in moments]
        remembered = await store.write([*drafts, a_memory(kind="message", scope=TALK)], leave_the_past)
        first, second, last = (one.memory for one in remembered)
        [left] = [one for one in await all_rows(store, TALK) if one.valid_to is not None]
        assert left.position == first.position
        assert first.position is not None
        assert [second.position, last.position] == [first.position + 1, first.position + 2], "it leaves no gap"

    async def test_each_scope_of_a_session_counts_for_itself(self, store: Records) -> None:
        [annas] = await told(store, a_memory(scope=TALK))
        [bobs] = await told(store, a_memory(scope=a_scope("bob", session="s-1")))
        assert annas.position == bobs.position

    async def test_a_position_that_was_given_is_kept(self, store: Records) -> None:
        [stored] = await told(store, a_memory(scope=TALK, position=41))
        assert stored.position == 41

    async def test_without_a_session_there_is_no_position(self, store: Records) -> None:
        [stored] = await told(store, a_memory())
        assert stored.position is None

    async def test_concurrent_writers_leave_one_memory_per_key(self, store: Records) -> None:
        drafts = [a_memory(f"Value {place}", key="k") for place in range(20)]
        answers = await asyncio.gather(*(store.write([draft], replace_by_key) for draft in drafts))
        outcomes = sorted(answer[0].outcome for answer in answers)
        assert outcomes == ["stored"] + ["superseded"] * 19
        rows = await all_rows(store, a_scope())
        assert len([row for row in rows if row.superseded_at is None]) == 1
        # Every replaced one names another: the writers came one after the other.
        assert len({row.superseded_by for row in rows}) == 20

    async def test_concurrent_writers_of_the_same_words_store_them_once(self, store: Records) -> None:
        answers = await asyncio.gather(*(store.write([a_memory()], replace_by_key) for _ in range(20)))
        assert sorted(answer[0].outcome for answer in answers) == ["stored"] + ["unchanged"] * 19
        assert len({answer[0].id for answer in answers}) == 1
        assert len(await all_rows(store, a_scope())) == 1

    async def test_concurrent_writers_leave_no_gap_between_positions(self, store: Records) -> None:
        batches = [some_memories(3, kind="message", scope=TALK) for _ in range(15)]
        answers = await asyncio.gather(*(told(store, *batch) for batch in batches))
        positions = sorted(memory.position for answer in answers for memory in answer if memory.position is not None)
        assert positions == list(range(positions[0], positions[0] + 45))
        for answer in answers:
            places = [memory.position for memory in answer]
            assert places == sorted(places, key=lambda place: place or 0), "a batch keeps its order"

    async def test_concurrent_writers_in_many_scopes_do_not_disturb_each_other(self, store: Records) -> None:
        scopes = [a_scope(f"user-{place}", session="s") for place in range(12)]
        await asyncio.gather(*(store.write([a_memory(key="k", scope=scope)], replace_by_key) for scope in scopes))
        for scope in scopes:
            assert len(await all_rows(store, scope)) == 1

    async def test_a_batch_of_five_thousand(self, store: Records) -> None:
        drafts = [a_memory(f"Fact number {place}", key=f"fact:{place}") for place in range(5_000)]
        remembered = await store.write(drafts, replace_by_key)
        assert [one.id for one in remembered] == [draft.id for draft in drafts]
        again = await store.write(drafts, replace_by_key)
        assert {one.outcome for one in again} == {"unchanged"}
        rows = await all_rows(store, a_scope())
        assert rows == drafts
        assert await store.get(a_scope(), [draft.id for draft in reversed(drafts)]) == drafts[::-1]
