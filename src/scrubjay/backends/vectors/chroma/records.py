"""A memory as records of Chroma, one for each part of its text, and a filter as conditions on what the records carry.

The id of a record names the memory, the part and a digest of the vector. So a vector never changes: another one is
another record. Chroma takes a hundred times as long to move a vector in its graph as to add one.

A name that a scope leaves open is stored as an empty text, which no name can be: conditions cannot ask for what is
absent. Chroma keeps each field of a record in a row of its own, so what no condition asks for shares a field.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from scrubjay.model import PLACE_NAMES, Filter, Scope
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.ports import Entry, Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

Fields: TypeAlias = Mapping[str, str | int | bool]
Where: TypeAlias = dict[str, Any]
"""A condition in Chroma's words."""

OPEN: Final = ""
FOREVER: Final = ".."
"""The open end of an interval, as ISO 8601-2 writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Some records, as they are stored and found. What was not asked for is empty."""

    ids: list[str]
    fields: list[Fields] = field(default_factory=list)
    vectors: "Matrix | None" = None
    distances: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def batches(self, size: int) -> Iterator["Records"]:
        """The same records, so many at a time."""
        return (self.only(range(start, min(start + size, len(self)))) for start in range(0, len(self), size))

    def only(self, places: Sequence[int]) -> "Records":
        """The records in these places."""
        return Records(
            ids=[self.ids[place] for place in places],
            fields=[self.fields[place] for place in places] if self.fields else [],
            vectors=self.vectors[list(places)] if self.vectors is not None else None,
        )


def record_id(memory: UUID, part: int, vector: "Matrix") -> str:
    """The same for the same vector of the same part every time, so that writing twice is writing once."""
    return f"{memory}:{part}:{hashlib.blake2s(vector.tobytes(), digest_size=8).hexdigest()}"


def memory_of(record: str) -> UUID:
    """The memory that a record is a part of."""
    return UUID(record.partition(":")[0])


def records_of(entries: Sequence[Entry]) -> Records:
    """Every part of these entries."""
    vectors = np.concatenate([entry.vectors for entry in entries]).astype(np.float32, copy=False)
    parts = [(entry.id, part) for entry in entries for part in range(len(entry.spans))]
    return Records(
        ids=[record_id(memory, part, row) for (memory, part), row in zip(parts, vectors, strict=True)],
        fields=[fields for entry in entries for fields in _fields_of(entry)],
        vectors=vectors,
    )


def _fields_of(entry: Entry) -> Iterator[Fields]:
    until = entry.until.isoformat() if entry.until is not None else FOREVER
    scope = {name: value or OPEN for name, value in zip(PLACE_NAMES, entry.scope.names(), strict=True)}
    shared: Fields = {
        "memory": str(entry.id),
        **scope,
        "kind": entry.kind,
        "live": entry.live,
        "holds": f"{entry.since.isoformat()}/{until}",
    }
    for part, (start, stop) in enumerate(entry.spans):
        # Most memories have one part, and need not say which.
        yield {**shared, "span": f"{start}-{stop}", **({"part": part} if part else {})}


def of_memories(ids: Sequence[UUID]) -> Where:
    """Every part of these."""
    return {"memory": {"$in": [str(one) for one in ids]}}


def later_parts() -> Where:
    """Every part that is not the first of its memory."""
    return {"part": {"$gte": 1}}


def condition(filter: Filter) -> Where:
    """What few records fulfil, of all that the port lets a search find: the names and the kinds, or else being live.

    Most are live and nearly all hold now, and Chroma would list them all to find that out: `admitted` looks at it.
    """
    every: list[Where] = []
    for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True):
        if value is not None:
            every.append({name: {"$in": [value, OPEN]} if filter.reach == "sees" else {"$eq": value}})
    if filter.kinds:
        every.append({"kind": {"$in": list(filter.kinds)}})
    if len(every) > 1:
        return {"$and": every}
    return every[0] if every else {"live": {"$eq": True}}


def admitted(filter: Filter, *, now: datetime | None) -> Callable[[Fields], bool]:
    """What the port lets a search find: the filter's scope and kinds and, unless `now` is None, what holds now."""
    wanted = {
        name: {value, OPEN} if filter.reach == "sees" else {value}
        for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True)
        if value is not None
    }
    if filter.kinds:
        wanted["kind"] = set(filter.kinds)

    binding = filter.scope.binding if filter.reach == "sees" else {}

    def admits(fields: Fields) -> bool:
        if any(fields[name] not in values for name, values in wanted.items()):
            return False
        if binding and fields["user"] != OPEN and any(fields[name] != (value or 0) for name, value in binding.items()):
            return False
        return now is None or (bool(fields["live"]) and _holds(fields, now))

    return admits


def best_parts(found: Records, admits: Callable[[Fields], bool]) -> list[Match]:
    """The memories that are admitted, each once with its best part, in the order found."""
    best: dict[UUID, Match] = {}
    for record, fields, distance in zip(found.ids, found.fields, found.distances, strict=True):
        if not admits(fields):
            continue
        memory = memory_of(record)
        if memory not in best:
            start, stop = _span(fields)
            # Rounding can put the cosine of equal vectors a little beyond 1.
            score = min(1.0, max(-1.0, 1.0 - distance))
            outside = fields["session"] == OPEN
            alone = outside and fields["kind"] != MESSAGE_KIND
            best[memory] = Match(memory, score, start, stop, alone=alone, outside=outside)
    return list(best.values())


def entries_of(found: Records, tenant: str) -> list[Entry]:
    """The entries that these records are all the parts of, as they were stored."""
    by_memory: dict[UUID, dict[int, int]] = defaultdict(dict)
    for place, record in enumerate(found.ids):
        by_memory[memory_of(record)][int(found.fields[place].get("part", 0))] = place
    return [
        _entry_of(memory, [places[part] for part in sorted(places)], found, tenant)
        for memory, places in by_memory.items()
    ]


def _entry_of(memory: UUID, places: list[int], found: Records, tenant: str) -> Entry:
    shared = found.fields[places[0]]
    since, until = _times(shared)
    names = {name: str(shared[name]) or None for name in PLACE_NAMES}
    vectors = found.vectors if found.vectors is not None else np.empty((0, 0), dtype=np.float32)
    return Entry(
        id=memory,
        scope=Scope(tenant=tenant, **names),
        kind=str(shared["kind"]),
        live=bool(shared["live"]),
        since=since,
        until=until,
        spans=tuple(_span(found.fields[place]) for place in places),
        vectors=vectors[places],
    )


def _holds(fields: Fields, now: datetime) -> bool:
    since, until = _times(fields)
    return since <= now and (until is None or now < until)


def _times(fields: Fields) -> tuple[datetime, datetime | None]:
    since, _, until = str(fields["holds"]).partition("/")
    return datetime.fromisoformat(since), None if until == FOREVER else datetime.fromisoformat(until)


def _span(fields: Fields) -> tuple[int, int]:
    start, _, stop = str(fields["span"]).partition("-")
    return int(start), int(stop)
