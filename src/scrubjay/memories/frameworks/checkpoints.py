"""Checkpoints of runs: the state of a thread after each step, and what its tasks wrote since. Kept byte for byte.

A thread is a workflow scope of its own. Of a state, only what a step changed is serialized and stored again.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Unpack

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.frameworks.values import BELIEVED, Packing, Typed, digest, files_in, inner, store, unpacked
from scrubjay.model import Filter, Json, Memory, Scope, Trust, Where, new_id, scope_of
from scrubjay.model.checks import check_name
from scrubjay.model.memory import CHECKPOINT_KIND, WRITE_KIND
from scrubjay.model.work import PINNED
from scrubjay.ports import SILENT, Decision, Known
from scrubjay.write.forget import purge
from scrubjay.write.reconcile import REPLACED

_BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Which checkpoint: of a thread, in a namespace of its (the empty one is the graph itself), with this id."""

    thread: str
    namespace: str = ""
    id: str

    def __post_init__(self) -> None:
        if self.thread is None:
            raise InvalidInput("thread_id is None: name the thread in config['configurable']")
        check_name("thread_id", self.thread)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a thread as it is to be kept."""

    spot: Spot
    parent: str | None
    """The id of the checkpoint that it follows, in the same namespace."""
    run: str | None
    says: str
    """What it is, for people who look at it."""
    checkpoint: Typed
    """All but the values of its channels."""
    metadata: Typed
    channels: Mapping[str, Any]
    versions: Mapping[str, Any]
    changed: Collection[str]
    """The channels that may have another value than in the parent under the same version."""
    dump: Callable[[Any], Typed] = field(repr=False)
    """How the value of a channel becomes bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a task wrote to a channel. A task has one write for each place; those below zero can be written again."""

    task: str
    path: str
    place: int
    channel: str
    value: Typed


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint as it is stored, with its values still packed."""

    memory: Memory

    @property
    def spot(self) -> Spot:
        """Which one it is."""
        data: dict[str, Any] = self.memory.data
        return Spot(thread=data["thread"], namespace=data["namespace"], id=data["id"])

    @property
    def parent(self) -> str | None:
        """The id of the one that it follows."""
        parent: Any = self.memory.data["parent"]
        return parent if isinstance(parent, str) else None

    @property
    def channels(self) -> dict[str, Any]:
        """What is kept of the value of each channel."""
        return inner(self.memory.data, "channels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A checkpoint with all its values."""

    saved: Saved
    checkpoint: Typed
    metadata: Typed
    channels: dict[str, Typed]
    writes: list[Write]
    """In the order in which they are applied: by path, task and place."""


class Checkpoints:
    """The threads of one scope."""

    def __init__(self, core: Core, **where: Unpack[Where]) -> None:
        if where.get("workflow") is not None:
            raise InvalidInput(f"workflow is {where['workflow']!r}: leave it out, each thread is a workflow of its own")
        self._core = core
        self._where = where
        self._scope = scope_of(core.tenant, where)

    async def put(self, state: State) -> None:
        """Keep this state, in place of what was kept under its id. Durable on return."""
        spot = state.spot
        previous = await self.get(replace(spot, id=state.parent)) if state.parent is not None else None
        try:
            await self._put(state, previous)
        except NotFound:
            # Its parent was deleted this very moment, with files that both would have held.
            await self._put(state, None)

    async def _put(self, state: State, previous: Saved | None) -> None:
        packing, known = Packing(), previous.channels if previous is not None else {}
        values = {"checkpoint": packing.add(state.checkpoint), "metadata": packing.add(state.metadata)}
        channels: dict[str, Json] = {}
        for name, value in state.channels.items():
            before, version = known.get(name), state.versions.get(name)
            if before is not None and name not in state.changed and before["version"] == version:
                packing.again(before)
                channels[name] = before
            else:
                channels[name] = {"version": version, **packing.add(state.dump(value))}
        data: dict[str, Json] = {
            **_place(state.spot),
            "parent": state.parent,
            "run": state.run,
            "channels": channels,
            **values,
        }
        draft = self._draft(CHECKPOINT_KIND, self._key(state.spot), state.says, data)
        await store(self._core.parts, [(draft, packing)], _settled)

    async def write(self, spot: Spot, writes: Sequence[Write]) -> None:
        """Keep what a task wrote after this checkpoint. What it wrote before to a place of zero or more stays."""
        drafts: list[tuple[Memory, Packing]] = []
        for one in writes:
            packing = Packing()
            said: dict[str, Json] = {"task": one.task, "path": one.path, "place": one.place, "channel": one.channel}
            data: dict[str, Json] = {**_place(spot), **said, "value": packing.add(one.value)}
            key = f"{self._key(spot)}:{digest(one.task)}:{one.place}"
            drafts.append((self._draft(WRITE_KIND, key, f"a write to {one.channel!r}", data), packing))
        await store(self._core.parts, drafts, _settled)

    async def get(self, spot: Spot) -> Saved | None:
        """Return the checkpoint of this id, or None."""
        asked = replace(self._asked(self._thread(spot.thread), CHECKPOINT_KIND), key=self._key(spot))
        found = await self._core.parts.stores.records.find(asked, now=self._core.parts.clock(), limit=1)
        return Saved(found[0]) if found else None

    async def latest(self, thread: str, namespace: str) -> Saved | None:
        """Return the checkpoint of the greatest id, or None."""
        asked = self._asked(self._thread(thread), CHECKPOINT_KIND, self._prefix(thread, namespace))
        records, now = self._core.parts.stores.records, self._core.parts.clock()
        # Nearly always the one that was stored last. Of two runs at once, the slower one may have stored an earlier id.
        found = await records.find(asked, now=now, limit=1)
        while found and (
            more := await records.find(replace(asked, data={"id": {"gt": found[0].data["id"]}}), now=now, limit=_BATCH)
        ):
            found = [max(more, key=lambda memory: str(memory.data["id"]))]
        return Saved(found[0]) if found else None

    async def find(
        self, thread: str | None = None, namespace: str | None = None, *, runs: Sequence[str] = ()
    ) -> list[Saved]:
        """Return the checkpoints of a thread or of all, of one namespace or of all, those of the greatest id first."""
        data: dict[str, Json] = {"run": list(runs)} if runs else {}
        if thread is None:
            asked = self._asked(self._core.scoped(self._where), CHECKPOINT_KIND)
        else:
            asked = self._asked(self._thread(thread), CHECKPOINT_KIND, self._prefix(thread, namespace))
        found = [Saved(memory) async for memory in self._scanned(replace(asked, data=data))]
        if namespace is not None:
            found = [saved for saved in found if saved.spot.namespace == namespace]
        return sorted(found, key=lambda saved: saved.spot.id, reverse=True)

    async def metadata(self, saved: Sequence[Saved]) -> list[Typed]:
        """Return the metadata of each."""
        said = [inner(one.memory.data, "metadata") for one in saved]
        files = await self._files(said)
        return [unpacked(one, files) for one in said]

    async def load(self, saved: Saved) -> Loaded:
        """Return it with all its values, and with what was written since."""
        data = saved.memory.data
        spot = saved.spot
        asked = self._asked(self._thread(spot.thread), WRITE_KIND, f"{self._key(spot)}:")
        wrote = [memory.data for memory in await self._written(asked)]
        own = {"checkpoint": inner(data, "checkpoint"), "metadata": inner(data, "metadata")}
        files = await self._files([*own.values(), *saved.channels.values(), *(inner(one, "value") for one in wrote)])
        return Loaded(
            saved=saved,
            checkpoint=unpacked(own["checkpoint"], files),
            metadata=unpacked(own["metadata"], files),
            channels={name: unpacked(one, files) for name, one in saved.channels.items()},
            writes=sorted((_write(one, files) for one in wrote), key=lambda one: (one.path, one.task, one.place)),
        )

    async def remove(self, saved: Sequence[Saved]) -> None:
        """Delete these for good, every version of them, and what was written after them."""
        threads: dict[str, set[str]] = {}
        for one in saved:
            threads.setdefault(one.spot.thread, set()).add(self._key(one.spot))
        for thread, keys in threads.items():
            await self._purge(thread, keys)

    async def remove_thread(self, thread: str) -> None:
        """Delete a thread for good: its checkpoints, their versions, and all that was written."""
        await self._purge(thread)

    async def copy(self, source: str, target: str) -> None:
        """Copy a whole thread: every checkpoint and all that was written. Files are shared, not stored again."""
        asked = replace(self._asked(self._thread(source), CHECKPOINT_KIND), kinds=(CHECKPOINT_KIND, WRITE_KIND))
        before, after = self._prefix(source), self._prefix(target)
        batch: list[tuple[Memory, Packing]] = []
        async for memory in self._scanned(replace(asked, key_prefix=before)):
            packing = Packing()
            for said in _said(memory):
                packing.again(said)
            key = f"{after}{(memory.key or '').removeprefix(before)}"
            data = {**memory.data, "thread": target}
            batch.append((self._draft(memory.kind, key, memory.content, data), packing))
        for start in range(0, len(batch), _BATCH):
            await store(self._core.parts, batch[start : start + _BATCH], _settled)

    # Reading and storing

    def _thread(self, thread: str) -> Scope:
        check_name("thread_id", thread)
        return self._core.scoped({**self._where, "workflow": thread})

    def _prefix(self, thread: str, namespace: str | None = None) -> str:
        """What the keys of a thread, or of one of its namespaces, begin with, in exactly this scope."""
        whole = f"run:{digest(*self._thread(thread).names())}:"
        return whole if namespace is None else f"{whole}{digest(namespace)}:"

    def _key(self, spot: Spot) -> str:
        return f"{self._prefix(spot.thread, spot.namespace)}{digest(spot.id)}"

    def _asked(self, scope: Scope, kind: str, prefix: str | None = None) -> Filter:
        return Filter(scope=scope, reach="holds", kinds=(kind,), key_prefix=prefix, as_of=BELIEVED)

    async def _scanned(self, asked: Filter) -> AsyncIterator[Memory]:
        """The memories that the filter admits, but for threads that lie in a narrower scope."""
        async for batch in self._core.parts.stores.records.scan(asked, now=self._core.parts.clock(), batch=_BATCH):
            for memory in batch:
                if replace(memory.scope, workflow=None) == self._scope:
                    yield memory

    async def _written(self, asked: Filter) -> list[Memory]:
        """What was written after one checkpoint: nearly always one page."""
        records, now, found = self._core.parts.stores.records, self._core.parts.clock(), list[Memory]()
        while True:
            last = found[-1].id if found else None
            page = await records.find(asked, now=now, limit=_BATCH, order="oldest", after=last)
            found += page
            if len(page) < _BATCH:
                return found

    async def _files(self, said: Sequence[Mapping[str, Json]]) -> dict[str, bytes]:
        hashes = [one for each in said for one in files_in(each)]
        return await self._core.parts.stores.blobs.get(self._scope, hashes) if hashes else {}

    def _draft(self, kind: str, key: str, says: str, data: dict[str, Json]) -> Memory:
        # Made here and not told: a redacted state would not be the state any more.
        now = self._core.parts.clock()
        return Memory(
            id=new_id(),
            kind=kind,
            content=says,
            key=key,
            data=data,
            importance=PINNED,
            trust=Trust.CONCLUDED,
            scope=self._thread(str(data["thread"])),
            created_at=now,
            valid_from=now,
            generation=SILENT,
        )

    async def _purge(self, thread: str, keys: Collection[str] | None = None) -> None:
        scope, parts = self._thread(thread), self._core.parts
        asked = Filter(
            scope=scope,
            reach="holds",
            kinds=(CHECKPOINT_KIND, WRITE_KIND),
            key_prefix=self._prefix(thread),
            history=True,
        )
        found = parts.stores.records.scan(asked, now=parts.clock(), batch=_BATCH)
        meant = [one async for batch in found for one in batch if keys is None or _checkpoint_key(one) in keys]
        if meant:
            stores, index, events, ids = parts.stores, parts.index, parts.events, [one.id for one in meant]
            await purge(scope, ids, stores=stores, index=index, events=events, at=parts.clock(), versions=False)


def _place(spot: Spot) -> dict[str, Json]:
    return {"thread": spot.thread, "namespace": spot.namespace, "id": spot.id}


def _checkpoint_key(memory: Memory) -> str:
    """The key of the checkpoint that it is, or that it was written after."""
    return ":".join((memory.key or "").split(":")[:4])


def _said(memory: Memory) -> list[dict[str, Any]]:
    """What the data says of every value."""
    if memory.kind == WRITE_KIND:
        return [inner(memory.data, "value")]
    channels = inner(memory.data, "channels").values()
    return [inner(memory.data, "checkpoint"), inner(memory.data, "metadata"), *channels]


def _write(data: Mapping[str, Any], files: Mapping[str, bytes]) -> Write:
    return Write(
        task=data["task"],
        path=data["path"],
        place=data["place"],
        channel=data["channel"],
        value=unpacked(data["value"], files),
    )


def _settled(draft: Memory, known: Known) -> Decision:
    """New, or in place of what its key had; but the first write to a place of zero or more stays."""
    if known.same_words is not None:
        return Decision(outcome="unchanged", memory=known.same_words)
    place = draft.data.get("place")
    if known.same_key and isinstance(place, int) and place >= 0:
        return Decision(outcome="unchanged", memory=known.same_key[-1])
    closes = tuple(one.closed(draft.created_at, because=REPLACED, by=draft.id) for one in known.same_key)
    return Decision(outcome="superseded" if closes else "stored", memory=draft, closes=closes, opens=(draft,))
