"""Regular expressions in linear time (RE2), so that no pattern can hang whoever searches with it."""

import re
from functools import lru_cache
from typing import Any, Final

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_storable, shown

LONGEST: Final = 1_000
"""Characters of a regular expression."""

MEMORY: Final = 1 << 20
"""Bytes that one compiled expression may take. RE2 refuses a pattern that needs more."""

KEPT: Final = 128
"""Compiled expressions that are kept, so that all of them together take at most 128 MiB."""

READ: Final = 20_000
"""Characters of a text that are searched."""


def compiled(pattern: str) -> Any:  # noqa: ANN401 -- RE2 ships no types
    """The compiled expression, searched for in any case. Raises InvalidInput when it is none."""
    if not isinstance(pattern, str) or not pattern.strip():
        raise InvalidInput(f"task_type_pattern is {shown(pattern)}: use a regular expression, such as 'deploy|release'")
    if len(pattern) > LONGEST:
        raise InvalidInput(f"task_type_pattern has {len(pattern)} characters: use at most {LONGEST}")
    check_storable("task_type_pattern", pattern)
    return _compiled(pattern)


@lru_cache(maxsize=KEPT)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 -- the same
    import re2  # noqa: PLC0415 -- loaded by those who search with it

    options = re2.Options()
    options.case_sensitive = False
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        told = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise InvalidInput(
            f"task_type_pattern is {shown(pattern)}: {told}. "
            "Use RE2 syntax, which has no look-around and no back-references"
        ) from error


def matches(pattern: str, *texts: str | None) -> bool:
    """Whether the expression is found in any of the texts."""
    search = compiled(pattern).search
    return any(search(text[:READ]) is not None for text in texts if text)


def word_pattern(words: tuple[str, ...]) -> str:
    """The expression that finds these words in this order, whatever is between them."""
    return r".*".join(rf"\b{re.escape(word)}\b" for word in words)
