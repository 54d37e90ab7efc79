"""Filing: the files of an agent, taken by content and put back exactly, and what changed between two moments."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, cast
from uuid import UUID

from scrubjay.errors import Conflict, InvalidInput, NotFound, StoreDamaged
from scrubjay.memories.agents.moving import first
from scrubjay.memories.agents.room import Named, Room
from scrubjay.memories.agents.snapshots_restoring import Placing
from scrubjay.memories.agents.snapshots_taking import IGNORED, Found, look, read
from scrubjay.model import Json, Memory, Scope, Trust, new_id
from scrubjay.model.agent_files import (
    SNAPSHOT_KIND,
    FileChanges,
    RestoredFiles,
    Snapshot,
    WorkspaceFile,
    snapshot_key,
)
from scrubjay.model.agents import Cycle, cycle_key
from scrubjay.model.checks import DATA_LIMIT, check_whole
from scrubjay.model.scope import OfAgent
from scrubjay.model.work import PINNED
from scrubjay.ports import Blob
from scrubjay.write.holding import files_of, holding, undisturbed
from scrubjay.write.prepare import Telling, prepare

_Sized = TypeVar("_Sized", Found, WorkspaceFile)

MOST_LISTED: Final = 1_000
TRIES: Final = 5
"""How often a number is sought while others take snapshots of the same agent, and files are kept that others delete."""

_ROOM: Final = 16 * 1024 * 1024
"""Bytes of contents that are in memory at one time, or one file when it is larger."""

_SHOWN: Final = 2_000
"""Characters of paths in what a snapshot says."""

_GONE: Final = "gone"
"""Where the data of a snapshot has the paths that were there before, each with its last version."""

_SPARED: Final = 1_000
"""Characters of a record's data that are not given to paths that are gone."""


