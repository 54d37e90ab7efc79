"""How who reads, and writes later what he makes of it, comes to know that some of it was purged meanwhile."""

from dataclasses import dataclass

from scrubjay.model import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A place as it was before somebody read there. What he makes of what he read is written with it."""

    scope: Scope
    purges: int
    """How often something was purged there so far: all of a place that this one sees, or a memory in one. Grows."""


class Purged(Exception):
    """Something was purged since the place was seen, and nothing was written: look again, read again."""
