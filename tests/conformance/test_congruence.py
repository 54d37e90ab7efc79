"""Every store gives the answers of the reference to the same random operations."""

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.testing import congruence

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_reference_agrees_with_itself(seed):
    await congruence(MemoryStore(), MemoryStore(), seed)