class Filing(Room):
    """Files: snapshots of an agent's folder."""

    async def snapshot(
        self, agent: Named, path: str | Path, *, ignore: Sequence[str] = IGNORED, **elsewhere: Unpack[OfAgent]
    ) -> Snapshot:
        """Keep the files below a folder as they are now, byte for byte; what was kept before is not kept twice.

        `ignore` are names or patterns that are left out. Links and other things that are no plain files are refused.
        Unlike what agents tell, files are not searched for secrets: they are kept as they are.
        """
        scope = self._place(agent, elsewhere)
        await self._agent(scope)
        found = await asyncio.to_thread(look, path, ignore)
        for _ in range(TRIES):
            newest = await self._newest_snapshot(scope)
            try:
                return await self._keep(scope, found, newest)
            except Conflict:
                # Somebody else may have taken this number meanwhile: then there is a newer one to go on from.
                later = await self._newest_snapshot(scope)
                if later is None or (newest is not None and later.id == newest.id):
                    raise
        raise Conflict(f"others take snapshots of agent {scope.agent} all the time: let one do it")

    async def snapshots(self, agent: Named, *, limit: int = 100, **elsewhere: Unpack[OfAgent]) -> "list[Snapshot]":
        """List the snapshots of an agent, newest first."""
        scope = self._place(agent, elsewhere)
        check_whole("limit", limit, least=1, most=MOST_LISTED)
        await self._agent(scope)
        found: list[Snapshot] = []
        async for memory in self._rows(scope, SNAPSHOT_KIND):
            found.append(Snapshot.of(memory))
            if len(found) == limit:
                break
        return found

    async def files(
        self, agent: Named, *, snapshot: int | None = None, **elsewhere: Unpack[OfAgent]
    ) -> tuple[WorkspaceFile, ...]:
        """Return the files of a snapshot, the newest unless you say which; none when there is none yet."""
        scope = self._place(agent, elsewhere)
        await self._agent(scope)
        found = await self._chosen(scope, snapshot)
        return found.files if found is not None else ()

    async def changes(
        self, agent: Named, *, before: int | None = None, after: int | None = None, **elsewhere: Unpack[OfAgent]
    ) -> FileChanges:
        """Say what is different in the files of snapshot `after` from those of `before`.

        Left out, `after` is the newest snapshot, and `before` the one that came before `after`. Raises NotFound.
        """
        scope = self._place(agent, elsewhere)
        await self._agent(scope)
        later = await self._chosen(scope, after)
        earlier = await self._chosen(scope, before) if before is not None else await self._before(scope, later)
        return FileChanges.between(earlier, later)

    async def restore(
        self, agent: Named, to: str | Path, *, snapshot: int | None = None, **elsewhere: Unpack[OfAgent]
    ) -> RestoredFiles:
        """Put the files of a snapshot, the newest unless you say which, below the folder `to`.

        Nothing is written outside of it: paths that lead out, and links in it, are refused. Every file is checked
        against its hash before the first one is put in place, and each appears whole or not at all; a folder that is
        not there yet appears with all of them. Files that the snapshot does not have are left alone. Raises NotFound.
        """
        scope = self._place(agent, elsewhere)
        await self._agent(scope)
        chosen = await self._chosen(scope, snapshot)
        if chosen is None:
            raise NotFound(f"agent {scope.agent} has no snapshot: take one first")
        placing = Placing(to, chosen.files)
        try:
            # Undisturbed: who cleans up must not do so while a thread is still at work.
            await undisturbed(asyncio.to_thread(placing.begin))
            async for file, content in self._contents(scope, chosen):
                await undisturbed(asyncio.to_thread(placing.stage, file, content))
            written, unchanged = await undisturbed(asyncio.to_thread(placing.place))
        finally:
            await undisturbed(asyncio.to_thread(placing.end))
        return RestoredFiles(snapshot=chosen, to=placing.target, written=written, unchanged=unchanged)

    async def _contents(self, scope: Scope, snapshot: Snapshot) -> AsyncIterator[tuple[WorkspaceFile, bytes]]:
        """What each file holds, a few at a time."""
        blobs = self._core.parts.stores.blobs
        for some in _batches(snapshot.files):
            kept = await files_of(blobs, scope, [snapshot.id], [file.hash for file in some])
            for file in some:
                if file.hash not in kept:
                    raise StoreDamaged(f"{file.path} of snapshot {snapshot.number} is not kept any more")
                yield file, kept[file.hash]

    async def _chosen(self, scope: Scope, number: int | None) -> Snapshot | None:
        if number is None:
            newest = await self._newest_snapshot(scope)
            return Snapshot.of(newest) if newest is not None else None
        check_whole("snapshot", number, least=1, most=2**53)
        memory = await self._held(scope, snapshot_key(number))
        if memory is None or memory.kind != SNAPSHOT_KIND:
            raise NotFound(f"agent {scope.agent} has no snapshot {number}: `snapshots` lists those it has")
        return Snapshot.of(memory)

    async def _before(self, scope: Scope, later: Snapshot | None) -> Snapshot | None:
        if later is None:
            return None
        async for memory in self._rows(scope, SNAPSHOT_KIND, after=later.id):
            return Snapshot.of(memory)
        return None

    async def _newest_snapshot(self, scope: Scope) -> Memory | None:
        async for memory in self._rows(scope, SNAPSHOT_KIND):
            return memory
        return None

    async def _keep(self, scope: Scope, found: Sequence[Found], newest: Memory | None) -> Snapshot:
        """Store the contents, and then the record that names them. Raises Conflict when the number is taken."""
        parts, last = self._core.parts, Snapshot.of(newest) if newest is not None else None
        gone = _gone(newest)
        before = {file.path: file for file in last.files} if last is not None else {}
        files = tuple(_version(one, before.get(one.path), gone.get(one.path, 0)) for one in found)
        cycle = await self._newest(scope)
        made = Snapshot(
            id=new_id(),
            agent=scope.agent or "",
            number=last.number + 1 if last is not None else 1,
            cycle=Cycle.of(cycle).index if cycle is not None else None,
            files=files,
            at=parts.clock(),
        )
        paths = {file.path for file in files}
        gone = {path: version for path, version in gone.items() if path not in paths}
        gone |= {path: file.version for path, file in before.items() if path not in paths}
        draft = self._draft(scope, made, _fitting(gone, made))
        async with holding(parts.stores, scope, [draft.id]):
            await self._store(scope, draft.id, found, before)
            [done] = await undisturbed(parts.writer.write([draft], first))
        return Snapshot.of(done.memory)

    async def _store(
        self, scope: Scope, owner: UUID, found: Sequence[Found], before: Mapping[str, WorkspaceFile]
    ) -> None:
        """Let the record hold every content: those that are there already, and the others, read once more."""
        blobs = self._core.parts.stores.blobs
        by_hash = {one.hash: one for one in found}
        lacking = by_hash
        for _ in range(TRIES):
            missing = set(await blobs.missing(scope, list(lacking)))
            try:
                await blobs.hold(scope, owner, [one for one in lacking if one not in missing])
            except NotFound:
                missing = set(lacking)  # The last one who held it let it go just now.
            for some in _batches([one for one in lacking.values() if one.hash in missing]):
                await blobs.keep(scope, owner, await asyncio.to_thread(_contents, some, before))
            # When this takes long, whoever tidies up takes files that no record holds yet for left behind.
            held = set((await blobs.held(scope, [owner])).get(owner, ()))
            lacking = {name: one for name, one in by_hash.items() if name not in held}
            if not lacking:
                return
        raise Conflict("somebody deletes files all the time while the snapshot is taken: take it again after that")

    def _draft(self, scope: Scope, made: Snapshot, gone: dict[str, int]) -> Memory:
        data: dict[str, Json] = {**made.data, **({_GONE: cast("Json", gone)} if gone else {})}
        telling: dict[str, Any] = {
            "id": made.id,
            "kind": SNAPSHOT_KIND,
            "key": snapshot_key(made.number),
            "content": _said(made),
            "data": data,
            "trust": Trust.OBSERVED,
            "source": cycle_key(made.cycle) if made.cycle is not None else None,
            "importance": PINNED,
        }
        draft = prepare(cast("Telling", telling), scope, now=made.at, redactor=self._core.parts.redactor)
        if draft.data != data:
            raise InvalidInput("the path of a file holds what looks like a secret: rename the file, or ignore it")
        return draft


