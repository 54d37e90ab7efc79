"""An engine behind a guard keeps every promise of the engine."""

import pytest

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.vectors.guarded import GuardedVectors
from scrubjay.ports import Guarded, Listed, PortableVectors
from scrubjay.testing import VectorsSuite


class OnAServer(MemoryVectors):
    """The reference, as if it were on a server."""

    name = "memory://there"

    async def load(self):
        """There is no driver."""

    async def ping(self):
        """It is always there."""


class TestGuardedVectors(VectorsSuite):
    @pytest.fixture
    async def vectors(self):
        return GuardedVectors(OnAServer(), Breaker("memory://there"))


def test_what_the_engine_can_the_guarded_one_can():
    guarded = GuardedVectors(OnAServer(), Breaker("memory://there"))
    assert isinstance(guarded, Guarded)
    assert isinstance(guarded, PortableVectors) == isinstance(MemoryVectors(), PortableVectors)
    assert isinstance(guarded, Listed) == isinstance(MemoryVectors(), Listed)


def test_what_the_engine_cannot_the_guarded_one_cannot():
    class Plain:
        pass

    guarded = GuardedVectors(Plain(), Breaker("memory://there"))
    assert not isinstance(guarded, PortableVectors)
    assert not isinstance(guarded, Listed)
