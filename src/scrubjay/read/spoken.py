"""Spoken: whether what was found was said between people, where nobody has told who said it.

A conversation is told in many ways: as messages or, turn by turn, as notes of a session; with an author, with the name
before the text, or with neither. What is known about talk helps to find things in all of them. It does harm among the
notes that an agent takes in a session, and where one of those who talk is an assistant.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from scrubjay.model import DEFAULT_KIND, Memory, Scope
from scrubjay.model.memory import MESSAGE_KIND

FEWEST: Final = 8
"""Texts without an author from which it can be told whether people talk."""

ONESELF: Final = 0.35
OTHERS: Final = 0.25
"""The least share of notes that say "I" or "my", and that say "you", where people talk.

Of the turns of LoCoMo, 58 % and 51 % do; of the reports of bugs, 33 % and 14 %. Notes about a project hardly ever say
"you".
"""

LONGEST: Final = 60
"""Words of a text on average, at most, where people talk: they take turns, and an assistant holds lectures.

On average, the turns of LoCoMo have 26, and those of BEAM 67 by users and 569 by assistants.
"""


FEWEST_OF_A_SIDE: Final = 3
LONGER: Final = 3.0
"""Texts of each of two who take turns, at least, and how many times as long those of one are, if that is an assistant.

On BEAM, what an assistant says is eight times as long.
"""


def between_people(found: Sequence[Memory]) -> frozenset[str]:
    """The kinds among these, `message` and `note`, that people say to each other here.

    A message is taken for that unless it is one of many without a name that are too long. A note has to be one of a
    session, in which several write, or in which they sound like it.
    """
    kinds = set()
    if not _are_lectures(_unnamed(found, MESSAGE_KIND)):
        kinds.add(MESSAGE_KIND)
    notes = [memory for memory in found if memory.kind == DEFAULT_KIND and memory.scope.session is not None]
    authors = {memory.author for memory in notes if memory.author is not None}
    if len(authors) > 1 or _sound_like_talk(_unnamed(notes, DEFAULT_KIND)):
        kinds.add(DEFAULT_KIND)
    return frozenset(kinds)


def lectures(found: Sequence[Memory]) -> frozenset[UUID]:
    """Those of which an assistant has to be the author, though nobody has told who said it.

    That is where two take turns, and what the one says is several times as long.
    """
    sides: dict[tuple[Scope, int], list[Memory]] = {}
    for memory in found:
        if memory.position is not None and memory.author is None and memory.may_be_turn and memory.role is None:
            sides.setdefault((memory.scope, memory.position % 2), []).append(memory)
    said: set[UUID] = set()
    for (scope, side), those in sides.items():
        others = sides.get((scope, 1 - side), ())
        if len(those) >= FEWEST_OF_A_SIDE <= len(others):
            length = _words_each(those)
            if length > LONGEST and length >= LONGER * _words_each(others):
                said |= {memory.id for memory in those}
    return frozenset(said)


def speaks_of_oneself(content: str) -> bool:
    """Whether it says "I" or "my"."""
    text = f" {content}"
    # One after the other, as they stand: a pattern takes ten times as long, and a loop twice.
    return " I " in text or " I'" in text or " my " in text or " My " in text or " I’" in text


def _unnamed(found: Sequence[Memory], kind: str) -> list[str]:
    """What those of this kind say of which nobody has told who said it."""
    return [memory.content for memory in found if memory.kind == kind and memory.author is None and not memory.role]


def _words_each(memories: Sequence[Memory]) -> float:
    return sum(memory.content.count(" ") + 1 for memory in memories) / len(memories)


def _are_lectures(contents: Sequence[str]) -> bool:
    return len(contents) >= FEWEST and sum(content.count(" ") + 1 for content in contents) > LONGEST * len(contents)


def _sound_like_talk(contents: Sequence[str]) -> bool:
    many = len(contents)
    return (
        many >= FEWEST
        and not _are_lectures(contents)
        and sum(map(speaks_of_oneself, contents)) >= ONESELF * many
        and sum(map(_speaks_to_another, contents)) >= OTHERS * many
    )


def _speaks_to_another(content: str) -> bool:
    text = content.lower()
    return " you" in text or text.startswith("you")
