"""The write transaction: ask `decide` about each draft, against what is stored and what the drafts before it did."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from sqlalchemy import Connection, func, select, text, update

from scrubjay.backends.sql import texts
from scrubjay.backends.sql.database import Raced
from scrubjay.backends.sql.lookup import Lookup, Statement
from scrubjay.backends.sql.places import interned
from scrubjay.backends.sql.rows import BY_ID, Reader, row_of, rows, values_of
from scrubjay.backends.sql.schema import lineage, memories, scopes
from scrubjay.errors import Conflict, IdTaken
from scrubjay.model import Memory, Remembered, Scope
from scrubjay.ports import Decide, Decision, Known

BATCH = 200
"""Drafts looked up in one statement: three times as many values stay well below every limit on parameters."""

_BELIEVED = rows().where(memories.c.superseded_at.is_(None))
_BY_WORDS = Lookup(_BELIEVED.where(memories.c.valid_to.is_(None)), memories.c.scope_id, memories.c.fingerprint)
_BY_KEY = Lookup(_BELIEVED.where(memories.c.key.is_not(None)), memories.c.scope_id, memories.c.key)


def write(connection: Connection, reader: Reader, drafts: Sequence[Memory], decide: Decide) -> list[Remembered]:
    """Store what `decide` says about each draft, and say what became of it."""
    numbers = interned(connection, {draft.scope for draft in drafts})
    _queue_up(connection, drafts, numbers)
    told = Told(connection, reader, drafts, numbers)
    decided: list[tuple[Decision, UUID | None]] = []
    for draft in drafts:
        decision = decide(draft, told.known(draft))
        told.apply(decision)
        decided.append((decision, next((closed.id for closed in decision.closes), None)))
    _close(connection, list(told.closed.values()))
    left = told.by_id | {memory.id: memory for memory in _with_positions(connection, told.opened.values(), numbers)}
    insert(connection, [left[opened] for opened in told.opened], numbers)
    return [
        Remembered(memory=left[decision.memory.id], outcome=decision.outcome, replaced=replaced)
        for decision, replaced in decided
    ]


def load(connection: Connection, reader: Reader, loaded: Sequence[Memory]) -> int:
    """Store exactly these rows, but for those whose id is there already; return how many that were."""
    numbers = interned(connection, {memory.scope for memory in loaded})
    told = Told(connection, reader, loaded, numbers)
    for memory in loaded:
        if memory.id not in told.by_id:
            told.open(memory)
    insert(connection, list(told.opened.values()), numbers)
    return len(told.opened)


def _queue_up(connection: Connection, drafts: Iterable[Memory], numbers: dict[Scope, int]) -> None:
    """On PostgreSQL, let writers of one key or one session wait for each other; SQLite has one writer anyway."""
    shared = sorted({numbers[draft.scope] for draft in drafts if draft.key or draft.scope.session})
    if connection.dialect.name == "postgresql" and shared:
        statement = select(scopes.c.id).where(scopes.c.id.in_(shared)).order_by(scopes.c.id)
        connection.execute(statement.with_for_update(key_share=False)).fetchall()


@dataclass
class Told:
    """What is believed while a batch of drafts is decided: the store's rows, overlaid with what was decided so far."""

    connection: Connection
    reader: Reader
    drafts: Sequence[Memory]
    numbers: dict[Scope, int]
    by_id: dict[UUID, Memory] = field(default_factory=dict)
    by_key: dict[tuple[Scope, str], list[Memory]] = field(default_factory=lambda: defaultdict(list))
    by_words: dict[tuple[Scope, bytes], Memory] = field(default_factory=dict)
    opened: dict[UUID, Memory] = field(default_factory=dict)
    closed: dict[UUID, Memory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for start in range(0, len(self.drafts), BATCH):
            for statement, parameters in self._lookups(self.drafts[start : start + BATCH]):
                for memory in self.reader.fetch(self.connection, statement, parameters):
                    if memory.id not in self.by_id:
                        self._believe(memory)

    def known(self, draft: Memory) -> Known:
        """What bears on this draft now."""
        same_key = self.by_key.get((draft.scope, draft.key), []) if draft.key else []
        same_id = self.by_id.get(draft.id)
        if same_id is not None and same_id.scope.tenant != draft.scope.tenant:
            raise IdTaken
        return Known(
            same_id=same_id,
            same_key=tuple(sorted(same_key, key=lambda memory: (memory.valid_from, memory.created_at))),
            same_words=self.by_words.get((draft.scope, draft.fingerprint)),
        )

    def apply(self, decision: Decision) -> None:
        """Overlay what was decided."""
        for memory in decision.closes:
            self._check_believed(memory.id)
            self._doubt(memory)
            (self.opened if memory.id in self.opened else self.closed)[memory.id] = memory
            self.by_id[memory.id] = memory
        for memory in decision.opens:
            self.open(memory)

    def _check_believed(self, id: UUID) -> None:
        # A correction rests on what was read before this transaction, and another writer may have been faster.
        if id not in self.by_id:
            self.by_id |= {one.id: one for one in self.reader.fetch(self.connection, rows().where(memories.c.id == id))}
        if id not in self.by_id or self.by_id[id].superseded_at is not None:
            raise Conflict(f"memory {id} was changed or deleted meanwhile. Read it again, then decide")

    def open(self, memory: Memory) -> None:
        """Take one more row, unless it contradicts what is there."""
        if memory.id in self.by_id:
            raise IdTaken(f"id {memory.id} names another memory already. Use `update` to change it, or another id")
        if memory.superseded_at is None and memory.valid_to is None:
            if memory.key and any(other.valid_to is None for other in self.by_key[memory.scope, memory.key]):
                raise Conflict(f"key {memory.key!r} has a current value in {memory.scope} already: replace it instead")
            if (memory.scope, memory.fingerprint) in self.by_words:
                raise Conflict(f"{memory.content[:60]!r} is remembered in {memory.scope} already")
        self.opened[memory.id] = memory
        self._believe(memory)

    def _believe(self, memory: Memory) -> None:
        self.by_id[memory.id] = memory
        if memory.superseded_at is not None:
            return
        if memory.key:
            self.by_key[memory.scope, memory.key].append(memory)
        if memory.valid_to is None:
            self.by_words[memory.scope, memory.fingerprint] = memory

    def _doubt(self, memory: Memory) -> None:
        if memory.key:
            same = self.by_key[memory.scope, memory.key]
            same[:] = [other for other in same if other.id != memory.id]
        mark = (memory.scope, memory.fingerprint)
        if mark in self.by_words and self.by_words[mark].id == memory.id:
            del self.by_words[mark]

    def _lookups(self, drafts: Sequence[Memory]) -> list[Statement]:
        """Statements that are each answered by an index: by id, by key and by fingerprint within the scope."""
        words = [(self.numbers[draft.scope], draft.fingerprint) for draft in drafts if not draft.is_event]
        keys = list(dict.fromkeys((self.numbers[draft.scope], draft.key) for draft in drafts if draft.key))
        lookups: list[Statement] = [(BY_ID, {"ids": [draft.id for draft in drafts]})]
        if words:
            lookups.append(_BY_WORDS.of(words))
        if keys:
            lookups.append(_BY_KEY.of(keys))
        return lookups


def _close(connection: Connection, closed: Sequence[Memory]) -> None:
    for memory in closed:
        believed = update(memories).where(memories.c.id == memory.id, memories.c.superseded_at.is_(None))
        if connection.execute(believed.values(values_of(memory))).rowcount != 1:
            raise Raced
    texts.refresh(connection, closed)


def _with_positions(connection: Connection, opened: Collection[Memory], numbers: dict[Scope, int]) -> list[Memory]:
    """Give each memory of a session that has none the next position there."""
    waiting = {numbers[memory.scope] for memory in opened if memory.scope.session and memory.position is None}
    if not waiting:
        return list(opened)
    column = memories.c
    statement = (
        select(column.scope_id, func.max(column.position))
        .where(column.scope_id.in_(waiting), column.position.is_not(None))
        .group_by(column.scope_id)
    )
    last: dict[int, int] = {scope_id: position for scope_id, position in connection.execute(statement)}  # noqa: C416 -- rows are not pairs to a type checker
    placed: list[Memory] = []
    for memory in opened:
        number = numbers[memory.scope]
        if number in waiting and memory.position is None:
            last[number] = last.get(number, -1) + 1
            placed.append(replace(memory, position=last[number]))
        else:
            placed.append(memory)
    return placed


def insert(connection: Connection, opened: Sequence[Memory], numbers: dict[Scope, int]) -> None:
    """Store these rows, their words and their lineage."""
    if not opened:
        return
    seqs = _next_numbers(connection, len(opened))
    stored = [
        row_of(memory, seq=seq, scope_id=numbers[memory.scope], fingerprint=memory.fingerprint)
        for memory, seq in zip(opened, seqs, strict=True)
    ]
    connection.execute(memories.insert(), stored)
    texts.add(connection, list(zip(seqs, (numbers[memory.scope] for memory in opened), opened, strict=True)))
    links = [
        {"source_id": source, "derived_id": memory.id}
        for memory in opened
        for source in dict.fromkeys(memory.derived_from)
    ]
    if links:
        connection.execute(lineage.insert(), links)


def _next_numbers(connection: Connection, count: int) -> list[int]:
    """Row numbers that are free: taken here, so that the text index can use them in the same round."""
    if connection.dialect.name == "postgresql":
        statement = text("SELECT nextval('memories_seq_seq') FROM generate_series(1, :count)")
        return [row[0] for row in connection.execute(statement, {"count": count})]
    last = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")).scalar() or 0
    return list(range(last + 1, last + 1 + count))
