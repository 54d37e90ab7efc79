"""A circuit breaker: what is down is asked now and then, by one caller, and everybody else is told at once."""

import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from scrubjay.elapsed import moment
from scrubjay.errors import Closed, ScrubjayError, StoreDamaged, Unavailable
from scrubjay.logs import logger
from scrubjay.model import StoreHealth
from scrubjay.ports.health import probing

T = TypeVar("T")

PROBED_SECONDS: Final = 5.0
"""After a probe, nobody else is let through for so long: it is asked again before that."""

FAILURES: Final = 3
PAUSE: Final = 1.0
MOST_PAUSE: Final = 30.0

log = logger("breaker")


def any_outage(error: Unavailable) -> bool:
    """Whether the error says that the other side is down. One that was closed on purpose is not, nor a damaged one."""
    return not isinstance(error, Closed | StoreDamaged)


class Breaker:
    """Counts failures in a row and opens after so many: until a pause is over, calls fail at once, with the reason.

    After it exactly one call is let through. When it fails, the next pause is twice as long, up to `most_pause`
    seconds; when it succeeds, everybody is let through again. Pauses are shortened by up to half at random, so that
    many processes do not come back together. Where a task asks in the background whether the other side is back, its
    calls are let through at once, and those of nobody else (`ports.health.probing`). `is_outage` says which of the
    Unavailable errors count. Any other error is an answer too: whoever sends one is up. A call that is cancelled says
    nothing.

    For the tasks of one event loop.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = FAILURES,
        pause: float = PAUSE,
        most_pause: float = MOST_PAUSE,
        is_outage: Callable[[Unavailable], bool] = any_outage,
        clock: Callable[[], float] = moment,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._failures = failures
        self._pause = pause
        self._most_pause = most_pause
        self._is_outage = is_outage
        self._clock = clock
        self._now = now
        self._chance = chance
        self._failed = 0
        """Failures in a row."""
        self._opened = 0
        """Pauses in a row; 0 while calls are let through."""
        self._retry = 0.0
        self._trial: object | None = None
        """The one call that is let through after a pause, while it lasts."""
        self._probed = float("-inf")
        """When a task in the background last asked."""
        self._since: datetime | None = None
        self._error: Unavailable | None = None
        self._answered = False

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once, but for the one that tries again after a pause."""
        return self._opened > 0

    @property
    def health(self) -> StoreHealth:
        """What the calls so far have shown. Asks nobody."""
        if self.is_open:
            wait = timedelta(seconds=max(0.0, self._retry - self._clock()))
            return StoreHealth(
                name=self.name, state="down", since=self._since, error=str(self._error), retry=self._now() + wait
            )
        return StoreHealth(name=self.name, state="up" if self._answered else "unknown", since=self._since)

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, unless the breaker is open: then an error of the kind that opened it is raised at once."""
        trial = self._admit()
        try:
            answer = await work()
        except Unavailable as error:
            if self._is_outage(error):
                self._note_failure(error, trial)
            else:
                self._note_answer()
            raise
        except ScrubjayError:
            self._note_answer()
            raise
        else:
            self._note_answer()
            return answer
        finally:
            # Also when the call was cancelled: else nobody would ever try again.
            if trial is not None and self._trial is trial:
                self._trial = None

    def _admit(self) -> object | None:
        """The token of a trial, or None while everybody is let through. Raises at once for all others."""
        if not self.is_open:
            return None
        if probing.get():
            self._probed = self._clock()
        elif self._clock() < max(self._retry, self._probed + PROBED_SECONDS):
            raise self._refusal()
        if self._trial is not None:
            raise self._refusal()
        self._trial = object()
        return self._trial

    def _refusal(self) -> Unavailable:
        since = f"{self._since:%Y-%m-%d %H:%M:%S} UTC" if self._since is not None else "just now"
        wait = self._retry - self._clock()
        is_tried = self._trial is not None or wait <= 0
        next_try = "It is being tried right now" if is_tried else f"It is tried again in {wait:.1f} s"
        kind = type(self._error) if self._error is not None else Unavailable
        return kind(f"{self.name} is down since {since}: {str(self._error).rstrip('.')}. {next_try}")

    def _note_answer(self) -> None:
        # A call that began before the breaker opened, and is answered after, shows no more than a trial does.
        if self.is_open:
            log.info("store is back", store=self.name)
        if self.is_open or not self._answered:
            self._since = self._now()
        self._failed = self._opened = 0
        self._error = None
        self._answered = True

    def _note_failure(self, error: Unavailable, trial: object | None) -> None:
        if self.is_open and trial is None:
            return  # It began before the breaker opened; that it fails is known.
        self._failed += 1
        if not self.is_open and self._failed < self._failures:
            return
        if not self.is_open:
            self._since = self._now()
            log.warning("store is down", store=self.name, error=str(error))
        if not (probing.get() and self.is_open):
            # Who asks in the background goes on as before, however long it takes.
            self._opened += 1
        longest = min(self._most_pause, self._pause * 2 ** (0 if probing.get() else self._opened - 1))
        self._retry = self._clock() + longest * (1 - self._chance() / 2)
        self._error = error
