"""Items of a store: JSON values under a namespace and a key, each a memory, found by their text and their fields."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, Unpack
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import NotFound
from scrubjay.memories.frameworks.values import digest, inner
from scrubjay.model import Filter, Json, Memory, Where, scope_of
from scrubjay.model.query import MOST_HITS
from scrubjay.ports import Decision, Known
from scrubjay.write.prepare import Telling
from scrubjay.write.reconcile import REPLACED

ITEM_KIND: Final = "item"
UNREAD_KIND: Final = "stored_item"
"""An item without a text to find it by: a quiet kind."""

_KEYS: Final = "item:"
"""What the keys of items begin with."""

_PAGE: Final = 200
_STEPS: Final = 4_000
"""So many namespaces are looked at to find those below one. Where there are more, the items are asked for theirs."""
_RENEWED: Final = timedelta(seconds=1)
"""A life that would be prolonged by less than this is left as it is: many reads at once are one renewal."""

Namespace: TypeAlias = tuple[str, ...]
Path: TypeAlias = tuple[Namespace, str]
"""The namespace and the key of an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """An item to store, or to delete when it has no value."""

    path: Path
    value: dict[str, Json] | None
    text: str = ""
    """What it is found by; empty for one that is not to be found by a question."""
    minutes: float | None = None
    """How long it lives after it was last written or read; None for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item as it is stored."""

    path: Path
    value: dict[str, Json]
    created_at: datetime
    updated_at: datetime
    minutes: float | None
    expires_at: datetime | None
    id: UUID
    score: float | None = None
    """How well it answers the question, from 0 to 1; None when it was not compared."""


