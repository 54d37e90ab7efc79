"""How stored text is laid out for a model to read: no part of it can pose as an entry or a speaker of its own."""

from typing import Final

INDENT: Final = "    "
"""What every line of a stored text begins with, but for its first. What we say ourselves is never indented as far."""


def indented(text: str, by: str = INDENT) -> str:
    """The text with all lines but the first indented: an entry begins where a line does not.

    A line ends wherever any reader sees one end, such as at a line separator or a form feed.
    """
    first, *rest = text.splitlines() or [""]
    return "\n".join([first, *(f"{by}{line}".rstrip() for line in rest)])


def block(text: str, by: str = INDENT) -> str:
    """The text with every line indented, as code below its heading."""
    return "\n".join(f"{by}{line}".rstrip() for line in text.splitlines())
