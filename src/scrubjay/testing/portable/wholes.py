"""Blobs and sessions that can be carried."""

import pytest

from scrubjay.errors import Conflict
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob, Outline, Piece, WholeBlob
from scrubjay.testing.portable.stores import (
    SOURCE,
    PortableStore,
    blobs_of,
    carry,
    outline_of,
    pieces_of,
    sessions_of,
)
from scrubjay.testing.values import HOUR, NOW, a_memory, a_scope, told
from scrubjay.testing.working import a_message, a_value, noted, said, some_messages

HERE = Scope(tenant="acme")
THERE = Scope(tenant="zeta")
LIVE = a_scope(session="live")
OVER = a_scope(session="over", project="p")
DISTILLED = a_scope(session="distilled")
ELSEWHERE = a_scope(tenant="other", session="live")


async def with_blobs(store: PortableStore) -> None:
    """Files of two tenants: shared by memories, empty, one in five versions, and one that is held no more."""
    owners = sorted(new_id() for _ in range(3))
    shared = Blob(b"shared " * 50)
    await store.blobs.keep(HERE, owners[0], [shared, Blob(b""), Blob(bytes(range(256)) * 40)])
    await store.blobs.keep(HERE, owners[1], [shared])
    await store.blobs.keep(THERE, owners[2], [shared])
    lines = [f"line {place}\n" for place in range(200)]
    base: str | None = None
    for version in range(5):
        lines[version * 7] = f"changed {version}\n"
        blob = Blob("".join(lines).encode(), base=base)
        await store.blobs.keep(HERE, owners[2], [blob])
        base = blob.hash
    gone = new_id()
    await store.blobs.keep(HERE, gone, [Blob(b"not for long")])
    await store.blobs.release(HERE, [gone])


async def with_sessions(store: PortableStore) -> None:
    """Sessions of two tenants: two that go on, one of them a scratchpad alone, and one over and partly drained."""
    calls = ({"name": "search", "arguments": {"q": "ünïcode 🐦"}},)
    await said(store.working, *some_messages(3), a_message("", tool_calls=calls), scope=LIVE)
    await noted(store.working, a_value({"step": 2, "of": [1, None]}), scope=LIVE)
    await noted(store.working, a_value("b", name="a"), scope=LIVE)
    old = await said(store.working, *some_messages(5), scope=OVER)
    await store.working.end(OVER, now=NOW + HOUR / 2)
    await store.working.drained(OVER, [message.id for message in old[:2]], now=NOW + HOUR / 2)
    await noted(store.working, a_value(1), scope=ELSEWHERE)
    for item, body in (("one", "kept nowhere else"), ("two", "neither"), ("three", None)):
        await store.log.failed("drain", item, LIVE, error="no", at=NOW, tries=1, pause=HOUR, body=body)
    await store.upkeep.mark("distill", DISTILLED, 7)
    await store.upkeep.mark("learn", a_scope(), 3)


