"""What the writer of a SQLite file is handed: by one, or by several whose work is of one sort and is done as one."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection

from scrubjay.backends.sql.waiting import Attempt, Waiting
from scrubjay.errors import StoreDamaged, StoreUnavailable

Whole: TypeAlias = Callable[[Connection, Sequence[Any]], Sequence[Any]]
"""Work on several items at once. It answers each, in their order, as if each had come by itself."""


class Order(Waiting):
    """Something to be written for one who waits."""

    __slots__ = ("alone", "bare", "durable", "item", "whole")

    def __init__(
        self, work: Callable[[Connection], Any], *, durable: bool = True, alone: bool = True, bare: bool = False
    ) -> None:
        super().__init__(work)
        self.bare = bare
        self.durable = durable
        self.alone = alone
        self.whole: Whole | None = None
        self.item: Any = None

    @classmethod
    def of_item(cls, whole: Whole, item: object) -> "Order":
        """One that may be done as one with others of its sort."""
        order = cls(lambda connection: whole(connection, [item])[0], alone=False)
        order.whole, order.item = whole, item
        return order

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits for it."""
        return not self.future.done()

    def told(self) -> "Sequence[Order]":
        """Who waits for it, with what came of it."""
        return (self,)


class Company(Attempt):
    """Several orders of one sort, done as one."""

    __slots__ = ("orders",)

    alone: Final = False
    durable: Final = True

    def __init__(self, whole: Whole, orders: Sequence[Order]) -> None:
        items = [order.item for order in orders]
        super().__init__(lambda connection: whole(connection, items))
        self.orders = orders

    @property
    def is_refused(self) -> bool:
        """Whether it failed for something that somebody brought. A store that cannot answer fails for all of them.

        What is damaged may be one memory that does not decrypt, which is nothing to those who have not asked for it.
        """
        return self.error is not None and (
            isinstance(self.error, StoreDamaged) or not isinstance(self.error, StoreUnavailable)
        )

    def divided(self) -> Sequence[Order]:
        """The orders, to be done one by one."""
        for order in self.orders:
            order.whole = None
        return self.orders

    def told(self) -> Sequence[Order]:
        """Everybody who waits for it, with what came of it."""
        answers = self.answer if self.error is None else [None] * len(self.orders)
        for order, answer in zip(self.orders, answers, strict=True):
            order.answer, order.error = answer, self.error
        return self.orders
