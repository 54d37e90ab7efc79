"""A memory as points, one for each part of its text, and a filter as conditions on what the points carry.

A name that a scope leaves open is stored as an empty text, which no name can be. So `sees` is one look-up in an index,
"this name or none", where a field that is absent would take two.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
from qdrant_client import grpc, models

from scrubjay.model import PLACE_NAMES, Filter, Scope
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.ports import Entry, Match

OPEN: Final = ""
FOREVER: Final = datetime.max.replace(tzinfo=UTC)

POINTS_PER_REQUEST: Final = 512
NUMBERS_PER_REQUEST: Final = 500_000
"""About 10 MB as JSON; a server refuses requests of more than 32."""

FOUND: Final = ["memory", "start", "stop", "session", "kind"]
"""What a search has to bring back."""

_KEYWORD: Final = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
_DATETIME: Final = models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME)

INDEXES: Final[dict[str, models.PayloadSchemaParams]] = {
    # Points of one tenant are kept together on disk.
    "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    **dict.fromkeys(PLACE_NAMES, _KEYWORD),
    "kind": _KEYWORD,
    "live": models.BoolIndexParams(type=models.BoolIndexType.BOOL),
    "since": _DATETIME,
    "until": _DATETIME,
    "memory": models.UuidIndexParams(type=models.UuidIndexType.UUID),
    "part": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True),
}

_POINT: Final = uuid5(NAMESPACE_URL, "scrubjay:qdrant:point")


def point_id(memory: UUID, part: int) -> str:
    """The same for the same part every time, so that writing twice is writing once."""
    return str(uuid5(_POINT, f"{memory}/{part}"))


def replacing(entries: Sequence[Entry]) -> Iterator[list[models.UpdateOperation]]:
    """The requests that store these entries whole, in order: their parts, then the end of parts they no longer have."""
    points = [point for entry in entries for point in _points_of(entry)]
    numbers = max((entry.vectors.shape[1] for entry in entries), default=1)
    most = max(1, min(POINTS_PER_REQUEST, NUMBERS_PER_REQUEST // numbers))
    batches = [points[start : start + most] for start in range(0, len(points), most)]
    upserts: list[models.UpdateOperation] = [
        models.UpsertOperation(upsert=models.PointsList(points=batch)) for batch in batches
    ]
    stale: list[models.UpdateOperation] = [
        models.DeleteOperation(delete=models.FilterSelector(filter=condition)) for condition in _stale_parts(entries)
    ]
    yield from ([upsert] for upsert in upserts[:-1])
    yield upserts[-1:] + stale


def _points_of(entry: Entry) -> Iterator[models.PointStruct]:
    scope = {name: value or OPEN for name, value in zip(PLACE_NAMES, entry.scope.names(), strict=True)}
    shared = {
        "memory": str(entry.id),
        "tenant": entry.scope.tenant,
        **scope,
        "kind": entry.kind,
        "live": entry.live,
        "since": entry.since.isoformat(),
        "until": (entry.until or FOREVER).isoformat(),
    }
    rows = entry.vectors.tolist()
    for part, ((start, stop), vector) in enumerate(zip(entry.spans, rows, strict=True)):
        payload = {**shared, "part": part, "start": start, "stop": stop}
        yield models.PointStruct(id=point_id(entry.id, part), vector=vector, payload=payload)


def _stale_parts(entries: Iterable[Entry]) -> Iterator[models.Filter]:
    """One condition for all memories with the same number of parts: there are few such numbers."""
    by_parts: dict[int, list[UUID]] = defaultdict(list)
    for entry in entries:
        by_parts[len(entry.spans)].append(entry.id)
    for parts, ids in by_parts.items():
        beyond = models.FieldCondition(key="part", range=models.Range(gte=parts))
        yield models.Filter(must=[_any("memory", map(str, ids)), beyond])


def of_memories(ids: Iterable[UUID]) -> models.Filter:
    """Every part of these."""
    return models.Filter(must=[_any("memory", map(str, ids))])


def first_parts() -> models.Filter:
    """One point for each memory."""
    return models.Filter(must=[_is("part", 0)])


def admitted(filter: Filter, *, now: datetime, among: Sequence[UUID] | None) -> models.Filter:
    """What the port lets a search find: the filter's scope and kinds, and either those ids or what holds now."""
    must: list[models.Condition] = [_is("tenant", filter.scope.tenant)]
    for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True):
        if value is not None:
            must.append(_any(name, [value, OPEN]) if filter.reach == "sees" else _is(name, value))
    if filter.reach == "sees" and (binding := filter.scope.binding):
        either: list[models.Condition] = [_is("user", OPEN)]
        if all(binding.values()):
            either.append(models.Filter(must=[_is(name, value or "") for name, value in binding.items()]))
        must.append(models.Filter(should=either))
    if filter.kinds:
        must.append(_any("kind", filter.kinds))
    if among is not None:
        must.append(_any("memory", map(str, among)))
    else:
        must += [
            _is("live", True),  # noqa: FBT003 -- the value that is looked for
            models.FieldCondition(key="since", range=models.DatetimeRange(lte=now)),
            models.FieldCondition(key="until", range=models.DatetimeRange(gt=now)),
        ]
    return models.Filter(must=must)


def match_of(point: models.ScoredPoint) -> Match:
    """The part of a memory that a point stands for."""
    payload = point.payload or {}
    # Rounding can put the cosine of equal vectors a little beyond 1.
    score = min(1.0, max(-1.0, point.score))
    outside = payload["session"] == OPEN
    return Match(
        id=UUID(payload["memory"]),
        score=score,
        start=payload["start"],
        stop=payload["stop"],
        alone=outside and payload["kind"] != MESSAGE_KIND,
        outside=outside,
    )


def match_in(point: grpc.ScoredPoint) -> Match:
    """The same from a point as gRPC has it."""
    payload = point.payload
    outside = payload["session"].string_value == OPEN
    return Match(
        UUID(payload["memory"].string_value),
        min(1.0, max(-1.0, point.score)),
        payload["start"].integer_value,
        payload["stop"].integer_value,
        alone=outside and payload["kind"].string_value != MESSAGE_KIND,
        outside=outside,
    )


def memory_of(point: models.Record) -> UUID:
    """The memory that a point is a part of."""
    return UUID((point.payload or {})["memory"])


def entries_of(found: Iterable[models.Record]) -> list[Entry]:
    """The entries that these points are all the parts of, as they were stored."""
    by_memory: dict[UUID, list[models.Record]] = defaultdict(list)
    for point in found:
        by_memory[memory_of(point)].append(point)
    return [_entry_of(memory, parts) for memory, parts in by_memory.items()]


def _entry_of(memory: UUID, found: list[models.Record]) -> Entry:
    parts = sorted(
        ({**(point.payload or {}), "vector": point.vector} for point in found), key=lambda part: part["part"]
    )
    shared = parts[0]
    until = datetime.fromisoformat(shared["until"])
    return Entry(
        id=memory,
        scope=Scope(tenant=shared["tenant"], **{name: shared[name] or None for name in PLACE_NAMES}),
        kind=shared["kind"],
        live=shared["live"],
        since=datetime.fromisoformat(shared["since"]),
        until=None if until == FOREVER else until,
        spans=tuple((part["start"], part["stop"]) for part in parts),
        vectors=np.array([part["vector"] for part in parts], dtype=np.float32),
    )


def _is(key: str, value: str | int | bool) -> models.FieldCondition:  # noqa: FBT001 -- a value among others
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _any(key: str, values: Iterable[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
