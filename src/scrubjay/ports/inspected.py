"""Stores that can be looked over: which version it is, how it is set up, and what of that is wrong."""

from typing import Protocol, runtime_checkable

from scrubjay.model import Finding


@runtime_checkable
class Inspected(Protocol):
    """A store that says how it is set up. What it holds is looked at elsewhere."""

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Look over versions, extensions, indexes and settings; a fault comes with its remedy.

        With `fix`, what can be put right without loss is, and the finding says so. Safe to repeat.
        """