class Items:
    """The items of one scope. What lies in a wider or a narrower one is another store's."""

    def __init__(self, core: Core, **where: Unpack[Where]) -> None:
        self._core = core
        self._where = where
        self._names = scope_of(core.tenant, where).names()

    async def put(self, puts: Sequence[Put]) -> None:
        """Store and delete these; of two with one path, the last counts. Of what is stored all is, or none.

        Secrets are taken out first. A deleted item answers no more; what it said before stays in its history.
        """
        last = {put.path: put for put in puts}
        for put in last.values():
            if put.value is None:
                with suppress(NotFound):
                    await self._core.forget(key=self._key(put.path), **self._where)
        scope, writer = self._core.scoped(self._where), self._core.parts.writer
        told = [self._told(put, put.value) for put in last.values() if put.value is not None]
        if told:
            await writer.write(await writer.drafts(told, scope), _settled)

    async def get(self, path: Path) -> Item | None:
        """Return the item of this path, or None."""
        asked = replace(self._asked(()), key=self._key(path))
        found = await self._core.parts.stores.records.find(asked, now=self._core.parts.clock(), limit=1)
        return replace(_item(found[0]), path=path) if found else None

    async def search(
        self,
        prefix: Namespace,
        query: str,
        *,
        data: Mapping[str, Json],
        passes: Callable[[dict[str, Json]], bool],
        limit: int,
        offset: int,
    ) -> list[Item]:
        """Return the items below a namespace whose values pass: those that answer the question best first.

        Behind them, and when nothing is asked, come the others, those first that were changed last. `data` are
        conditions on fields of the value that all items that pass meet: what a store can decide it decides.
        """
        end = max(0, offset) + max(0, limit)
        if limit <= 0:
            return []
        asked = self._asked(prefix, data)
        found = await self._answers(query, asked, passes, end) if query.strip() else []
        if len(found) < end:
            seen = {item.id for item in found}
            async for memory in self._newest(asked):
                item = _item(memory)
                if item.id not in seen and passes(item.value):
                    found.append(item)
                    if len(found) == end:
                        break
        return found[max(0, offset) : end]

    async def namespaces(self, prefix: Namespace = ()) -> set[Namespace]:
        """Return every namespace below this one that has items."""
        asked = replace(self._asked(prefix), key_prefix=_KEYS)
        found = await self._one_of_each(replace(asked, data={}), limit=_STEPS if prefix else None)
        if found is None:
            found = await self._one_of_each(asked)
        return {_path(memory)[0] for memory in found or () if self._lies_under(memory, prefix)}

    async def _one_of_each(self, asked: Filter, *, limit: int | None = None) -> list[Memory] | None:
        """One item for each namespace that has some, or None when there are more than the limit."""
        return await self._core.parts.stores.records.one_of_each(
            asked, now=self._core.parts.clock(), length=len(self._keys(())), limit=limit
        )

    def _lies_under(self, memory: Memory, prefix: Namespace) -> bool:
        """Whether it is an item of this store, below this namespace. Anybody may tell something under such a key."""
        store = memory.data.get("store")
        under = store.get("under") if isinstance(store, Mapping) else None
        return isinstance(under, Mapping) and under.get(str(len(prefix))) == self._place(prefix)

    async def renew(self, items: Sequence[Item]) -> None:
        """Let those that live for a while live that long again, since they were read."""
        now = self._core.parts.clock()
        for item in items:
            if item.minutes is None or item.expires_at is None:
                continue
            until = now + timedelta(minutes=item.minutes)
            if until - item.expires_at >= _RENEWED:
                # Somebody may have changed or deleted it since it was read.
                with suppress(NotFound):
                    await self._core.update(item.id, expires_at=until, **self._where)

    async def _answers(
        self, query: str, asked: Filter, passes: Callable[[dict[str, Json]], bool], wanted: int
    ) -> list[Item]:
        """The best answers that pass, asking for more as long as too few do."""
        limit = min(MOST_HITS, wanted)
        while True:
            hits = await self._core.recall(query, limit=limit, kinds=(ITEM_KIND,), data=asked.data, **self._where)
            best = sorted(hits, key=lambda hit: hit.score, reverse=True)
            found = [item for hit in best if passes((item := _item(hit.memory, hit.score)).value)]
            if len(found) >= wanted or len(hits) < limit or limit == MOST_HITS:
                return found[:wanted]
            limit = min(MOST_HITS, 4 * limit)

    async def _newest(self, asked: Filter) -> AsyncIterator[Memory]:
        records, now, last = self._core.parts.stores.records, self._core.parts.clock(), None
        while page := await records.find(asked, now=now, limit=_PAGE, after=last):
            for memory in page:
                yield memory
            last = page[-1].id

    def _asked(self, prefix: Namespace, data: Mapping[str, Json] | None = None) -> Filter:
        fields = {f"store.value.{name}": wanted for name, wanted in (data or {}).items()}
        return Filter(
            scope=self._core.scoped(self._where),
            reach="holds",
            kinds=(ITEM_KIND, UNREAD_KIND),
            data={f"store.under.{len(prefix)}": self._place(prefix), **fields},
        )

    def _place(self, prefix: Namespace) -> str:
        """A namespace of exactly this scope, as one word."""
        return digest(*self._names, *prefix)

    def _key(self, path: Path) -> str:
        namespace, key = path
        return f"{self._keys(namespace)}{digest(key)}"

    def _keys(self, namespace: Namespace) -> str:
        """What the keys of all items of a namespace begin with, and of no other."""
        return f"{_KEYS}{self._place(namespace)}:"

    def _told(self, put: Put, value: dict[str, Json]) -> Telling:
        namespace, key = put.path
        under: dict[str, Json] = {str(depth): self._place(namespace[:depth]) for depth in range(len(namespace) + 1)}
        kept: dict[str, Json] = {"namespace": list(namespace), "key": key, "value": value, "under": under}
        has_text = bool(put.text.strip())
        told: Telling = {
            "kind": ITEM_KIND if has_text else UNREAD_KIND,
            "key": self._key(put.path),
            "content": put.text if has_text else "/".join((*namespace, key)),
            "data": {"store": kept | ({"minutes": put.minutes} if put.minutes is not None else {})},
        }
        if put.minutes is not None:
            told["expires_at"] = self._core.parts.clock() + timedelta(minutes=put.minutes)
        return told


def _path(memory: Memory) -> Path:
    store = inner(memory.data, "store")
    return tuple(store["namespace"]), store["key"]


def _item(memory: Memory, score: float | None = None) -> Item:
    store: dict[str, Any] = inner(memory.data, "store")
    return Item(
        path=_path(memory),
        value=store["value"],
        created_at=memory.valid_from,
        updated_at=memory.created_at,
        minutes=store.get("minutes"),
        expires_at=memory.expires_at,
        id=memory.id,
        score=score,
    )


def _settled(draft: Memory, known: Known) -> Decision:
    """New, known, or in place of what its key had: an item that is changed holds since it was first stored."""
    if not known.same_key:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    old = known.same_key[-1]
    if old.expires_at is None and draft.expires_at is None and _says(draft) == _says(old):
        return Decision(outcome="unchanged", memory=old)
    is_over = old.expires_at is not None and old.expires_at <= draft.created_at
    new = draft if is_over else replace(draft, valid_from=min(old.valid_from, draft.valid_from))
    closes = tuple(one.closed(draft.created_at, because=REPLACED, by=draft.id) for one in known.same_key)
    return Decision(outcome="superseded", memory=new, closes=closes, opens=(new,))


def _says(memory: Memory) -> tuple[object, ...]:
    return memory.kind, memory.content, memory.data
