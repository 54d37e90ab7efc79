"""Tail: as much of the newest as fits into a token budget when it is written together."""

from collections.abc import Callable, Sequence

from scrubjay.ports import Tokens


def tail(
    lines: Sequence[str], budget: int, tokens: Tokens, *, whole: Callable[[int], int] | None = None, spent: int = 0
) -> int:
    """Return from where on the lines fit into the budget; their number when not even the last does.

    They are written one below the other, unless `whole` says what everything costs that is written from a line on;
    `spent` is then what it costs without any of them.
    """
    count = whole or (lambda start: cost(lines[start:], tokens))
    start = len(lines)
    while start and (spent := spent + tokens.count(f"\n{lines[start - 1]}")) <= budget:
        start -= 1
    # Counted one by one they may cost more or less than together, so the whole has the last word.
    while start and count(start - 1) <= budget:
        start -= 1
    while start < len(lines) and count(start) > budget:
        start += 1
    return start


def cost(lines: Sequence[str], tokens: Tokens) -> int:
    """Count the tokens of the lines, written one below the other."""
    return tokens.count("\n".join(lines)) if lines else 0
