"""How to ask a store or a model whether it is there, and how to leave one alone that is not."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar, runtime_checkable

from scrubjay.model import StoreHealth

T = TypeVar("T")

probing: Final[ContextVar[bool]] = ContextVar("probing", default=False)
"""Set by whoever does nothing but ask whether something that is down is back: a guard lets that through at any time."""


@runtime_checkable
class Probe(Protocol):
    """Something that may be down."""

    async def ping(self) -> None:
        """Return as soon as it answers. Raises an Unavailable when it does not, within a few seconds."""


@runtime_checkable
class Guarded(Probe, Protocol):
    """Something that is left alone for a while when it is down."""

    @property
    def health(self) -> StoreHealth:
        """What is known of it, without asking it."""


@runtime_checkable
class Loading(Protocol):
    """Something that this process has to load before it can ask: a driver, or a model."""

    async def warm_up(self) -> None:
        """Load it, if it is not. Asks nobody."""


class Guard(Protocol):
    """Stands before something that may be down, and spares everybody the wait while it is."""

    @property
    def health(self) -> StoreHealth:
        """What is known of it, without asking it."""

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, or raise an Unavailable at once while it would be in vain."""
