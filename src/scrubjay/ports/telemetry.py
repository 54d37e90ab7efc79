"""Telemetry: stretches of work with a name, for whoever watches this process. Nothing that must be true depends on it.

request      method, request_id, traceparent; at its end route, status, key (its id)
remember     tenant; at its end ids, kinds and outcomes (one for each memory)
recall       tenant; at its end ids, kinds (one for each hit), score and similarity of the best, degraded
context      tenant; at its end ids, kinds, tokens, degraded
forget       tenant, purge; at its end memories
append       tenant; at its end messages
consolidate  step; at its end done, failed, skipped
retrieve, hydrate, rerank            the stages of a recall
words, meaning                       the indexes that are asked; words also before, while the question is embedded
index                                what follows a write
embed        texts, question; at its end remembered, shared, embedded: where their vectors came from
store        store, operation: one call of a store, be it a database, a vector engine or Redis

A stage names ids, counts and reasons, never the content of a memory. Its watchers are those of the whole process: so
are the registry of a metrics library and the tracer of a tracing library, and no verb has to be handed them.
"""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

LISTEN: Final = "listen"
"""The operation of a store that waits for others to say something, and takes as long as they are silent."""

Fact: TypeAlias = str | int | float | bool | Sequence[str] | None


class Stage:
    """A stretch of work. Use it as a context: it begins and ends with the block."""

    __slots__ = ("_began", "_states", "_watchers", "error", "facts", "name", "seconds")

    is_watched = True
    """Whether anybody wants to know: if not, facts need not be gathered."""

    def __init__(self, name: str, facts: dict[str, Fact], watchers: "Sequence[Watcher]") -> None:
        self.name = name
        self.facts = facts
        """What is known of it: at first what it begins with, and at its end also how it went."""
        self.seconds = 0.0
        """How long it took, once it has ended."""
        self.error = ""
        """The kind of error that ended it, such as NotFound: the message may quote a memory."""
        self._watchers = watchers
        self._states: list[object] = []
        self._began = 0.0

    def note(self, **facts: Fact) -> None:
        """Add what turned out."""
        self.facts.update(facts)

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._states = [watcher.began(self) for watcher in self._watchers]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._began
        self.error = kind.__name__ if kind is not None else ""
        # The last to begin is the first to end, so that whoever nests things finds them nested.
        for watcher, state in zip(reversed(self._watchers), reversed(self._states), strict=True):
            watcher.ended(self, state)


class Watcher(Protocol):
    """Somebody who wants to know what this process does. It answers at once, and never raises.

    Stages begin and end on any thread, several at the same time.
    """

    def began(self, stage: Stage) -> object:
        """Take note that a stage begins. What is returned is handed back at its end."""

    def ended(self, stage: Stage, state: object) -> None:
        """Take note of how it went. Called in the same context, also when it ended with an error."""


class _Unwatched(Stage):
    """Stands for every stage that nobody watches: it keeps nothing, so that one serves all."""

    __slots__ = ()

    is_watched = False

    def note(self, **facts: Fact) -> None:
        """Keep nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        pass


_UNWATCHED = _Unwatched("", {}, ())
_let_in: list[tuple[Watcher]] = []
_watchers: tuple[Watcher, ...] = ()


def stage(name: str, **facts: Fact) -> Stage:
    """A stretch of work that begins with the block it is the context of."""
    return Stage(name, facts, _watchers) if _watchers else _UNWATCHED


def watch(watcher: Watcher) -> Callable[[], None]:
    """Let somebody watch all that this process does from now on. Returns how to stop, which is safe to call twice.

    Who is let in twice hears of everything once, until it was stopped twice.
    """
    entry = (watcher,)
    _let_in.append(entry)
    _look_around()

    def stop() -> None:
        _let_in[:] = [one for one in _let_in if one is not entry]
        _look_around()

    return stop


def _look_around() -> None:
    global _watchers  # noqa: PLW0603 -- there is one process, and everybody in it is watched
    _watchers = tuple({id(watcher): watcher for (watcher,) in _let_in}.values())
