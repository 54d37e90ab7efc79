"""What could not be indexed when it was written: when that was last, and one line of the log for the whole of it."""

from scrubjay.elapsed import moment
from scrubjay.errors import ScrubjayError
from scrubjay.logs import logger

log = logger("index")


class Waiting:
    """Says once that memories wait, and once that they do no more: a line for each would fill the log of an outage."""

    def __init__(self) -> None:
        self.at = float("-inf")
        """When something last had to wait, by `elapsed.moment`."""
        self._count = 0

    def note(self, memories: int, error: ScrubjayError) -> None:
        """So many had to wait, for this reason."""
        if not self._count:
            log.warning("indexing has to wait", error=str(error))
        self._count += memories
        self.at = moment()

    def over(self) -> None:
        """Something was indexed again."""
        if self._count:
            log.info("indexing goes on", waited=self._count)
        self._count = 0
