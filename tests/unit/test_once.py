"""Doing a request once, also when whoever works on it dies: the next one goes on soon, never beside a living one."""

import asyncio

import pytest

from scrubjay.access import once as room
from scrubjay.access.once import Once
from scrubjay.backends.memory.access import MemoryAnswers
from scrubjay.client.connection import TRIES
from scrubjay.doors.http.problems import problem_of
from scrubjay.errors import UnderWay
from scrubjay.model.access import HELD, Answer, Caller
from scrubjay.testing import Ticking
from scrubjay.testing.events import eventually


class Watched(MemoryAnswers):
    """Says when a sign of life has come."""

    def __init__(self):
        super().__init__()
        self.signs = asyncio.Queue()

    async def hold(self, claim, *, until):
        self.signs.put_nowait(until)
        return await super().hold(claim, until=until)


async def test_a_request_is_held_while_it_is_worked_on_and_free_soon_after_a_crash(monkeypatch):
    monkeypatch.setattr(room, "_SIGN_SECONDS", 0.001)
    answers, clock = Watched(), Ticking()
    once = Once(answers, Caller(), tenant="default", clock=clock)
    claim = once.claim("name", b"request")
    assert await once.begin(claim) is None
    async with once.held(claim):
        for _ in range(3):
            now = clock.advance(HELD * 0.9)
            while await answers.signs.get() < now + HELD:
                pass
            with pytest.raises(UnderWay):
                await once.begin(claim)
    # Neither finished nor abandoned: so it is after a kill.
    clock.advance(HELD)
    assert await once.begin(claim) is None


def test_our_clients_wait_long_enough_to_get_through_after_a_crash():
    asked = int(problem_of(UnderWay(), "/v1/memory").headers["retry-after"])
    assert asked * (TRIES - 1) >= HELD.total_seconds()


async def test_who_stood_still_for_too_long_leaves_the_request_to_who_has_begun_since(monkeypatch):
    monkeypatch.setattr(room, "_SIGN_SECONDS", 0.001)
    answers, clock = Watched(), Ticking()
    first, second = (Once(answers, Caller(), tenant="default", clock=clock) for _ in range(2))
    slow, quick = first.claim("name", b"request"), second.claim("name", b"request")
    assert await first.begin(slow) is None

    async def worked_on():
        async with first.held(slow):
            clock.advance(HELD)  # As when the event loop was blocked: no sign was given meanwhile.
            assert await second.begin(quick) is None
            await asyncio.sleep(60)

    with pytest.raises(UnderWay):
        await worked_on()
    await first.abandon(slow)
    with pytest.raises(UnderWay):
        await first.begin(first.claim("name", b"request"))
    await second.finish(quick, Answer(status=200, headers={}, body=b"of the second"))
    await first.finish(slow, Answer(status=200, headers={}, body=b"of the first"))
    assert (await first.begin(first.claim("name", b"request"))).body == b"of the second"


async def test_a_claim_that_was_swept_is_taken_again_as_long_as_nobody_else_has_begun(monkeypatch):
    monkeypatch.setattr(room, "_SIGN_SECONDS", 0.001)
    answers, clock = Watched(), Ticking()
    once = Once(answers, Caller(), tenant="default", clock=clock)
    claim = once.claim("name", b"request")
    assert await once.begin(claim) is None
    async with once.held(claim):
        clock.advance(HELD)
        await answers.sweep(now=clock())
        await eventually(lambda: bool(answers._found))
    with pytest.raises(UnderWay):
        await once.begin(once.claim("name", b"request"))
