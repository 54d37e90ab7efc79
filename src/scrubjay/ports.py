"""The ports: small protocols whose docstrings are the contract. `scrubjay.testing` proves a backend against them.

Every port is async and takes many items per call. Every call that reads or changes memories takes a `Scope`, or a
`Filter` that carries one, and keeps to it: isolation is a property of the store. What a backend can do is which
protocols it satisfies. A backend wraps its driver's errors in `StoreUnavailable` (or a child of it), with `from`.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from scrubjay.model import Filter, Generation, GenerationState, Identity, Memory, Order, Outcome, Remembered, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, aware and in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store already believes that bears on a memory about to be written. All in the memory's own scope."""

    same_id: Memory | None = None
    """Stored under the same id, in any state and any scope of the tenant."""
    same_key: tuple[Memory, ...] = ()
    """Believed under the same key, oldest validity first; empty when the memory has no key."""
    same_words: Memory | None = None
    """Believed and open-ended, with the same fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write for one memory that was told."""

    outcome: Outcome
    memory: Memory
    """The one that now stands for what was told: new, or known before."""
    closes: tuple[Memory, ...] = ()
    """Known memories that are no longer believed, as they have to be stored now."""
    opens: tuple[Memory, ...] = ()
    """New rows to store: `memory` among them, unless it was known before."""


Decide: TypeAlias = Callable[[Memory, Known], Decision]
"""A pure function: the same answer for the same arguments, however often it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many memories a scope holds."""

    current: int
    versions: int
    scopes: int
    kinds: dict[str, int]
    """Of the current ones."""


