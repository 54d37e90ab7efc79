"""What a test may ask of time, on a machine that is slow, busy, or stands still for a moment."""

import asyncio
import time
from contextlib import contextmanager

from scrubjay.errors import Unavailable

LONG = 60
"""Seconds within which everything happens that happens at all. Waiting for less is no gain: who is quick waits less."""

TURNS = 50


@contextmanager
def at_most(seconds):
    """What is within takes no longer. For telling apart what takes a moment and what takes at least twice as long."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


async def at_once(work):
    """Do it in a few turns of the event loop: who waits for a server or for a clock needs more of them."""
    doing = asyncio.ensure_future(work)
    for _ in range(TURNS):
        if doing.done():
            return doing.result()
        await asyncio.sleep(0)
    doing.cancel()
    raise AssertionError(f"not done after {TURNS} turns: it waits for something")


async def answered(ask):
    """Ask until it is answered: who was away comes back in its own time."""
    async with asyncio.timeout(LONG):
        while True:
            try:
                return await ask()
            except Unavailable:
                await asyncio.sleep(0.05)
