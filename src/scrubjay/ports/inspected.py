"""Stores that can be looked over: which version it is, how it is set up, what is broken in it."""

from typing import Protocol, runtime_checkable

from scrubjay.model import Finding


@runtime_checkable
class Inspected(Protocol):
    """A store, or a part of one, that can be looked over by itself. Whether stores agree is looked at elsewhere."""

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Look over versions, extensions, indexes, settings and files; a fault comes with its remedy.

        With `fix`, what can be put right without loss is, and the finding says so. Safe to repeat.
        """