class WholesSuite:
    """Blobs and sessions, each carried whole."""

    async def test_blobs_come_with_all_who_hold_them(self, store: PortableStore) -> None:
        first, second = sorted([new_id(), new_id()])
        await store.blobs.keep(HERE, second, [Blob(b"one"), Blob(b"two")])
        await store.blobs.keep(HERE, first, [Blob(b"one")])
        await store.blobs.keep(THERE, first, [Blob(b"one")])
        assert await blobs_of(store) == [
            WholeBlob(tenant="acme", blob=Blob(b"one"), holders=(first, second)),
            WholeBlob(tenant="acme", blob=Blob(b"two"), holders=(second,)),
            WholeBlob(tenant="zeta", blob=Blob(b"one"), holders=(first,)),
        ]
        assert (await outline_of(store)).blobs == {"acme": 2, "zeta": 1}

    async def test_blobs_are_the_same_there(self, store: PortableStore, other: PortableStore) -> None:
        await with_blobs(store)
        before = await blobs_of(store)
        await carry(store, other, batch=3)
        assert await blobs_of(other) == before
        assert await outline_of(other) == await outline_of(store)
        for scope in (HERE, THERE):
            assert await other.blobs.room(scope) == await store.blobs.room(scope)
            mine = {whole.blob.hash: whole.blob.content for whole in before if whole.tenant == scope.tenant}
            assert await other.blobs.get(scope, [whole.blob.hash for whole in before]) == mine

    async def test_carried_blobs_live_as_long_as_they_are_held(
        self, store: PortableStore, other: PortableStore
    ) -> None:
        first, second = new_id(), new_id()
        await store.blobs.keep(HERE, first, [Blob(b"one"), Blob(b"two")])
        await store.blobs.hold(HERE, second, [Blob(b"two").hash])
        await carry(store, other)
        assert await other.blobs.release(HERE, [first]) == 1
        assert await other.blobs.held(HERE, [first, second]) == {second: (Blob(b"two").hash,)}

    async def test_sessions_are_the_same_there(self, store: PortableStore, other: PortableStore) -> None:
        await with_sessions(store)
        before = await sessions_of(store)
        assert [(whole.scope.tenant, whole.scope.session) for whole in before] == [
            ("default", "distilled"),
            ("default", "live"),
            ("default", "over"),
            ("other", "live"),
        ]
        await carry(store, other, batch=2)
        assert await sessions_of(other) == before
        assert await outline_of(other) == await outline_of(store)
        assert (await outline_of(other)).sessions == {"default": 3, "other": 1}
        assert [one.item for one in await other.log.troubles(limit=9)] == ["one", "two"]
        for scope in (LIVE, OVER, ELSEWHERE):
            assert await other.working.session(scope, now=NOW) == await store.working.session(scope, now=NOW)
            assert await other.working.scratch(scope, now=NOW) == await store.working.scratch(scope, now=NOW)
            assert await other.working.take(scope, limit=9) == await store.working.take(scope, limit=9)

    async def test_a_carried_session_goes_on(self, store: PortableStore, other: PortableStore) -> None:
        await with_sessions(store)
        await carry(store, other)
        assert [one.position for one in await said(other.working, *some_messages(2), scope=LIVE)] == [4, 5]
        plan = await other.working.get(LIVE, "plan", now=NOW)
        assert plan is not None
        await noted(other.working, a_value("next"), scope=LIVE, expect=plan.version)
        [waiting] = await other.working.waiting(now=NOW, soon=HOUR / 2, limit=5)
        assert (waiting.scope, waiting.why, waiting.messages) == (OVER, "ended", 3)

    async def test_what_was_distilled_is_not_distilled_again(self, store: PortableStore, other: PortableStore) -> None:
        await told(store, *(a_memory(f"turn {turn}", kind="message", scope=DISTILLED) for turn in range(3)))
        await store.upkeep.mark("distill", DISTILLED, 1)
        await carry(store, other)
        [stirred] = await other.upkeep.sessions("distill", within=None, limit=9)
        assert (stirred.scope, stirred.mark, stirred.last) == (DISTILLED, 1, 2)

    async def test_what_is_held_still_does_not_change_beside_the_rows(self, store: PortableStore) -> None:
        await with_blobs(store)
        await with_sessions(store)
        blobs, sessions = await blobs_of(store), await sessions_of(store)
        async with store.still() as still:
            before = await still.outline()
            await store.blobs.release(HERE, [holder for whole in blobs for holder in whole.holders])
            await said(store.working, *some_messages(1), scope=LIVE)
            await store.working.end(LIVE, now=NOW)
            pieces = [piece async for piece in still.pieces()]
            assert [whole for piece in pieces for whole in piece.blobs] == blobs
            assert [whole for piece in pieces for whole in piece.sessions] == sessions
            assert await still.outline() == before
        assert await blobs_of(store) != blobs

    async def test_a_stream_goes_on_behind_any_kind_of_piece(self, store: PortableStore) -> None:
        await told(store, a_memory("One"), a_memory("Two"))
        await with_blobs(store)
        await with_sessions(store)
        pieces = await pieces_of(store, batch=2)
        kinds = [(bool(one.memories), bool(one.blobs), bool(one.sessions)) for one in pieces]
        assert all(sum(kind) == 1 for kind in kinds)
        assert kinds == sorted(kinds, reverse=True)
        places = [piece.place for piece in pieces]
        assert places == sorted(set(places))
        for number, place in enumerate(places):
            assert await pieces_of(store, after=place, batch=2) == pieces[number + 1 :]

    async def test_filling_twice_stores_every_kind_once(self, store: PortableStore, other: PortableStore) -> None:
        await told(store, a_memory("One"))
        await with_blobs(store)
        await with_sessions(store)
        await other.begin(SOURCE, await outline_of(store))
        for piece in await pieces_of(store, batch=2):
            await other.fill(SOURCE, piece)
            await other.fill(SOURCE, piece)
            assert await other.begun(SOURCE) == piece.place
        await other.finish(SOURCE)
        assert await pieces_of(other) == await pieces_of(store)

    async def test_a_store_with_blobs_or_sessions_of_its_own_is_refused(
        self, store: PortableStore, other: PortableStore
    ) -> None:
        await store.blobs.keep(HERE, new_id(), [Blob(b"mine")])
        await said(other.working, *some_messages(1), scope=LIVE)
        for one in (store, other):
            with pytest.raises(Conflict, match=SOURCE):
                await one.begun(SOURCE)

    async def test_nothing_of_a_piece_is_stored_that_was_not_begun(self, store: PortableStore) -> None:
        await store.begin("another", Outline(tenants={}))
        whole = WholeBlob(tenant="acme", blob=Blob(b"one"), holders=(new_id(),))
        with pytest.raises(Conflict):
            await store.fill(SOURCE, Piece(place=1, blobs=[whole]))
        assert await pieces_of(store) == []
