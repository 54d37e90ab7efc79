"""Spoken: whether what was found was said between people, where nobody has told who said it.

A conversation is told in many ways: as messages or, turn by turn, as notes of a session; with an author, with the name
before the text, or with neither. What is known about talk helps to find things in all of them. It does harm among the
notes that an agent takes in a session, and where one of those who talk is an assistant.
"""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from scrubjay.model import DEFAULT_KIND, Memory, Scope
from scrubjay.model.memory import MESSAGE_KIND

FEWEST: Final = 8
"""Texts without an author from which it can be told whether people talk."""

ONESELF: Final = 0.35
OTHERS: Final = 0.25
LIVELY: Final = 0.35
"""The least share of notes that say "I" or "my", that say "you", and that ask or exclaim, where people talk.

Of the turns of LoCoMo, 53 %, 52 % and 83 % do; of the reports of bugs, 33 % and 14 % do the first two. Notes about a
project hardly ever say "you", and what a user lays down ("You may merge when it is green") asks for nothing.
"""

ADDRESSED: Final = 0.35
"""The least share of notes with an author that say "you", ask or exclaim, where several of them talk in a session.

Of the turns of LoCoMo, 87 % do; in other languages their signs at least. What agents or a team write down hardly does.
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

STEADY: Final = 0.8
"""The least share of pairs, one text of each side, of which that of the assistant is the longer one.

One long text among short ones makes its side long on average, and nobody an assistant. On BEAM, nearly all pairs are.
"""

SERVED: Final = 0.5
"""The least share of notes that say "you" on the side of an assistant, and "I" or "my" on the other.

