"""What finds memories, by words and by meaning, and which embedding models have vectors. All of it derived."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable
from uuid import UUID

from scrubjay.model import Filter, Generation, GenerationState, Identity, Memory, Scope

if TYPE_CHECKING:
    from scrubjay.ports.models import Matrix


UNSURE: Final = 0
"""The mark of a memory that may have vectors: draining asks before it embeds. No generation has this number."""

WORDS_ONLY: Final = -1
"""The mark of a memory that is to be found by its words only: it has no vectors, and does not wait for any."""

SILENT: Final = -2
"""The mark of a memory of a quiet kind, or of the bookkeeping of agents: it never has vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Which vector engine the marks speak of."""

    engine: str = ""
    """A short name that tells it from others; empty before any process has said so."""
    seen: datetime | None = None
    """When a process last said that it works with it."""
    filling: bool = False
    """Whether marks were doubted, and not all of those memories have been looked at since."""


class Leftover(NamedTuple):
    """A memory that was purged, whose vectors may still be somewhere."""

    id: UUID
    at: datetime
    """When it was purged."""


class SharedLeftover(NamedTuple):
    """What a vector of a purged memory is called where models share them."""

    name: str
    at: datetime
    """When the memory was purged."""


class Generations(Protocol):
    """Which embedding models have vectors. At most one generation is active, also among concurrent processes."""

    async def generations(self) -> list[Generation]:
        """Return all, oldest first."""

    async def add(self, identity: Identity, *, state: GenerationState, at: datetime) -> Generation:
        """Return the generation of this identity, added in this state unless it is there already, in any state.

        One that is to be active while another is, is added as building: there is one active generation.
        """

    async def switch(self, number: int, *, at: datetime, leaving: GenerationState = "retired") -> None:
        """Make this generation the active one and give the one that was active the other state, at once."""

    async def drop(self, number: int) -> None:
        """Forget a generation that is not active. Raises Conflict when it is. Its number is not used again."""

    async def keeping(self) -> Keeping:
        """Return which vector engine the marks speak of, and whether it is being filled."""

    async def keep(self, engine: str, *, at: datetime) -> None:
        """Note that the marks speak of this engine, whose name has up to 24 signs, and that a process works with it."""

    async def refill(self, engine: str, *, at: datetime, doubt: bool = True) -> int:
        """The same, and doubt every mark: they become `UNSURE`, and the engine counts as being filled. All or none.

        Returns how many memories were marked. Without `doubt`, the marks stay as they are.
        """

    async def filled(self) -> None:
        """Note that every memory whose mark was doubted has been looked at."""

    async def leave(self, ids: Sequence[UUID], *, at: datetime, due: datetime) -> None:
        """Note that these are purged at one moment, and that their vectors have to be removed at another. Durable.

        Of one that is noted already, the second moment is changed, and the first if this one is later: it may have come
        back, and be purged again.
        """

    async def leftovers(self, *, now: datetime, limit: int) -> list[Leftover]:
        """Return those whose vectors have to be removed by now, those that are due for longest first."""

    async def cleared(self, ids: Sequence[UUID]) -> None:
        """Note that nothing is left of these."""

    async def purged_since(self, moment: datetime) -> bool:
        """Say whether any of those that are noted was purged then or later."""

    async def leave_shared(self, names: Sequence[str], *, at: datetime, due: datetime) -> None:
        """Note the names that vectors of what is purged have where models share them: like `leave`. Durable."""

    async def shared_leftovers(self, *, now: datetime, limit: int) -> list[SharedLeftover]:
        """Return those that have to be removed by now, those that are due for longest first."""

    async def cleared_shared(self, names: Sequence[str]) -> None:
        """Note that nothing is left under these names."""


DIGITS: Final = 7
"""Digits of a cosine that count. What differs further behind is as near: in another order, a sum is another one."""


class Match(NamedTuple):
    """A memory that an index found."""

    # A tuple, for two hundred are made for every question, several times as fast as a frozen dataclass.

    id: UUID
    score: float
    """For words: BM25, above 0; for a word that one of n texts has that is about ln n. For meaning: cosine, -1 to 1."""
    start: int = 0
    stop: int | None = None
    """The part of the content that was found; a stop of None means all of it."""
    alone: bool = False
    """Whether the index knows that it stands in no session and is no message, so that no other memory bears on it."""
    outside: bool = False
    """Whether it knows that it stands in no session, be it a message or not. Asked of what was found by meaning."""


def in_order(matches: Iterable[Match]) -> list[Match]:
    """What was found by meaning, as a search returns it: best first, and by their ids what scores alike."""
    return sorted(matches, key=lambda match: (-round(match.score, DIGITS), match.id))


class Texts(Protocol):
    """Search by words, best first; what scores alike in the order of storing. Derived from the records."""

    async def match(
        self, terms: Sequence[str], filter: Filter, *, now: datetime, limit: int, guess: bool = True
    ) -> list[Match]:
        """Return the memories with any of the terms that the filter admits. Rare terms, and more of them, count more.

        Terms are words as `model.words.terms_of` gives them; inflected forms of English words match each other. When
        hardly anything is found, a term that nobody wrote may be taken for the nearest word that somebody did, unless
        no `guess` is wanted.
        """

    async def rebuild(self) -> int:
        """Build the index again from the records; return how many memories are in it."""


BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before any moment at which a search is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The vectors of one memory, one for each part of its text, with what a search filters by."""

    id: UUID
    scope: Scope
    kind: str
    live: bool
    """Whether it is believed and had not ended when it was told; the others only answer questions about the past."""
    since: datetime
    """From when on it holds: for what held when it was told `BEGINNING`, since clocks differ and it has begun."""
    until: datetime | None
    """When it stops holding: the earlier of `valid_to` and `expires_at`."""
    spans: tuple[tuple[int, int], ...]
    vectors: "Matrix" = field(hash=False, compare=False)
    """One row for each span, of unit length."""

    @classmethod
    def of(cls, memory: Memory, spans: tuple[tuple[int, int], ...], vectors: "Matrix") -> "Entry":
        """The entry of a memory that is cut like this."""
        live, since, until = stretch_of(memory)
        return cls(
            id=memory.id,
            scope=memory.scope,
            kind=memory.kind,
            live=live,
            since=since,
            until=until,
            spans=spans,
            vectors=vectors,
        )


