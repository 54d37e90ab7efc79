"""What the answer to a write shows of what others told, to whoever may not read: nothing. The same at every door."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from scrubjay.model import Fact, Memory, Remembered, StoredFact

Done = TypeVar("Done")

_TOLD: Final[dict[str, Any]] = {
    "key": None,
    "data": {},
    "importance": 0.5,
    "source": None,
    "author": None,
    "reason": None,
    "valid_to": None,
    "expires_at": None,
}
"""What is told of a memory beside its content, as it is when nobody has told it."""

_NEVER_TOLD: Final[dict[str, Any]] = {
    "derived_from": (),
    "superseded_at": None,
    "superseded_by": None,
    "closed_because": None,
    "uses": 0,
    "used_at": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What may be shown of what became of the things that a request told."""

    began: datetime | None = None
    """When the request of one who may not read began. None: its caller may read, and is shown everything."""

    def of(self, done: Remembered, told: BaseModel) -> Remembered:
        """What became of it, with its memory: what was told of it now. The rest is that of one who told it before."""
        return replace(done, memory=self._memory(done.memory, told, is_new=done.outcome != "unchanged"))

    def of_each(self, done: Sequence[Remembered], told: BaseModel | Sequence[BaseModel]) -> list[Remembered]:
        """The same for each of them."""
        return [self.of(one, body) for one, body in _paired(done, told)]

    def of_fact(self, done: StoredFact, told: BaseModel) -> StoredFact:
        """The same for a fact. What it contradicts is told to whoever may read."""
        if self.began is None:
            return done
        memory = self._memory(done.fact.memory, told, is_new=done.outcome in ("stored", "superseded"))
        if done.outcome == "duplicate_of":
            # It says what was told in other words, and may have a key and data that were not.
            memory = replace(memory, key=None, data={})
        return replace(done, fact=Fact(memory=memory), conflicts=())

    def of_each_fact(self, done: Sequence[StoredFact], told: BaseModel | Sequence[BaseModel]) -> list[StoredFact]:
        """The same for each of these facts."""
        return [self.of_fact(one, body) for one, body in _paired(done, told)]

    def of_version(self, done: Remembered, changes: BaseModel) -> Remembered:
        """What became of a change: of the version that it made, what was given. The rest was there before."""
        return done if self.began is None else replace(done, memory=_only(done.memory, changes.model_fields_set))

    def _memory(self, memory: Memory, told: BaseModel, *, is_new: bool) -> Memory:
        if self.began is None:
            return memory
        times = {name for name in ("valid_from", "valid_to") if _is_said(memory, name, told)}
        # An episode and an execution are told with the moment at which they happened.
        if getattr(told, "at", None) == memory.valid_from:
            times.add("valid_from")
        # What had expired is stored once more as it was told before.
        if is_new and memory.created_at >= self.began:
            # Since and until when it holds, it may have from what it replaces or is followed by.
            mine = _only(memory, times | (_TOLD.keys() - {"valid_to"}))
            return replace(mine, derived_from=memory.derived_from)
        # To be known, both have to be as they were told.
        return _only(memory, times | {"key", "data"} | {name for name in _TOLD if _is_said(memory, name, told)})


def _paired(done: Sequence[Done], told: BaseModel | Sequence[BaseModel]) -> Iterator[tuple[Done, BaseModel]]:
    return zip(done, [told] if isinstance(told, BaseModel) else told, strict=True)


def _is_said(memory: Memory, name: str, told: BaseModel) -> bool:
    return name in told.model_fields_set and bool(getattr(memory, name) == getattr(told, name))


def _only(memory: Memory, names: AbstractSet[str]) -> Memory:
    """The memory with its content, and of what is told beside it, only these."""
    since = memory.valid_from if "valid_from" in names else memory.created_at
    left = {name: value for name, value in _TOLD.items() if name not in names}
    until = None if memory.valid_to is None or memory.valid_to <= since else memory.valid_to
    return replace(memory, **{"valid_from": since, "valid_to": until, **left, **_NEVER_TOLD})
