"""How every working memory lets go of messages: drained from the oldest on, or discarded wherever they stand."""

import asyncio

from scrubjay.model import Scope, new_id
from scrubjay.ports import Working
from scrubjay.testing.sessions import HERE, a_message, a_value, contents, due, noted, said, some_messages
from scrubjay.testing.values import HOUR, NOW, a_scope


class DrainingSuite:
    """A part of `WorkingSuite`."""

    async def test_what_is_over_or_long_waits_to_be_drained(self, store: Working) -> None:
        long, ended, expired, soon = (Scope(tenant=name, session="s") for name in ("long", "ended", "expired", "soon"))
        await said(store, *some_messages(6), scope=long, ttl=9 * HOUR)
        await said(store, *some_messages(2), scope=ended, ttl=8 * HOUR)
        await store.end(ended, now=NOW)
        await said(store, *some_messages(3), scope=expired, ttl=HOUR)
        await said(store, *some_messages(1), scope=soon, ttl=2 * HOUR)
        later = NOW + 1.5 * HOUR
        assert await due(store, now=later) == {long: ("long", 4), ended: ("ended", 2), expired: ("expired", 3)}
        assert await due(store, now=later, soon=HOUR) == {
            expired: ("expired", 3),
            soon: ("expiring", 1),
            ended: ("ended", 2),
            long: ("long", 4),
        }
        found = await store.waiting(now=later, soon=HOUR, limit=2)
        assert [one.scope for one in found] == [expired, soon]

    async def test_draining_moves_the_oldest_first(self, store: Working) -> None:
        placed = await said(store, *some_messages(6))
        taken = await store.take(HERE, limit=4)
        assert taken == placed[:4] == await store.take(HERE, limit=4)
        assert await store.drained(HERE, [one.id for one in taken], now=NOW) == 4
        session = await store.session(HERE, now=NOW)
        assert session is not None
        assert (session.messages, session.first) == (2, 4)
        assert session.bytes == sum(one.bytes for one in placed[4:])
        assert await contents(store) == [one.content for one in placed[4:]]
        [after] = await said(store, a_message("later"))
        assert after.position == 6

    async def test_draining_can_be_repeated(self, store: Working) -> None:
        placed = await said(store, *some_messages(4))
        done = [one.id for one in placed[:2]]
        assert await store.drained(HERE, done, now=NOW) == 2
        assert await store.drained(HERE, done, now=NOW) == 0
        assert await store.take(HERE, limit=10) == placed[2:]

    async def test_only_what_was_drained_goes(self, store: Working) -> None:
        placed = await said(store, *some_messages(4))
        strange = [new_id(), placed[0].id, placed[2].id]
        assert await store.drained(HERE, strange, now=NOW) == 1
        assert await store.take(HERE, limit=10) == placed[1:]
        assert await store.drained(HERE, [], now=NOW) == 0
        assert await store.drained(a_scope(session="s-9"), strange, now=NOW) == 0

    async def test_a_session_that_is_over_and_drained_is_gone(self, store: Working) -> None:
        placed = await said(store, *some_messages(2))
        await store.end(HERE, now=NOW)
        await store.drained(HERE, [placed[0].id], now=NOW)
        assert await due(store) == {HERE: ("ended", 1)}
        await store.drained(HERE, [placed[1].id], now=NOW)
        assert await due(store) == {}
        assert await store.session(HERE, now=NOW) is None
        # Who drains slowly must not take what was said after.
        [new] = await said(store, a_message("A new session"))
        assert new.position == 0
        assert await store.drained(HERE, [one.id for one in placed], now=NOW) == 0
        assert await contents(store) == ["A new session"]

    async def test_a_live_session_outlives_its_draining(self, store: Working) -> None:
        placed = await said(store, *some_messages(2))
        await noted(store, a_value())
        await store.drained(HERE, [one.id for one in placed], now=NOW)
        assert await store.get(HERE, "plan", now=NOW) is not None
        [after] = await said(store, a_message())
        assert after.position == 2

    async def test_an_empty_session_that_expired_is_let_go(self, store: Working) -> None:
        await noted(store, a_value())
        assert await due(store, now=NOW + HOUR) == {}
        assert await store.session(HERE, now=NOW + HOUR) is None

    async def test_what_was_said_while_draining_stays(self, store: Working) -> None:
        placed = await said(store, *some_messages(3))
        taken = await store.take(HERE, limit=10)
        steps = [
            store.drained(HERE, [one.id for one in taken], now=NOW),
            *(said(store, one) for one in some_messages(8)),
        ]
        await asyncio.gather(*steps)
        left = await store.take(HERE, limit=100)
        assert [one.position for one in left] == list(range(len(placed), 11))

    async def test_a_message_is_discarded_wherever_it_stands(self, store: Working) -> None:
        placed = await said(store, *some_messages(4))
        before = await store.session(HERE, now=NOW)
        unwanted = [placed[1].id, new_id(), placed[2].id]
        assert await store.discard(HERE, unwanted, now=NOW) == 2
        assert await store.discard(HERE, unwanted, now=NOW) == 0
        left = await store.take(HERE, limit=10)
        assert [(one.id, one.position) for one in left] == [(placed[0].id, 2), (placed[3].id, 3)]
        session = await store.session(HERE, now=NOW)
        assert session is not None
        assert before is not None
        assert (session.messages, session.first) == (2, 2)
        assert 2 * session.bytes == before.bytes, "all of them are of one length"
        [after] = await said(store, a_message("later"))
        assert after.position == 4
        assert await contents(store) == [placed[0].content, placed[3].content, "later"]

    async def test_what_is_left_after_discarding_is_drained_as_ever(self, store: Working) -> None:
        placed = await said(store, *some_messages(6))
        assert (await due(store))[HERE][0] == "long"
        await store.discard(HERE, [placed[0].id, placed[3].id], now=NOW)
        assert await due(store) == {}, "it is not too long any more"
        left = await store.take(HERE, limit=2)
        assert [one.id for one in left] == [placed[1].id, placed[2].id]
        assert await store.drained(HERE, [one.id for one in left], now=NOW) == 2
        assert [one.id for one in await store.take(HERE, limit=9)] == [placed[4].id, placed[5].id]

    async def test_a_session_that_is_over_is_gone_when_its_last_message_is_discarded(self, store: Working) -> None:
        placed = await said(store, *some_messages(2))
        await store.end(HERE, now=NOW)
        await store.discard(HERE, [placed[1].id], now=NOW)
        assert await due(store) == {HERE: ("ended", 1)}
        await store.discard(HERE, [placed[0].id], now=NOW)
        assert await store.session(HERE, now=NOW) is None
        assert await store.discard(HERE, [placed[0].id], now=NOW) == 0