class Records(Protocol):
    """The only truth. Every index can be thrown away and built again from here."""

    async def write(self, drafts: Sequence[Memory], decide: Decide) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, all drafts or none, in one transaction.

        A draft sees what the drafts before it did; the answers are the memories as the whole batch leaves them. Of one
        scope, at most one believed and open-ended memory has a given key, and at most one a given fingerprint: also
        among concurrent writers, who wait or start over, and `decide` is then called again. A memory with a session
        and no position gets the highest one there plus 1, or 0. What is closed is stored as given. Durable on return.
        Raises IdTaken when an id to open is stored already, in any tenant, and Conflict when a decision contradicts
        what is believed.
        """

    async def load(self, memories: Sequence[Memory]) -> int:
        """Store exactly these rows, all or none, and say how many were new. A row whose id is stored is left alone.

        Of two rows with one id, the first counts. Raises Conflict when a row contradicts what is believed.
        """

    async def get(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return those that a reader in the scope sees, in any state, in the order asked. Missing ids are left out."""

    async def find(
        self, filter: Filter, *, now: datetime, limit: int, order: Order = "newest", after: UUID | None = None
    ) -> list[Memory]:
        """Return matching memories in the order they were stored, newest or oldest first, after the one named.

        After one that is not stored there is nothing.
        """

    def scan(self, filter: Filter, *, now: datetime, batch: int = 500) -> AsyncIterator[list[Memory]]:
        """Stream every matching memory, oldest first, a batch at a time, without holding a transaction in between."""

    async def among(self, filter: Filter, *, now: datetime, limit: int) -> list[UUID] | None:
        """Return the ids of all matching memories, newest first, or None when there are more than the limit."""

    async def count(self, filter: Filter, *, now: datetime) -> Counts:
        """Count what lies in the scope; `current` and `kinds` count what matches, `versions` every row of the scope."""

    async def versions(self, scope: Scope, *, id: UUID | None = None, key: str | None = None) -> list[Memory]:
        """Return the versions that a reader in the scope sees, oldest first.

        By key: all that ever had it. By id: the memory, what it replaced and what replaced it, all the way, with what
        was replaced together with it.
        """

    async def neighbours(self, scope: Scope, memory: Memory, *, before: int, after: int) -> list[Memory]:
        """Return the believed memories just before and after it in its own session, in order, without itself."""

    async def close(self, scope: Scope, ids: Sequence[UUID], *, at: datetime, because: str) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed; return them as they now are, as asked."""

    async def adjust(
        self,
        scope: Scope,
        id: UUID,
        *,
        importance: float | None = None,
        expires_at: datetime | None = None,
    ) -> Memory | None:
        """Change how one memory is kept, not what it says; None when the scope does not hold it. Clears its mark."""

    async def touch(self, scope: Scope, ids: Sequence[UUID], *, at: datetime) -> None:
        """Count one more use of each that a reader in the scope sees. Losing this count in a crash is allowed."""

    async def derived(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Return what was made from these, directly or through others, in the scope's tenant; `ids` are left out."""

    async def purge(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Delete the rows that the scope holds, for good, and return their ids.

        No trace is left in this store: no word in the text index, no other row that names them.
        """

    async def pending(self, generation: int, *, limit: int) -> list[Memory]:
        """Return memories of every tenant, oldest first, that are not marked as indexed with this generation."""

    async def backlog(self, generation: int) -> int:
        """Count what `pending` would return without a limit."""

    async def mark(self, ids: Sequence[UUID], generation: int | None) -> list[UUID]:
        """Note that these are indexed with this generation, or with none. Return those that are not stored."""

    async def unmark(self, generation: int) -> int:
        """Clear the mark of every memory that is indexed with this generation; return how many those were."""

    async def check(self) -> list[str]:
        """Look the store over, thoroughly; return one sentence per fault found."""

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory that an index found."""

    id: UUID
    score: float
    """For words: BM25 or alike, above 0. For meaning: cosine similarity, -1 to 1."""
    start: int = 0
    stop: int | None = None
    """The part of the content that was found; a stop of None means all of it."""


class Texts(Protocol):
    """Search by words, best first. Derived from the records."""

    async def match(self, terms: Sequence[str], filter: Filter, *, now: datetime, limit: int) -> list[Match]:
        """Return the memories with any of the terms that the filter admits. Rare terms, and more of them, count more.

        Terms are words as `model.words.terms_of` gives them; inflected forms of English words match each other. When
        hardly anything is found, a term that nobody wrote may be taken for the nearest word that somebody did.
        """

    async def rebuild(self) -> int:
        """Build the index again from the records; return how many memories are in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The vectors of one memory, one for each part of its text, with what a search filters by."""

    id: UUID
    scope: Scope
    kind: str
    live: bool
    """Whether it is believed and open to default searches; the others only answer questions about the past."""
    since: datetime
    until: datetime | None
    """When it stops holding: the earlier of `valid_to` and `expires_at`."""
    spans: tuple[tuple[int, int], ...]
    vectors: "Matrix" = field(hash=False, compare=False)
    """One row for each span, of unit length."""


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
        """Return the nearest memories, best first, each once, with its best part.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a whole store holds, before its rows are read."""

    tenants: dict[str, int]
    """How many rows each tenant has, with every version, by name."""
    generations: tuple[Generation, ...] = ()
    last_number: int = 0
    """The highest number that a generation ever had. It is not used again."""

    @property
    def memories(self) -> int:
        """All rows of all tenants."""
        return sum(self.tenants.values())


class Still(Protocol):
    """A whole record store as it was at one moment, whatever others write meanwhile."""

    async def outline(self) -> Outline:
        """Return what is in it."""

    def rows(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[tuple[int, list[Memory]]]:
        """Stream every row of every tenant in the order of storing, a full batch at a time, each with its place.

        The place is where the batch ends, larger than the one before. Given as `after`, the stream begins behind it.
        """


@runtime_checkable
class Portable(Protocol):
    """A record store that can be carried elsewhere as it is, and filled with what is carried from elsewhere."""

    def still(self) -> AbstractAsyncContextManager[Still]:
        """Hold the store still for reading, as it is now. Others go on writing."""

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun.

        Raises Conflict when the store holds anything that did not come from there.
        """

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source, and give it exactly the outline's generations.

        Safe to repeat: what was filled already stays.
        """

    async def fill(self, source: str, memories: Sequence[Memory], *, place: int) -> None:
        """Store exactly these rows and note that the source is here up to this place, both or none. Safe to repeat.

        Durable on return. Raises Conflict when it was not begun with this source.
        """

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here, and this is a store like any other."""


@runtime_checkable
class PortableVectors(Protocol):
    """A vector engine that gives back what it was given."""

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out.

        Upserted into an empty engine of the same kind, they are the same there to the last bit.
        """


class Embedder(Protocol):
    """Turns texts into vectors of unit length whose dot product is their similarity."""

    @property
    def identity(self) -> Identity:
        """Which model this is. Known without loading it, except for a remote model's dimensions."""

    @property
    def window(self) -> int:
        """How many tokens of one text it reads. Longer texts have to be split before."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text as the model would, or more; never fewer."""

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order. `question` is for models that treat questions apart.

        Raises EmbedderUnavailable when the model cannot be loaded or reached, after bounded retries.
        """

    async def shut(self) -> None:
        """Let go of the model or the connection. Safe to call twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The generation that answers now, and the model to ask it with."""

    generation: Generation
    embedder: Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores that one memory is made of. One object may serve as several of them."""

    records: Records
    generations: Generations
    texts: Texts
    vectors: Vectors


@runtime_checkable
class Calibrated(Protocol):
    """An embedder that knows what its similarities mean."""

    def calibrate(self, cosine: float) -> float:
        """Map a cosine to 0..1 so that the same number means the same likeness for every model."""


class Tokens(Protocol):
    """Counts tokens the way a language model would, for budgets."""

    def count(self, text: str) -> int:
        """Return the number of tokens of this text."""


class Redactor(Protocol):
    """Finds secrets in text before it is stored."""

    def redact(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with every secret replaced by a placeholder, and the kinds of secret found, sorted."""
