"""LangGraph's checkpointer on Scrubjay: every state of a thread, byte for byte, on the stores that it has already."""

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, Unpack

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from scrubjay.adapters.bridge import Bridge
from scrubjay.errors import InvalidInput
from scrubjay.memories.frameworks.checkpoints import Checkpoints, Loaded, Saved, Spot, State, Write
from scrubjay.memories.frameworks.values import Typed
from scrubjay.model import Where
from scrubjay.model.checks import shown
from scrubjay.model.query import MOST_VALUES
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay

Found: TypeAlias = list[Saved]  # `list` is a method below, and would hide the type there

_STRATEGIES: Final = ("keep_latest", "delete")


class ScrubjaySaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of LangGraph's threads in a Scrubjay memory. Every method has both forms.

    The scope is given once, as keywords: threads of another user, project, agent or session are other threads.
    """

    def __init__(
        self, jay: Scrubjay | SyncScrubjay, *, serde: SerializerProtocol | None = None, **where: Unpack[Where]
    ) -> None:
        super().__init__(serde=serde)
        self._bridge = Bridge(jay)
        self._checkpoints = Checkpoints(self._bridge.jay, **where)

    # Awaited

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, or else the latest of its thread; None when there is none."""
        return await self._bridge.awaited(partial(self._tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the latest first: of a thread or of all, those whose metadata has what the filter says."""
        for saved in await self._bridge.awaited(partial(self._found, config, filter, before, limit)):
            yield self._as_tuple(await self._bridge.awaited(partial(self._checkpoints.load, saved)))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint, and return the config that names it. Durable on return."""
        return await self._bridge.awaited(partial(self._put, config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after the checkpoint that the config names."""
        await self._bridge.awaited(partial(self._put_writes, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread for good."""
        await self._bridge.awaited(partial(self._checkpoints.remove_thread, str(thread_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete for good what these runs kept, in every thread."""
        await self._bridge.awaited(partial(self._delete_for_runs, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy every checkpoint of a thread, and all that was written, to another one."""
        await self._bridge.awaited(partial(self._checkpoints.copy, str(source_thread_id), str(target_thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete for good all but the latest checkpoint of each namespace (`keep_latest`), or everything (`delete`).

        What the latest one needs to rebuild its delta channels stays, too.
        """
        await self._bridge.awaited(partial(self._prune, thread_ids, strategy))

    # Without await

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `aget_tuple`."""
        return self._bridge.blocking(partial(self._tuple, config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See `alist`."""
        for saved in self._bridge.blocking(partial(self._found, config, filter, before, limit)):
            yield self._as_tuple(self._bridge.blocking(partial(self._checkpoints.load, saved)))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `aput`."""
        return self._bridge.blocking(partial(self._put, config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `aput_writes`."""
        self._bridge.blocking(partial(self._put_writes, config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """See `adelete_thread`."""
        self._bridge.blocking(partial(self._checkpoints.remove_thread, str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `adelete_for_runs`."""
        self._bridge.blocking(partial(self._delete_for_runs, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `acopy_thread`."""
        self._bridge.blocking(partial(self._checkpoints.copy, str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `aprune`."""
        self._bridge.blocking(partial(self._prune, thread_ids, strategy))

    # What both do

    async def _tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread, namespace = _thread(config), _namespace(config) or ""
        if named := get_checkpoint_id(config):
            saved = await self._checkpoints.get(Spot(thread=thread, namespace=namespace, id=named))
        else:
            saved = await self._checkpoints.latest(thread, namespace)
        return self._as_tuple(await self._checkpoints.load(saved)) if saved is not None else None

    async def _found(
        self,
        config: RunnableConfig | None,
        wanted: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Found:
        thread, namespace = (_thread(config), _namespace(config)) if config else (None, None)
        found = await self._checkpoints.find(thread, namespace)
        if config and (only := get_checkpoint_id(config)):
            found = [saved for saved in found if saved.spot.id == only]
        if before and (end := get_checkpoint_id(before)):
            found = [saved for saved in found if saved.spot.id < end]
        if wanted:
            known = [self._read(one) for one in await self._checkpoints.metadata(found)]
            found = [saved for saved, has in zip(found, known, strict=True) if _has(has, wanted)]
        return found if limit is None else found[: max(0, limit)]

    async def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, changed: ChannelVersions
    ) -> RunnableConfig:
        spot = Spot(thread=_thread(config), namespace=_namespace(config) or "", id=checkpoint["id"])
        kept: dict[str, Any] = dict(get_serializable_checkpoint_metadata(config, metadata))
        state: dict[str, Any] = {**checkpoint}
        channels = state.pop("channel_values")
        await self._checkpoints.put(
            State(
                spot=spot,
                parent=get_checkpoint_id(config),
                run=str(kept["run_id"]) if kept.get("run_id") is not None else None,
                says=f"step {kept.get('step', '?')} of thread {spot.thread}",
                checkpoint=self._written(state),
                metadata=self._written(kept),
                channels=channels,
                versions=checkpoint["channel_versions"],
                changed=changed.keys(),
                dump=self._written,
            )
        )
        return _config(spot)

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> None:
        spot = Spot(
            thread=_thread(config),
            namespace=_namespace(config) or "",
            id=config["configurable"]["checkpoint_id"],
        )
        told = [
            Write(
                task=task,
                path=path,
                place=WRITES_IDX_MAP.get(channel, place),
                channel=channel,
                value=self._written(value),
            )
            for place, (channel, value) in enumerate(writes)
        ]
        await self._checkpoints.write(spot, told)

    async def _delete_for_runs(self, run_ids: Sequence[str]) -> None:
        for start in range(0, len(run_ids), MOST_VALUES):
            runs = [str(one) for one in run_ids[start : start + MOST_VALUES]]
            await self._checkpoints.remove(await self._checkpoints.find(runs=runs))

    async def _prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        if strategy not in _STRATEGIES:
            raise InvalidInput(f"strategy is {shown(strategy)}: use one of {', '.join(_STRATEGIES)}")
        for thread in map(str, thread_ids):
            if strategy == "delete":
                await self._checkpoints.remove_thread(thread)
                continue
            found = await self._checkpoints.find(thread)
            needed = await self._needed(found)
            await self._checkpoints.remove([saved for saved in found if saved.spot not in needed])

    async def _needed(self, found: Sequence[Saved]) -> set[Spot]:
        """The latest checkpoint of each namespace, and those before it that hold the beginnings of delta channels."""
        needed: set[Spot] = set()
        by_id = {(saved.spot.namespace, saved.spot.id): saved for saved in found}
        latest = {saved.spot.namespace: saved for saved in reversed(found)}
        for metadata, saved in zip(
            await self._checkpoints.metadata(list(latest.values())), latest.values(), strict=True
        ):
            counted = self._read(metadata).get("counters_since_delta_snapshot") or {}
            missing, at = set(counted) - set(saved.channels), saved
            needed.add(at.spot)
            while missing and (before := by_id.get((at.spot.namespace, at.parent or ""))) is not None:
                needed.add(before.spot)
                missing -= set(before.channels)
                at = before
        return needed

    def _as_tuple(self, loaded: Loaded) -> CheckpointTuple:
        spot, parent = loaded.saved.spot, loaded.saved.parent
        channels = {name: self._read(one) for name, one in loaded.channels.items()}
        return CheckpointTuple(
            config=_config(spot),
            checkpoint={**self._read(loaded.checkpoint), "channel_values": channels},
            metadata=self._read(loaded.metadata),
            parent_config=_config(Spot(thread=spot.thread, namespace=spot.namespace, id=parent)) if parent else None,
            pending_writes=[(one.task, one.channel, self._read(one.value)) for one in loaded.writes],
        )

    def _written(self, value: Any) -> Typed:  # noqa: ANN401 -- a channel holds anything
        return Typed(*self.serde.dumps_typed(value))

    def _read(self, value: Typed) -> Any:  # noqa: ANN401 -- a channel holds anything
        return self.serde.loads_typed((value.type, value.content))


def _thread(config: RunnableConfig) -> str:
    thread = config["configurable"].get("thread_id")
    if thread is None:
        raise InvalidInput("config['configurable'] has no thread_id: name the thread that the state belongs to")
    return str(thread)


def _namespace(config: RunnableConfig) -> str | None:
    namespace: str | None = config["configurable"].get("checkpoint_ns")
    return namespace


def _config(spot: Spot) -> RunnableConfig:
    return {
        "configurable": {"thread_id": spot.thread, "checkpoint_ns": spot.namespace, "checkpoint_id": spot.id},
    }


def _has(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
