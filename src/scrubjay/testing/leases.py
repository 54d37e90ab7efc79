"""What every store of leases has to do."""

import asyncio
from datetime import timedelta
from typing import Final

from scrubjay.ports import Leases
from scrubjay.ports.leases import LONGEST

LONG: Final = LONGEST
SHORT: Final = timedelta(seconds=0.05)


class LeasesSuite:
    """Give it a fixture `leases`: a store without any. Time is the store's own, so a few of these wait for it."""

    async def test_a_name_is_taken_once(self, leases: Leases) -> None:
        taken = await leases.take("drain", "one", ttl=LONG)
        assert taken is not None
        assert (taken.name, taken.worker) == ("drain", "one")
        assert await leases.take("drain", "two", ttl=LONG) is None
        assert await leases.take("drain", "one", ttl=LONG) is None

    async def test_names_do_not_touch_each_other(self, leases: Leases) -> None:
        assert await leases.take("drain", "one", ttl=LONG) is not None
        assert await leases.take("distill", "two", ttl=LONG) is not None
        assert [(one.name, one.worker) for one in await leases.held()] == [("distill", "two"), ("drain", "one")]

    async def test_what_is_given_back_can_be_taken(self, leases: Leases) -> None:
        first = await leases.take("drain", "one", ttl=LONG)
        assert first is not None
        await leases.release(first)
        await leases.release(first)
        assert await leases.held() == []
        second = await leases.take("drain", "two", ttl=LONG)
        assert second is not None
        assert second.token != first.token

    async def test_what_is_not_renewed_lapses(self, leases: Leases) -> None:
        assert await leases.take("drain", "dead", ttl=SHORT) is not None
        await asyncio.sleep(0.1)
        assert await leases.held() == []
        taken = await leases.take("drain", "alive", ttl=LONG)
        assert taken is not None
        assert taken.worker == "alive"

    async def test_what_is_renewed_lasts(self, leases: Leases) -> None:
        lease = await leases.take("drain", "one", ttl=SHORT)
        assert lease is not None
        kept = await leases.renew(lease, ttl=LONG)
        assert kept is not None
        assert kept.until > lease.until
        await asyncio.sleep(0.1)
        assert await leases.take("drain", "two", ttl=LONG) is None

    async def test_nothing_is_taken_for_ever(self, leases: Leases) -> None:
        lease = await leases.take("drain", "one", ttl=timedelta(days=1))
        assert lease is not None
        kept = await leases.renew(lease, ttl=timedelta(days=1))
        brief = await leases.take("distill", "one", ttl=LONGEST)
        assert kept is not None
        assert brief is not None
        assert lease.until <= kept.until <= brief.until
        assert await leases.take("drain", "two", ttl=LONG) is None

    async def test_one_who_comes_late_has_lost_it(self, leases: Leases) -> None:
        late = await leases.take("drain", "late", ttl=timedelta(milliseconds=1))
        assert late is not None
        await asyncio.sleep(0.05)
        other = await leases.take("drain", "other", ttl=LONG)
        assert other is not None
        assert await leases.renew(late, ttl=LONG) is None
        await leases.release(late)
        assert [one.worker for one in await leases.held()] == ["other"]

    async def test_one_who_comes_late_keeps_what_nobody_took(self, leases: Leases) -> None:
        lease = await leases.take("drain", "slow", ttl=timedelta(milliseconds=1))
        assert lease is not None
        await asyncio.sleep(0.05)
        assert await leases.renew(lease, ttl=LONG) is not None
        assert await leases.take("drain", "other", ttl=LONG) is None

    async def test_what_was_given_back_cannot_be_renewed(self, leases: Leases) -> None:
        lease = await leases.take("drain", "one", ttl=LONG)
        assert lease is not None
        await leases.release(lease)
        assert await leases.renew(lease, ttl=LONG) is None

    async def test_of_many_at_once_one_takes_it(self, leases: Leases) -> None:
        taken = await asyncio.gather(*(leases.take("drain", f"worker {one}", ttl=LONG) for one in range(20)))
        assert len([one for one in taken if one is not None]) == 1
