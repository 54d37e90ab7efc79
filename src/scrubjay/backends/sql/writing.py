"""The write transaction: ask `decide` about each draft, against what is stored and what the drafts before it did."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import ModuleType
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, update

from scrubjay.backends.sql import kinship, sealing, texts, writing_postgresql, writing_sqlite
from scrubjay.backends.sql.faults import Raced
from scrubjay.backends.sql.places import known_places
from scrubjay.backends.sql.rows import GUARDED, Reader, values_of
from scrubjay.backends.sql.schema import memories
from scrubjay.errors import IdTaken
from scrubjay.model import Memory, Remembered, Scope
from scrubjay.ports import Decide, Decision, Known
from scrubjay.ports.records import NOTHING, changed_meanwhile, contradiction, contradictions, id_taken, rival

_NOWHERE: Final = -1
_NO_MARKS: Final[Mapping[UUID, int]] = {}


def write(
    connection: Connection,
    reader: Reader,
    drafts: Sequence[Memory],
    decide: Decide,
    marks: Mapping[UUID, int] = _NO_MARKS,
) -> tuple[list[Remembered], list[Memory], dict[Scope, int]]:
    """Store what `decide` says about each draft; return what became of it, the new rows, and the numbers of scopes.

    A row whose id is in `marks` is stored with that mark, as indexed.
    """
    statements = _statements(connection)
    numbers = statements.interned(connection, {draft.scope for draft in drafts})
    _queue_up(connection, drafts, numbers)
    since = min((draft.created_at for draft in drafts if draft.key), default=None)
    stored = list(statements.known(connection, reader, drafts, numbers, since))
    positions = _Positions(connection, numbers)
    new = _all_new(drafts, decide) if not stored else None
    if new is not None:
        opened = [positions.placed(draft) for draft in drafts]
        kinship.check_sources(connection, reader, new)
        sealing.check_memories(connection, opened)
        statements.insert(connection, opened, numbers, marks)
        return [Remembered(memory=memory, outcome="stored") for memory in opened], opened, numbers
    told = Told(connection, reader)
    told.learn(stored)
    decided: list[Decision] = []
    for draft in drafts:
        decision = decide(draft, told.known(draft))
        told.apply(decision, positions)
        decided.append(decision)
    opened = list(told.opened.values())
    kinship.check_sources(connection, reader, decided)
    sealing.check_memories(connection, [*told.closed.values(), *opened])
    _keep(connection, list(told.kept.values()), told.was)
    _close(connection, list(told.closed.values()))
    if opened:
        statements.insert(connection, opened, numbers, marks)
    left = told.by_id | {memory.id: memory for memory in opened}
    done = [Remembered(memory=left[one.memory.id], outcome=one.outcome, replaced=one.replaced) for one in decided]
    return done, opened, numbers


def _all_new(drafts: Sequence[Memory], decide: Decide) -> list[Decision] | None:
    """What is decided when nothing that is stored bears on any of these, if each is to be stored as it is.

    As nearly all batches are. None bears on another either: they have no keys, and no two say the same in one place.
    """
    if any(draft.key for draft in drafts) or (len(drafts) > 1 and _repeat(drafts)):
        return None
    decided: list[Decision] = []
    for draft in drafts:
        decision = decide(draft, NOTHING)
        if not decision.stores_only(draft):
            return None
        decided.append(decision)
    return decided


def _repeat(drafts: Sequence[Memory]) -> bool:
    ids, words = {draft.id for draft in drafts}, {(draft.scope, draft.fingerprint) for draft in drafts}
    return len(ids) < len(drafts) or len(words) < len(drafts)


def load(connection: Connection, reader: Reader, loaded: Sequence[Memory], *, as_is: bool = False) -> int:
    """Store exactly these rows, but for those whose id is there already; return how many that were.

    What is believed here and closed in such a row is closed first. With `as_is`, the rows are all that a store holds,
    and stretches of a key that overlap are none of its business.
    """
    statements = _statements(connection)
    numbers = statements.interned(connection, {memory.scope for memory in loaded})
    _queue_up(connection, loaded, numbers)
    told = Told(connection, reader)
    told.learn(statements.known(connection, reader, loaded, numbers))
    for memory in loaded:
        told.check_tenant(memory)
        told.close_as(memory)
    pairs: list[tuple[Memory, Memory]] = []
    for memory in loaded:
        if memory.id not in told.by_id:
            taken = None if as_is else told.rival(memory)
            if taken is None:
                told.open(memory)
            else:
                pairs.append((taken, memory))
    if pairs:
        raise contradictions(pairs)
    if not as_is:  # A store that is carried over brings all of its keys.
        sealing.check_memories(connection, list(told.opened.values()), closed=list(told.closed.values()))
    _close(connection, list(told.closed.values()))
    if told.opened:
        statements.insert(connection, list(told.opened.values()), numbers, _NO_MARKS)
    return len(told.opened)


def bearing(connection: Connection, reader: Reader, given: Sequence[Memory]) -> list[Memory]:
    """What is believed in the scopes of these, under their keys or with their words. Changes nothing."""
    stored = known_places(connection, {memory.scope for memory in given})
    # Where nothing is stored yet, nothing bears on anything: no scope has this number.
    numbers = {memory.scope: stored.get(memory.scope, _NOWHERE) for memory in given}
    found = _statements(connection).known(connection, reader, given, numbers)
    places = {(memory.scope, mark) for memory in given for mark in (memory.key, memory.fingerprint)}
    near = {memory.id: memory for memory in found if memory.superseded_at is None}
    return [one for one in near.values() if not places.isdisjoint({(one.scope, one.key), (one.scope, one.fingerprint)})]


def mark(connection: Connection, ids: Sequence[UUID], generation: int | None) -> list[tuple[UUID, bool]]:
    """Mark the rows of these memories with a generation; return those that are there, and whether each is closed."""
    marked: list[tuple[UUID, bool]] = _statements(connection).mark(connection, ids, generation)
    return marked


def _statements(connection: Connection) -> ModuleType:
    """The statements of this dialect, under the same names in both modules."""
    return writing_sqlite if connection.dialect.name == "sqlite" else writing_postgresql


def _queue_up(connection: Connection, drafts: Iterable[Memory], numbers: Mapping[Scope, int]) -> None:
    """On PostgreSQL, let writers wait for each other whom no unique index keeps apart; SQLite has one writer anyway.

    That is of one key, of one session, or of what has ended.
    """
    if connection.dialect.name == "postgresql":
        shared = sorted({numbers[one.scope] for one in drafts if one.key or one.scope.session or one.valid_to})
        if shared:
            writing_postgresql.queue_up(connection, shared)


@dataclass
class Told:
    """What is believed while a batch of drafts is decided: the store's rows, overlaid with what was decided so far."""

    connection: Connection
    reader: Reader
    by_id: dict[UUID, Memory] = field(default_factory=dict)
    by_key: dict[tuple[Scope, str], list[Memory]] = field(default_factory=lambda: defaultdict(list))
    by_words: dict[tuple[Scope, bytes, datetime | None], Memory] = field(default_factory=dict)
    closed_at: dict[tuple[Scope, str], datetime] = field(default_factory=dict)
    opened: dict[UUID, Memory] = field(default_factory=dict)
    kept: dict[UUID, Memory] = field(default_factory=dict)
    closed: dict[UUID, Memory] = field(default_factory=dict)
    was: dict[UUID, datetime | None] = field(default_factory=dict)
    """Since when what is kept longer was closed, as it is stored; None for what was not."""

    def learn(self, stored: Iterable[Memory]) -> None:
        """Take in what is stored, each once."""
        for memory in stored:
            if memory.id not in self.by_id:
                self._believe(memory)

    def known(self, draft: Memory) -> Known:
        """What bears on this draft now."""
        same_id = self.by_id.get(draft.id)
        same_words = self.by_words.get((draft.scope, draft.fingerprint, draft.valid_to))
        if draft.key is None and same_id is None and same_words is None:
            return NOTHING
        same_key = self.by_key.get((draft.scope, draft.key), []) if draft.key else []
        if same_id is not None and same_id.scope.tenant != draft.scope.tenant:
            raise IdTaken
        closed_at = self.closed_at.get((draft.scope, draft.key)) if draft.key else None
        return Known(
            closed_at=closed_at if closed_at is not None and closed_at >= draft.created_at else None,
            same_id=same_id,
            same_key=tuple(sorted(same_key, key=lambda memory: (memory.valid_from, memory.created_at))),
            same_words=same_words,
        )

    def apply(self, decision: Decision, positions: "_Positions") -> None:
        """Overlay what was decided."""
        for memory in decision.keeps:
            self._doubt(memory)
            if memory.id in self.opened:
                self.opened[memory.id] = memory
            else:
                self.was.setdefault(memory.id, self.by_id[memory.id].superseded_at)
                self.kept[memory.id] = memory
            self._believe(memory)
        for memory in decision.closes:
            self._check_unchanged(memory)
            # As it is stored by now: what was read in plain may have been sealed since.
            self._doubt(self.by_id[memory.id])
            (self.opened if memory.id in self.opened else self.closed)[memory.id] = memory
            self._believe(memory)
        for memory in decision.opens:
            # At once: what a later draft leaves of this one stands in its place.
            self.open(positions.placed(memory))

    def check_tenant(self, given: Memory) -> None:
        """Raise IdTaken when the id is stored for another tenant."""
        stored = self.by_id.get(given.id)
        if stored is not None and stored.scope.tenant != given.scope.tenant:
            raise id_taken(given.id)

    def close_as(self, elsewhere: Memory) -> None:
        """Close what is stored as it is closed elsewhere, if it is."""
        stored = self.by_id.get(elsewhere.id)
        closed = stored.closed_as(elsewhere) if stored is not None else None
        if stored is not None and closed is not None:
            self._doubt(stored)
            self.closed[closed.id] = closed
            self._believe(closed)

    def _check_unchanged(self, seen: Memory) -> None:
        # A correction rests on what was read before this transaction, and another writer may have been faster.
        if seen.id not in self.by_id:
            self.by_id |= {one.id: one for one in self.reader.by_ids(self.connection, [seen.id])}
        stored = self.by_id.get(seen.id)
        if stored is None or stored.superseded_at is not None or not stored.is_kept_as(seen):
            raise changed_meanwhile(seen.id)

    def rival(self, memory: Memory) -> Memory | None:
        """What is believed that a row cannot stand beside."""
        same_key = self.by_key[memory.scope, memory.key] if memory.key else ()
        return rival(memory, same_key, self.by_words.get((memory.scope, memory.fingerprint, None)))

    def open(self, memory: Memory) -> None:
        """Take one more row, unless it contradicts what is there."""
        if memory.id in self.by_id:
            raise IdTaken(f"id {memory.id} names another memory already. Use `update` to change it, or another id")
        if memory.superseded_at is None and memory.valid_to is None:
            same_key = self.by_key[memory.scope, memory.key] if memory.key else []
            same_words = self.by_words.get((memory.scope, memory.fingerprint, None))
            taken = next((other for other in same_key if other.valid_to is None), same_words)
            if taken is not None:
                raise contradiction(taken, memory)
        self.opened[memory.id] = memory
        self._believe(memory)

    def _believe(self, memory: Memory) -> None:
        self.by_id[memory.id] = memory
        if memory.superseded_at is not None:
            if memory.key:
                place = memory.scope, memory.key
                self.closed_at[place] = max(memory.superseded_at, self.closed_at.get(place, memory.superseded_at))
            return
        if memory.key:
            self.by_key[memory.scope, memory.key].append(memory)
            if memory.valid_to is not None:
                return
        mark = (memory.scope, memory.fingerprint, memory.valid_to)
        if mark not in self.by_words or memory.valid_from < self.by_words[mark].valid_from:
            self.by_words[mark] = memory

    def _doubt(self, memory: Memory) -> None:
        if memory.key:
            same = self.by_key[memory.scope, memory.key]
            same[:] = [other for other in same if other.id != memory.id]
        mark = (memory.scope, memory.fingerprint, memory.valid_to)
        if mark in self.by_words and self.by_words[mark].id == memory.id:
            del self.by_words[mark]


