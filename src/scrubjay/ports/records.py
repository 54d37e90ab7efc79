"""The truth: rows that are written, read and closed, and the words in them."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack
from uuid import UUID

from scrubjay.errors import Conflict, IdTaken, InvalidInput
from scrubjay.model import Filter, Memory, Order, Outcome, Remembered, Scope
from scrubjay.ports.purges import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store already believes that bears on a memory about to be written. All in the memory's own scope."""

    same_id: Memory | None = None
    """Stored under the same id, in any state and any scope of the tenant."""
    same_key: tuple[Memory, ...] = ()
    """Believed under the same key, oldest validity first; empty when the memory has no key."""
    same_words: Memory | None = None
    """Believed with the same fingerprint, and open-ended as the memory is.

    For one that has an end and no key, it is what has the same end, and of several the one that began first.
    """
    closed_at: datetime | None = None
    """When the last version under the same key was closed, if that is not before the memory was told: by a clock that
    is ahead, or has been."""


NOTHING: Final = Known()
"""What is known that bears on most of what is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write for one memory that was told."""

    outcome: Outcome
    memory: Memory
    """The one that now stands for what was told: new, or known before."""
    closes: tuple[Memory, ...] = ()
    """Known memories that are no longer believed, as they have to be stored now; first the one that is replaced."""
    keeps: tuple[Memory, ...] = ()
    """Known memories that are only kept longer: as they are, with their new `expires_at`.

    They go on being believed; or they had expired, were closed for that, and are believed anew.
    """
    opens: tuple[Memory, ...] = ()
    """New rows to store: `memory` among them, unless it was known before."""
    reopens: bool = False
    """Whether what was forgotten is believed again: then it may name itself, and what was forgotten with it."""

    def sources(self) -> Iterator[tuple[Memory, UUID]]:
        """Each new row with each memory that it is newly said to be made from, which has to be there.

        What a row names that is closed here, the one in its place may name: a version is made from what the last was.
        """
        if self.reopens:
            return
        named = {source for memory in self.closes for source in memory.derived_from}
        for memory in self.opens:
            for source in memory.derived_from:
                if source not in named:
                    yield memory, source

    @property
    def replaced(self) -> UUID | None:
        """The known memory that the new one takes the place of."""
        return self.closes[0].id if self.outcome == "superseded" else None

    def stores_only(self, draft: Memory) -> bool:
        """Whether the draft is stored as it is, and nothing else changes. Of nearly all it is decided so."""
        return self.memory is draft and not self.closes and len(self.opens) == 1 and self.opens[0] is draft


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


class Kept(TypedDict, total=False):
    """How a memory is kept: what may change in place, since it says nothing else then."""

    importance: float
    expires_at: datetime | None
    """None: it has no end."""


class Marked(NamedTuple):
    """What became known of memories while they were marked, each once, in the order asked."""

    missing: list[UUID]
    """Those that are not stored."""
    closed: list[UUID]
    """Those that are no longer believed."""


def rival(given: Memory, same_key: Iterable[Memory], same_words: Memory | None) -> Memory | None:
    """The one of those believed beside which this one cannot be: of the same time and key, or of the same words."""
    if given.superseded_at is not None:
        return None
    overlapping = next((one for one in same_key if one.overlaps(given)), None)
    return overlapping or (same_words if given.valid_to is None else None)


def kept_as(stored: Iterable[Memory], seen: Iterable[Memory]) -> list[Memory]:
    """Those that are kept as they were seen, and those that were not."""
    known = {memory.id: memory for memory in seen}
    return [memory for memory in stored if memory.is_kept_as(known.get(memory.id, memory))]


def overlap(count: int, one: UUID, other: UUID) -> str:
    """What to say of so many believed values of keys that speak of a time for which there is another, as two do."""
    return (
        f"{count} believed {'memory speaks' if count == 1 else 'memories speak'} of a time for which their key has "
        f"another value, as {one} does beside {other}: forget the one that is wrong, or export everything and import "
        "it with `--mend` into an empty store, where what was told later counts"
    )


def id_taken(id: UUID) -> IdTaken:
    """What to raise when an id is another tenant's. Whose it is, and what it names, is not told."""
    return IdTaken(f"id {id} cannot be used here: it names another memory already. Use another id")


def contradiction(stored: Memory, given: Memory) -> Conflict:
    """What to raise when two memories cannot both be believed: they have one key, or say the same, in one place."""
    return contradictions([(stored, given)])


def contradictions(pairs: Sequence[tuple[Memory, Memory]]) -> Conflict:
    """The same for several, each after the stored one that it contradicts. The message speaks of the first."""
    stored, given = pairs[0]
    named = "the same is remembered twice"
    if given.key:
        are_current = stored.valid_to is None and given.valid_to is None
        named = f"key {given.key!r} has two {'current values' if are_current else 'values for the same time'}"
    return Conflict(
        f"{named} in {given.scope}: {stored.id}{_stretch(stored)}, which is stored, and {given.id}{_stretch(given)}, "
        f"which is not. Forget {stored.id} here and try again, or forget {given.id} where it comes from",
        rivals={given.id: stored.id for stored, given in pairs},
    )


