"""What one memory is made of."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from scrubjay.model import Generation
from scrubjay.ports.blobs import Blobs
from scrubjay.ports.encryption import Vault
from scrubjay.ports.indexes import Generations, Texts, Vectors
from scrubjay.ports.joint import Joint
from scrubjay.ports.models import Calibrated, Embedder
from scrubjay.ports.records import Records

T = TypeVar("T")

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, aware and in UTC."""


Found: TypeAlias = Literal["full", "short", "empty"]
"""What came of a search: as many as were asked for, fewer, or none."""


class Check(Protocol):
    """How whoever asks an engine finds out that it lost something."""

    async def __call__(self, *, found: Found = "full") -> bool:
        """Say whether the engine has all that was indexed, as far as a look shows that is a second old at most.

        After a search that found fewer than it could, the look is newer. Raises nothing when the engine is down.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The generation that answers now, and the model to ask it with."""

    generation: Generation
    embedder: Embedder
    is_complete: bool = True
    """Whether the engine has the vectors of all that was indexed; False while it is being filled again."""
    check: "Check | None" = field(default=None, repr=False, compare=False)
    """Looks whether the engine still has all that was indexed. None where the vectors cannot be lost by themselves."""
    is_fallback: bool = False
    """Whether it stands in for the configured model, which cannot answer; it has vectors of a part of the memories."""
    scale: Calibrated | None = field(init=False, repr=False, compare=False)
    """The model again, if it knows what its similarities mean. Looked at once: every recall wants to know."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", self.embedder if isinstance(self.embedder, Calibrated) else None)


class Together(Protocol):
    """How several reads are made at once, by stores that are in one place: waiting once, and seeing one state of it."""

    async def __call__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine and return its answer. It awaits reads of these stores and nothing else.

        It may run on another thread, and is started over when the stores ask for that.
        """


class Pace:
    """How long something takes: as long as it last did, and a little less with every time that is not measured."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def fade(self) -> None:
        """It was done unmeasured. What took long once is so tried again after a while."""
        self.seconds *= 0.98


class Habit:
    """A number as it usually is: it follows a lower one at once, and a higher one slowly."""

    __slots__ = ("value",)

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def note(self, value: float) -> None:
        """It was this one now."""
        self.value = min(value, self.value + (value - self.value) / 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores that one memory is made of. One object may serve as several of them."""

    records: Records
    generations: Generations
    texts: Texts
    vectors: Vectors
    blobs: Blobs
    vault: Vault | None = None
    """Who holds the keys of what is encrypted; None where nothing can be."""
    joint: Joint | None = None
    """Who writes records together with their vectors; None where these are not in one place."""
    together: Together | None = None
    """For records, texts and vectors that are in one place; None when each is better asked by itself."""
    words: Pace = field(default_factory=Pace, repr=False, compare=False)
    """How long a search by words takes that is made together with the rest."""
    lift: Habit = field(default_factory=Habit, repr=False, compare=False)
    """What reranking adds to the last of the answers: how many have to be fetched is guessed by it."""