def _keep(connection: Connection, kept: Sequence[Memory], was: Mapping[UUID, datetime | None]) -> None:
    for memory in kept:
        column = memories.c
        until = memory.expires_at
        shorter = column.expires_at < until if until is not None else column.expires_at.is_not(None)
        as_read = column.superseded_at.is_not_distinct_from(was[memory.id])
        keeping = update(memories).where(column.id == memory.id, as_read, shorter)
        values = {"expires_at": until, "superseded_at": None, "closed_because": None, "generation": None}
        if connection.execute(keeping.values(values)).rowcount != 1:
            raise Raced
    texts.refresh(connection, [memory for memory in kept if was[memory.id] is not None])


def _close(connection: Connection, closed: Sequence[Memory]) -> None:
    for memory in closed:
        closing = update(memories).where(memories.c.id == memory.id, *unchanged(memory))
        # What it says stays as it is stored: it may have been read in plain, and sealed since.
        values = {name: value for name, value in values_of(memory).items() if name not in GUARDED}
        if connection.execute(closing.values(values)).rowcount != 1:
            raise Raced
    texts.refresh(connection, closed)


def unchanged(seen: Memory) -> tuple[ColumnElement[bool], ...]:
    """The conditions that a row is believed, and kept as it was seen."""
    return (
        memories.c.superseded_at.is_(None),
        memories.c.importance == seen.importance,
        memories.c.expires_at.is_not_distinct_from(seen.expires_at),
    )


def as_seen(closed: list[Memory], seen: Memory | None) -> list[Memory]:
    """What was closed, if what was seen is among it and was kept so. Raises Conflict, which undoes it, if not."""
    if seen is not None and not any(memory.id == seen.id and memory.is_kept_as(seen) for memory in closed):
        raise changed_meanwhile(seen.id)
    return closed


class _Positions:
    """The positions that are given in the sessions of a batch, which has scopes with these numbers."""

    def __init__(self, connection: Connection, numbers: Mapping[Scope, int]) -> None:
        self._connection = connection
        self._numbers = numbers
        self._last: dict[int, int] | None = None

    def placed(self, memory: Memory) -> Memory:
        """The same memory, with the next position of its session if it has none."""
        if memory.scope.session is None or memory.position is not None:
            return memory
        if self._last is None:
            sessions = {number for scope, number in self._numbers.items() if scope.session}
            self._last = _statements(self._connection).last_positions(self._connection, sessions)
        number = self._numbers[memory.scope]
        self._last[number] = position = self._last.get(number, -1) + 1
        return replace(memory, position=position)
