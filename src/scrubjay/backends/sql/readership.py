"""Readership: what a shelf knows of each tenant, and whose books stay when not all of them fit.

To read a large book takes a processor for many seconds. If the newest always stayed, two that do not fit together would
throw each other out with every other search. So one goes only for another that is asked for far more often.
"""

from collections.abc import Sequence
from math import exp2
from threading import Lock
from typing import Final

from scrubjay.backends.sql.book import Book

PATIENCE: Final = 3
"""Searches of a tenant that the index on disk answers before its book is read: most commands ask once."""

HALF_LIFE: Final = 600.0
"""Seconds after which a search counts half."""

OFTENER: Final = 2
"""How many times as often as those that would have to go a book must be asked for, to take their place."""

REFUSED: Final = 10.0
"""Seconds for which a book that found no place is not tried again."""

BELIEVED: Final = 3_600.0
"""Seconds after which a book is read to be weighed again: what it was read from may have become small."""


class Tenant:
    """What this process holds of one tenant. Its lock guards all of it but how often it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = Lock()
        self.book: Book | None = None
        self.patience = PATIENCE
        self.reading = False
        """Whether a thread is reading its book, or the rest of it."""
        self.is_too_large = False
        self.ahead_since: float | None = None
        """Since when every search has seen less than the book has heard of."""
        self.size = 0
        """The bytes of its book when it was last weighed; 0 before there was one."""
        self._weighed_at = 0.0
        self.refused_until = 0.0
        self._asked = 0.0
        self._asked_at = 0.0

    def ask(self, now: float) -> None:
        """Count a search at this time, in seconds of a clock that only goes forward."""
        self._asked, self._asked_at = self.asked(now) + 1, now

    def asked(self, now: float) -> float:
        """How often it was searched lately: what is longer ago counts less."""
        return self._asked * exp2((self._asked_at - now) / HALF_LIFE)

    def weigh(self, now: float) -> None:
        """Note how large its book is, if it has one."""
        book = self.book  # Which may go meanwhile.
        if book is not None:
            self.size, self._weighed_at = book.size, now

    def is_weighed(self, now: float) -> bool:
        """Whether it is known how large its book would be."""
        return self.size > 0 and now - self._weighed_at < BELIEVED

    def be_patient(self) -> None:
        """Let the index on disk answer the next few searches."""
        self.patience = PATIENCE

    def without_book(self) -> "Tenant":
        """The same without its book, which may still be in use: whoever has it finishes with it."""
        left = Tenant(self.name)
        left.size, left._weighed_at = self.size, self._weighed_at
        left._asked, left._asked_at = self._asked, self._asked_at
        left.refused_until = self.refused_until
        return left


def leaving(newest: Tenant, others: Sequence[Tenant], *, room: int, now: float) -> list[Tenant] | None:
    """Which of the others give way to the newest book; None when it is the one to go.

    Those that are asked for least go first, and only for one that is asked for far more often than they are together.
    """
    excess = newest.size + sum(tenant.size for tenant in others) - room
    gone: list[Tenant] = []
    if excess <= 0 or not others:
        return gone
    for tenant in sorted(others, key=lambda one: one.asked(now)):
        if excess > 0:
            gone.append(tenant)
            excess -= tenant.size
    enough = OFTENER * sum(tenant.asked(now) for tenant in gone) + PATIENCE
    return gone if newest.asked(now) > enough else None
