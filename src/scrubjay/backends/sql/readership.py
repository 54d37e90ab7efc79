"""Readership: what a shelf knows of each tenant, and whose books stay when not all of them fit.

To read a large book takes a processor for many seconds. If the newest always stayed, two that do not fit together would
throw each other out with every other search. So one goes only for another that is asked for far more often.
"""

from collections.abc import Sequence
from itertools import islice
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


KNOWN: Final = 10_000
LOOKED_OVER: Final = 16
"""Tenants without a book of which it is known how often they are searched, and how many are looked at to forget one."""

AT_LEAST: Final = 12_000
"""Bytes that a book takes beside its columns."""


class Tenant:
    """What this process holds of one tenant. Its lock guards all of it but how often it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = Lock()
        self.book: Book | None = None
        self.patience = PATIENCE
        self.reading = False
        """Whether a thread is reading its book, or the rest of it."""
        self._too_large_until = 0.0
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
            self.size, self._weighed_at = AT_LEAST + book.size, now

    def is_weighed(self, now: float) -> bool:
        """Whether it is known how large its book would be."""
        return self.size > 0 and now - self._weighed_at < BELIEVED

    def be_too_large(self, now: float) -> None:
        """Note that it has more than a book holds. It is looked at again after a while, for it may have become less."""
        self._too_large_until = now + BELIEVED

    def is_too_large(self, now: float) -> bool:
        """Whether it had more than a book holds when that was last looked at."""
        return now < self._too_large_until

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


class Tenants(dict[str, Tenant]):
    """Those that were searched lately, in the order of asking. Not safe for threads."""

    def asked(self, name: str, now: float) -> Tenant:
        """The one of this name, which is asked for now."""
        tenant = self.pop(name, None)
        if tenant is None:
            tenant = Tenant(name)
            if len(self) >= KNOWN:
                self._let_one_go()
        self[name] = tenant
        tenant.ask(now)
        return tenant

    def _let_one_go(self) -> None:
        """Forget who was asked for longest ago, of those without a book: books are bounded by what they take."""
        for name in list(islice(self, LOOKED_OVER)):
            tenant = self.pop(name)
            if tenant.book is None:
                return
            self[name] = tenant


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