def stretch_of(memory: Memory) -> tuple[bool, datetime, datetime | None]:
    """What `live`, `since` and `until` are of the entry of a memory."""
    until = memory.valid_to
    if until is None or (memory.expires_at is not None and memory.expires_at < until):
        until = memory.expires_at
    live = memory.superseded_at is None and (until is None or until > memory.created_at)
    return live, memory.valid_from if memory.valid_from > memory.created_at else BEGINNING, until


class Vectors(Protocol):
    """Search by meaning. Derived from the records, and never asked whether something is true."""

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""

    async def search(
        self,
        generation: int,
        vector: "Matrix",
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        among: Sequence[UUID] | None = None,
    ) -> list[Match]:
        """Return the nearest memories, best first, each once, with its best part; by their ids those as near.

        Only what the filter's scope and kinds admit. With `among`, only those ids, in whatever state; without it, only
        live ones that hold now. All of this applies before the limit. Other parts of the filter are the caller's,
        who turns them into `among`.
        """

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""


@runtime_checkable
class Sized(Protocol):
    """A vector engine that can say how large the vectors are that it has room for."""

    async def sizes(self, generation: int) -> dict[str, int]:
        """Return how many dimensions the vectors of each collection of this generation have, by its name."""


@runtime_checkable
class Listed(Protocol):
    """A vector engine that can say of which memories it has vectors, so that those without a record can be found."""

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, each once, in an order that stays.

        `after` is the last one of the page before; it may have been removed since. Fewer than the limit are the end.
        """
