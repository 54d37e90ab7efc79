"""Counting tokens as the settings say, also where no memory is opened."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.ports import Tokens


def counter(settings: Settings) -> Callable[[str], int]:
    """How many tokens a text has. What counts them is loaded when it is first asked."""
    return lambda text: tokens_for(settings.tokenizer).count(text)


@cache
def tokens_for(name: str) -> "Tokens":
    """What counts tokens under this name: one for the process, since a vocabulary takes 50 MB."""
    from scrubjay.models.tokens import tokens_of

    return tokens_of(name)
