"""The clock of a server, for all who share its database: hosts whose own clocks are wrong go by it too."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy.engine.interfaces import DBAPIConnection

from scrubjay.elapsed import moment
from scrubjay.logs import logger

log = logger("records")

TRUSTED: Final = timedelta(seconds=1)
"""How far the clock of a host may be from the server's to be used as it is, exact to the microsecond."""

AGAIN_SECONDS: Final = 60
"""How long what the server said is counted on before it is asked again."""


class ServerClock:
    """What the server's clock said last, and the time since by a clock that nobody sets."""

    def __init__(self, elapsed: Callable[[], float] = moment) -> None:
        self._elapsed = elapsed
        self._said: tuple[datetime, float] | None = None
        self._is_off = False

    @property
    def is_old(self) -> bool:
        """Whether the server should be asked again."""
        return self._said is None or self._elapsed() - self._said[1] >= AGAIN_SECONDS

    def ask(self, connection: DBAPIConnection) -> None:
        """Ask the server, outside any transaction."""
        before = connection.autocommit
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("SELECT clock_timestamp()")
        [[said]] = cursor.fetchall()
        cursor.close()
        connection.autocommit = before
        self._said = said.astimezone(UTC), self._elapsed()

    def corrected(self, host: datetime) -> datetime:
        """The time of the host, or the server's where that is another. Before the server was asked, the host's."""
        if self._said is None:
            return host
        said, at = self._said
        there = said + timedelta(seconds=self._elapsed() - at)
        is_off = abs(there - host) > TRUSTED
        if is_off and not self._is_off:
            log.warning("the clock of this host is not the server's, which counts", ahead=str(host - there))
        self._is_off = is_off
        return there if is_off else host
