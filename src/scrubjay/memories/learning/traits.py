"""Traits: what an execution has or lacks, and others of its family may too. No list of words is behind it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from scrubjay.memories.learning.fingerprints import fingerprint
from scrubjay.model.patterns import TraitKind
from scrubjay.model.tasks import Execution
from scrubjay.model.words import words_of

MOST_TOOLS: Final = 12
"""Different tools of one execution that are compared in pairs: with more, their order says little."""

MOST_WORDS: Final = 80
"""Words of a summary that are read, from its beginning."""

MOST_FILES: Final = 40

READ: Final = 10_000
"""Characters of a text that are read, from its beginning."""

_DIGIT: Final = re.compile(r"\d")

ACTIONS: Final[tuple[TraitKind, ...]] = ("tool", "again", "order", "next", "file", "folder", "model")
"""What was done. It can be done again, or avoided."""

ERRORS: Final[tuple[TraitKind, ...]] = ("error", "errors")
"""What went wrong on the way."""

WORDS: Final[tuple[TraitKind, ...]] = ("phrase", "word")
"""How it was told afterwards, which knows the outcome."""

TIERS: Final = (ACTIONS, ERRORS, WORDS)
ERROR_TIER: Final = TIERS.index(ERRORS)
"""A trait is explained only by others of its tier: a summary that says "failed" explains no failure."""


class Trait(NamedTuple):
    """One thing that an execution has."""

    kind: TraitKind
    what: tuple[str, ...]


ANY_ERROR: Final = Trait("errors", ())
"""That any error was met."""


def tier_of(trait: Trait) -> int:
    """The place of its tier among `TIERS`."""
    return next(place for place, kinds in enumerate(TIERS) if trait.kind in kinds)


def traits_of(execution: Execution) -> list[Trait]:
    """All traits of an execution, each once, always in the same order."""
    found = [*traits_of_tools(execution.tools), *traits_of_errors(execution.errors)]
    files = list(dict.fromkeys(execution.files))[:MOST_FILES]
    found += [Trait("file", (path,)) for path in files]
    found += [Trait("folder", (path.rpartition("/")[0],)) for path in files if "/" in path]
    if execution.model is not None:
        found.append(Trait("model", (execution.model,)))
    words = telling_words(execution.execution_summary)[:MOST_WORDS]
    found += [Trait("word", (word,)) for word in words]
    found += [Trait("phrase", pair) for pair in pairwise(words)]
    return list(dict.fromkeys(found))


def traits_of_tools(tools: Sequence[str]) -> Iterable[Trait]:
    """Which tools were used, which again, and in which order."""
    times = Counter(tools)
    yield from (Trait("tool", (tool,)) for tool in times)
    yield from (Trait("again", (tool,)) for tool, many in times.items() if many > 1)
    # A Counter keeps the order of first use.
    yield from (Trait("order", pair) for pair in combinations(list(times)[:MOST_TOOLS], 2))
    yield from (Trait("next", pair) for pair in pairwise(tools) if pair[0] != pair[1])


def traits_of_errors(errors: Sequence[str]) -> Iterable[Trait]:
    """Which errors were met, and whether any was."""
    if errors:
        yield ANY_ERROR
    yield from (Trait("error", (told,)) for told in map(fingerprint, errors) if told)


def telling_words(text: str) -> list[str]:
    """The words of the beginning of a text in order, without those that have a digit: these differ from run to run."""
    text = text[:READ]
    words = words_of(text)
    if text.isascii() and not _DIGIT.search(text):
        return words
    return [word for word in words if not _DIGIT.search(word)]