def _contents(files: Sequence[Found], before: Mapping[str, WorkspaceFile]) -> list[Blob]:
    """What the files hold, each as a version of what was at its path before. Reads the disk."""
    bases = {path: file.hash for path, file in before.items()}
    return [Blob(read(one), base=bases.get(one.path)) for one in files]


def _version(found: Found, before: WorkspaceFile | None, gone: int) -> WorkspaceFile:
    """The file as the snapshot has it: a new version of its path when its content is new there."""
    version = before.version + (found.hash != before.hash) if before is not None else gone + 1
    return WorkspaceFile(
        path=found.path,
        hash=found.hash,
        size=found.size,
        mime_type=found.mime_type,
        version=version,
        executable=found.executable,
    )


def _gone(newest: Memory | None) -> dict[str, int]:
    kept = newest.data.get(_GONE) if newest is not None else None
    return (
        {path: version for path, version in kept.items() if isinstance(version, int)} if isinstance(kept, dict) else {}
    )


def _fitting(gone: Mapping[str, int], made: Snapshot) -> dict[str, int]:
    """As many of these as a record has room for, those first that had most versions: one left out counts anew."""
    room, fitting = DATA_LIMIT - _SPARED - len(json.dumps(made.data)), dict[str, int]()
    for path, version in sorted(gone.items(), key=lambda one: (-one[1], one[0])):
        room -= len(json.dumps({path: version}))
        if room < 0:
            break
        fitting[path] = version
    return fitting


def _said(made: Snapshot) -> str:
    """What the record says, for people and for search by words."""
    said = f"Snapshot {made.number} of agent {made.agent}: {len(made.files):,} files, {made.bytes:,} bytes"
    listed, room = list[str](), _SHOWN
    for file in made.files:
        room -= len(file.path) + 1
        if room < 0:
            listed.append("…")
            break
        listed.append(file.path)
    return "\n".join([said, *listed])


def _batches(files: Sequence[_Sized]) -> Iterator[list[_Sized]]:
    """These in their order, as many at a time as fit into memory."""
    some: list[_Sized] = []
    for file in files:
        if some and sum(one.size for one in some) + file.size > _ROOM:
            yield some
            some = []
        some.append(file)
    if some:
        yield some