def _stretch(memory: Memory) -> str:
    """From when to when it held, where it has ended."""
    if memory.valid_to is None:
        return ""
    return f" ({memory.valid_from.isoformat()} to {memory.valid_to.isoformat()})"


class Forgotten(NamedTuple):
    """What is no longer believed: each as it now is."""

    closed: list[Memory]
    """Those that were named, in the order asked."""
    derived: list[Memory]
    """What was made from them, directly or through others."""


def read_with(made: Iterable[Memory], sources: Collection[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Those of these that only such readers see who see one of the sources, too; and the others."""
    here: list[Memory] = []
    elsewhere: list[Memory] = []
    for memory in made:
        (here if any(source.scope.holds(memory.scope) for source in sources) else elsewhere).append(memory)
    return here, elsewhere


def no_source(id: UUID) -> str:
    """What to say of a source that is not stored, or that whoever asks does not see."""
    return f"derived_from names {id}, which is not stored: store the sources first"


def check_source(made: Memory, id: UUID, stored: Memory | None) -> None:
    """Raise InvalidInput unless a memory can be made from this one, given as it is stored now."""
    if stored is None or stored.scope.tenant != made.scope.tenant:
        raise InvalidInput(no_source(id))
    if stored.is_forgotten:
        raise InvalidInput(f"derived_from names {id}, which was forgotten: leave it out, or tell it again first")


def changed_meanwhile(id: UUID) -> Conflict:
    """What to raise when somebody else was faster."""
    return Conflict(f"memory {id} was changed or deleted meanwhile. Read it again, then decide")


class Records(Protocol):
    """The only truth. Every index can be thrown away and built again from here."""

    async def write(self, drafts: Sequence[Memory], decide: Decide, *, sight: Sight | None = None) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, all drafts or none, in one transaction.

        A draft sees what the drafts before it did; the answers are the memories as the whole batch leaves them. Of one
        scope, at most one believed and open-ended memory has a given key, and at most one a given fingerprint: also
        among concurrent writers, who wait or start over, and `decide` is then called again. A memory with a session
        and no position gets the highest one there plus 1, or 0. What is closed is stored as given. Of what is kept
        longer, the expiry changes and its mark is cleared, before anything is closed; if it was closed, it no longer
        is, nor is it said why it was. Durable on return.
        What a row is newly made from (`Decision.sources`) stays believed, or closed as it is, until the row is stored.
        Raises InvalidInput when that is not stored, or was forgotten (`check_source`).
        Raises IdTaken when an id to open is stored already, in any tenant, and Conflict when a decision contradicts
        what is believed, or closes what was closed or is kept otherwise (`Memory.is_kept_as`) by now. With `sight`,
        raises Purged when something was purged there since it was taken; no purge comes between then.
        """

    async def load(self, memories: Sequence[Memory]) -> int:
        """Store exactly these rows, all or none, and say how many were new. A row whose id is stored is left alone.

        But where the stored one is believed and the row, of the same memory, is closed or has ended, the stored one is
        closed as the row says (`Memory.closed_as`), before any row is opened. Of two rows with one id, the first
        counts. Raises Conflict (`contradictions`) when a row contradicts what is believed then (`rival`), and names all
        that do: its `rivals`. Raises IdTaken when an id is stored for another tenant.
        """

    async def bearing(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return what is believed that bears on these, each once: in their scopes, with their keys or their words.

        With the same words only what is open-ended, or has no key and the same end. Those of these that are stored
        may be among it.
        """

    async def get(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return those that a reader in the scope sees, in any state, each once, in the order asked.

        Missing ids are left out.
        """

    async def find(
        self, filter: Filter, *, now: datetime, limit: int, order: Order = "newest", after: UUID | None = None
    ) -> list[Memory]:
        """Return matching memories in the order they were stored, newest or oldest first, after the one named.

        After one that is not stored there is nothing.
        """

    def scan(self, filter: Filter, *, now: datetime, batch: int = 500) -> AsyncIterator[list[Memory]]:
        """Stream every matching memory, oldest first, a batch at a time, without holding a transaction in between."""

    async def among(self, filter: Filter, *, now: datetime, limit: int) -> Sequence[UUID] | None:
        """Return the ids of all matching memories, newest first, or None when there are more than the limit."""

    async def one_of_each(
        self, filter: Filter, *, now: datetime, length: int, limit: int | None = None
    ) -> list[Memory] | None:
        """Return one matching memory for each beginning that their keys have: the first characters, this many.

        Ordered by the beginnings, as code points. A key that is shorter is a beginning of its own; what has no key is
        left out. It takes as long as there are beginnings, not as there are memories, unless the filter admits few.
        None when there are more than the limit, counted in each scope by itself.
        """

    async def count(self, filter: Filter, *, now: datetime) -> Counts:
        """Count what lies in the scope; `current` and `kinds` count what matches, `versions` every row of the scope."""

    async def versions(self, scope: Scope, *, id: UUID | None = None, key: str | None = None) -> list[Memory]:
        """Return the versions that a reader in the scope sees, oldest first.

        By key: all that ever had it. By id: the memory, what it replaced and what replaced it, all the way, with what
        was replaced together with it.
        """

    async def neighbours(self, scope: Scope, memory: Memory, *, before: int, after: int) -> list[Memory]:
        """Return the believed memories just before and after it in its own session, in order, without itself."""

    async def following(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return the believed memories that stand at the next position after these in their sessions, each once.

        They come in the order they were stored. What a reader in the scope does not see is left out.
        """

    async def close(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        seen: Memory | None = None,
        unless_changed: Sequence[Memory] = (),
    ) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed; return them as they now are, as asked.

        Each is closed at this moment, or just after all that was told or closed under its key where that is later.
        Of several who close one at the same time, one gets it. With `seen`, one of them as it was read: raises Conflict
        and closes nothing unless it is among those closed and was kept so until now. With `unless_changed`, some of
        them as they were read: those that are kept otherwise by now (`Memory.is_kept_as`) are left alone.
        """

    async def forget(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        with_it: str,
        elsewhere: str,
        seen: Memory | None = None,
    ) -> Forgotten:
        """Close these as `close` does, and in the same transaction what was made from them, for the reason `with_it`.

        That may lie in a wider scope: the tenant is the border there. What others see who see none of those closed is
        closed for the reason `elsewhere` (`read_with`). Nothing is closed unless one that was named is.
        Raises Conflict, and closes nothing, when one of these was replaced by another version, and as `close` does.
        """

    async def adjust(
        self, scope: Scope, id: UUID, *, seen: Memory | None = None, **changes: Unpack[Kept]
    ) -> Memory | None:
        """Change how one memory is kept, not what it says; None when the scope does not hold it. Clears its mark.

        What is not named stays as it is. Raises InvalidInput for what a memory refuses. With `seen`, the memory as it
        was read: raises Conflict unless it is still believed and kept so.
        """

    async def boost(self, scope: Scope, id: UUID, by: float) -> tuple[Memory, float] | None:
        """Add to the importance of one memory, kept within 0 to 1; None when the scope does not hold it.

        Returns it as it now is, and the importance it had before. Clears its mark. Of concurrent boosts none is lost.
        """

    async def touch(self, uses: Mapping[Scope, Sequence[UUID]], *, at: datetime) -> None:
        """Count one more use of each that a reader in its scope sees, as often as it is named; all or none.

        Losing this count in a crash is allowed.
        """

    async def derived(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Return what was made from these, directly or through others, in the scope's tenant; `ids` are left out."""

    async def purge(self, scope: Scope, ids: Sequence[UUID], *, versions: bool = False) -> list[Memory]:
        """Delete the rows that the scope holds, for good, with what was made from them in any scope of the tenant.

        With `versions`, also every version of those that are named: of what `versions` returns for the id of each, and
        of what has its key, that which lies in exactly its scope. All of it is found in the transaction that deletes
        it: what others write meanwhile goes too, or comes after. Returns what was deleted, as it was: what was named in
        the order asked, then the others. No trace is left in this store: no word in the text index, no other row that
        names them. In the same transaction it is noted where they were, for those who took a sight of it, and no step
        counts any more as having dealt with a session further than to the highest position that is left in it.
        """

    async def purging(self, scope: Scope) -> None:
        """Note that all of this place is purged: who took a sight of it before writes nothing there from now on."""

    async def sight(self, scope: Scope) -> Sight:
        """Say how often something was purged from places that this one sees, before reading what to write of."""

    async def pending(self, generation: int, *, limit: int) -> list[Memory]:
        """Return memories of every tenant, oldest first, that wait to be indexed (not `WORDS_ONLY`, `SILENT`)."""

    async def backlog(self, generation: int) -> int:
        """Count what `pending` would return without a limit."""

    async def mark(self, ids: Sequence[UUID], generation: int | None, *, live: Collection[UUID] = ()) -> Marked:
        """Note that these are indexed with this generation, or with none. Say which are not stored, or are closed.

        One in `live`, indexed as believed, that is closed by now is left without a mark in the same transaction.
        """

    async def unmark(self, generation: int) -> int:
        """Clear the mark of every memory that is indexed with this generation; return how many those were."""

    async def marked(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories of every tenant marked with this generation, oldest first, from behind `after` on.

        When `after` was purged since, pages begin anew. Fewer than the limit are the end.
        """

    async def count_marked(self, generation: int) -> int:
        """Count what `marked` would return without a limit."""

    async def marked_of(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are marked with this generation, in the order asked."""

    async def sample_marked(self, generation: int, *, limit: int) -> list[UUID]:
        """Return some memories that are marked with this generation, at random."""

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that no tenant has stored, each once, in the order asked."""

    async def check(self) -> list[str]:
        """Look the store over, thoroughly; return one sentence per fault found."""

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""