An agent that notes each task and then its result takes turns with itself, and says neither. On BEAM, 99 % and 96 % do.
"""


def between_people(found: Sequence[Memory]) -> frozenset[str]:
    """The kinds among these, `message` and `note`, that people say to each other here.

    A message is taken for that unless it is one of many without a name that are too long. Notes have to sound like it:
    those of a session in which several write a little, for what agents of one team note has authors as well.
    """
    kinds = set()
    if not _are_lectures(_unnamed(found, MESSAGE_KIND)):
        kinds.add(MESSAGE_KIND)
    notes = [memory for memory in found if memory.kind == DEFAULT_KIND and memory.scope.session is not None]
    if _are_exchanged(notes) or _sound_like_talk(_unnamed(notes, DEFAULT_KIND)):
        kinds.add(DEFAULT_KIND)
    return frozenset(kinds)


def lectures(found: Sequence[Memory]) -> frozenset[UUID]:
    """Those of which an assistant has to be the author, though nobody has told who said it.

    That is where two take turns, and what the one says is several times as long. Notes have to sound like it, too.
    """
    sides: dict[tuple[Scope, int], list[Memory]] = {}
    for memory in found:
        if memory.position is not None and memory.author is None and memory.may_be_turn and memory.role is None:
            sides.setdefault((memory.scope, memory.position % 2), []).append(memory)
    said: set[UUID] = set()
    for (scope, side), those in sides.items():
        others = sides.get((scope, 1 - side), ())
        if len(those) >= FEWEST_OF_A_SIDE <= len(others) and _are_answers(those, others):
            said |= {memory.id for memory in those}
    return frozenset(said)


def noted(found: Sequence[Memory]) -> frozenset[UUID]:
    """Of the notes that name an assistant, those that are no turns of one.

    An agent that is called so takes notes as well, and then nobody else was found in its session. And "AI: summaries
    are made at night" is a heading, where most notes of the session name nobody.
    """
    sessions: dict[Scope, list[Memory]] = {}
    for memory in found:
        if memory.kind == DEFAULT_KIND and memory.scope.session is not None and "role" not in memory.data:
            sessions.setdefault(memory.scope, []).append(memory)
    ids: set[UUID] = set()
    for notes in sessions.values():
        named = [memory for memory in notes if memory.author is not None or memory.role is not None]
        assistants = [memory.id for memory in named if memory.role == "assistant"]
        if len(assistants) == len(named) or 2 * len(named) <= len(notes):
            ids.update(assistants)
    return frozenset(ids)


def turns_by_role(found: Sequence[Memory]) -> frozenset[UUID]:
    """Of the notes among these, the turns of a chat: roles are named, and an assistant and a user speak in the session.

    Where people sign their notes, a role before a text is a heading.
    """
    notes = [memory for memory in found if memory.kind == DEFAULT_KIND and memory.may_be_turn]
    signed = {memory.scope for memory in notes if memory.author is not None and memory.role is None}
    named = [memory for memory in notes if memory.role and not (memory.scope in signed and _is_heading(memory))]
    if not named:
        return frozenset()
    only_noted = noted(found)
    chats = {memory.scope for memory in named if memory.role == "assistant" and memory.id not in only_noted}
    chats &= {memory.scope for memory in named if memory.role == "user"}
    return frozenset(memory.id for memory in named if memory.scope in chats)


def _is_heading(memory: Memory) -> bool:
    """Whether its role stands in the text only."""
    return memory.author is None and not isinstance(memory.data.get("role"), str)


def speaks_of_oneself(content: str) -> bool:
    """Whether it says "I" or "my"."""
    text = f" {content}"
    # One after the other, as they stand: a pattern takes ten times as long, and a loop twice.
    return " I " in text or " I'" in text or " my " in text or " My " in text or " I’" in text


def _unnamed(found: Sequence[Memory], kind: str) -> list[str]:
    """What those of this kind say of which nobody has told who said it."""
    return [memory.content for memory in found if memory.kind == kind and memory.author is None and not memory.role]


def _are_exchanged(notes: Sequence[Memory]) -> bool:
    """Whether those with an author are talk: in one session are several, and many speak to another, ask or exclaim."""
    authors: dict[Scope, set[str]] = {}
    named = [memory for memory in notes if memory.author is not None]
    for memory in named:
        authors.setdefault(memory.scope, set()).add(memory.author or "")
    return any(len(those) > 1 for those in authors.values()) and _share(_addresses, named) >= ADDRESSED


def _are_answers(those: Sequence[Memory], others: Sequence[Memory]) -> bool:
    """Whether those are what an assistant answers to the others."""
    lengths, asking = _lengths(those), _lengths(others)
    mean, usual = sum(lengths) / len(lengths), sum(asking) / len(asking)
    if mean <= LONGEST or mean < LONGER * usual:
        return False
    longer = sum(length > other for length in lengths for other in asking)
    if longer < STEADY * len(lengths) * len(asking):
        return False
    return all(memory.kind == MESSAGE_KIND for memory in those) or (
        _share(_speaks_to_another, those) >= SERVED and _share(speaks_of_oneself, others) >= SERVED
    )


def _share(says: Callable[[str], bool], memories: Sequence[Memory]) -> float:
    return sum(says(memory.content) for memory in memories) / len(memories)


def _lengths(memories: Sequence[Memory]) -> list[int]:
    """Words of each."""
    return [memory.content.count(" ") + 1 for memory in memories]


def _are_lectures(contents: Sequence[str]) -> bool:
    return len(contents) >= FEWEST and sum(content.count(" ") + 1 for content in contents) > LONGEST * len(contents)


def _sound_like_talk(contents: Sequence[str]) -> bool:
    many = len(contents)
    return (
        many >= FEWEST
        and not _are_lectures(contents)
        and sum(map(speaks_of_oneself, contents)) >= ONESELF * many
        and sum(map(_speaks_to_another, contents)) >= OTHERS * many
        and sum(map(_is_lively, contents)) >= LIVELY * many
    )


def _speaks_to_another(content: str) -> bool:
    text = content.lower()
    return " you" in text or text.startswith("you")


def _is_lively(content: str) -> bool:
    """Whether it asks or exclaims, in most languages."""
    return "?" in content or "!" in content or "\uff1f" in content or "\uff01" in content or "\u061f" in content


def _addresses(content: str) -> bool:
    return _is_lively(content) or _speaks_to_another(content)
