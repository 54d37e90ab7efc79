"""Filing: the files of an agent, taken by content and put back exactly, and what changed between two moments."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, cast
from uuid import UUID

from scrubjay.errors import Conflict, InvalidInput, NotFound, StoreDamaged
from scrubjay.memories.agents.file_lists import FileList, Listed, listed
from scrubjay.memories.agents.moving import first
from scrubjay.memories.agents.room import Named, Room
from scrubjay.memories.agents.snapshots_restoring import Placing
from scrubjay.memories.agents.snapshots_taking import IGNORED, MOST_FILES, Found, look, read
from scrubjay.model import Memory, Scope, Trust, new_id
from scrubjay.model.agent_files import (
    SNAPSHOT_KIND,
    FileChanges,
    RestoredFiles,
    Snapshot,
    WorkspaceFile,
    snapshot_key,
)
from scrubjay.model.agents import Cycle, cycle_key
from scrubjay.model.checks import check_whole
from scrubjay.model.scope import OfAgent
from scrubjay.model.work import PINNED
from scrubjay.ports import Blob
from scrubjay.ports.blobs import parts_owner
from scrubjay.write.holding import files_of, holding, undisturbed
from scrubjay.write.prepare import Telling, prepare
from scrubjay.write.redact import redacted

_Sized = TypeVar("_Sized", Found, WorkspaceFile)

MOST_LISTED: Final = 1_000
TRIES: Final = 5
"""How often a number is sought while others take snapshots of the same agent, and files are kept that others delete."""

_ROOM: Final = 16 * 1024 * 1024
"""Bytes of contents that are in memory at one time, or one file when it is larger."""

_SHOWN: Final = 2_000
"""Characters of paths in what a snapshot says."""


class Filing(Room):
    """Files: snapshots of an agent's folder."""

    async def snapshot(
        self, agent: Named, path: str | Path, *, ignore: Sequence[str] = IGNORED, **elsewhere: Unpack[OfAgent]
    ) -> Snapshot:
        """Keep the files below a folder as they are now, byte for byte; what was kept before is not kept twice.

        `ignore` are names or patterns that are left out. A symbolic link is kept as a link, and never followed. Unlike
        what agents tell, files are not searched for secrets: they are kept as they are.
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
        lists = self._lists(scope)
        async for memory in self._rows(scope, SNAPSHOT_KIND):
            found.append(await self._snapshot(memory, lists))
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
        not there yet appears with all of them. Files that the snapshot does not have are left alone. A link is made
        again when it points into the folder; `left_out` in the answer are the others. Raises NotFound.
        """
        scope = self._place(agent, elsewhere)
        await self._agent(scope)
        memory = await self._chosen_row(scope, snapshot)
        if memory is None:
            raise NotFound(f"agent {scope.agent} has no snapshot: take one first")
        said = await self._lists(scope).read(memory)
        chosen = Snapshot.of(memory, said.files)
        placing = Placing(to, chosen.files)
        try:
            # Undisturbed: who cleans up must not do so while a thread is still at work.
            await undisturbed(asyncio.to_thread(placing.begin))
            async for file, content in self._contents(scope, chosen, said.owners):
                await undisturbed(asyncio.to_thread(placing.stage, file, content))
            written, unchanged = await undisturbed(asyncio.to_thread(placing.place))
        finally:
            await undisturbed(asyncio.to_thread(placing.end))
        return RestoredFiles(
            snapshot=chosen, to=placing.target, written=written, unchanged=unchanged, left_out=placing.left_out
        )

    async def _contents(
        self, scope: Scope, snapshot: Snapshot, lists: Sequence[str]
    ) -> AsyncIterator[tuple[WorkspaceFile, bytes]]:
        """What each file holds that is no link, a few at a time."""
        blobs, owners = self._core.parts.stores.blobs, [parts_owner(scope.tenant, one) for one in lists]
        for some in _batches([file for file in snapshot.files if file.link is None]):
            kept = await files_of(blobs, scope, owners, [file.hash for file in some])
            for file in some:
                if file.hash not in kept:
                    raise StoreDamaged(f"{file.path} of snapshot {snapshot.number} is not kept any more")
                yield file, kept[file.hash]

    async def _chosen(self, scope: Scope, number: int | None) -> Snapshot | None:
        memory = await self._chosen_row(scope, number)
        return await self._snapshot(memory, self._lists(scope)) if memory is not None else None

    async def _chosen_row(self, scope: Scope, number: int | None) -> Memory | None:
        if number is None:
            return await self._newest_snapshot(scope)
        check_whole("snapshot", number, least=1, most=2**53)
        memory = await self._held(scope, snapshot_key(number))
        if memory is None or memory.kind != SNAPSHOT_KIND:
            raise NotFound(f"agent {scope.agent} has no snapshot {number}: `snapshots` lists those it has")
        return memory

    async def _before(self, scope: Scope, later: Snapshot | None) -> Snapshot | None:
        if later is None:
            return None
        async for memory in self._rows(scope, SNAPSHOT_KIND, after=later.id):
            return await self._snapshot(memory, self._lists(scope))
        return None

    async def _newest_snapshot(self, scope: Scope) -> Memory | None:
        async for memory in self._rows(scope, SNAPSHOT_KIND):
            return memory
        return None

    async def _keep(self, scope: Scope, found: Sequence[Found], newest: Memory | None) -> Snapshot:
        """Store the contents, and then the record that names them. Raises Conflict when the number is taken."""
        parts, last, said = self._core.parts, None, Listed()
        if newest is not None:
            said = await self._lists(scope).read(newest)
            last = Snapshot.of(newest, said.files)
        before = {file.path: file for file in said.files}
        files = tuple(_version(one, before.get(one.path), said.gone.get(one.path, 0)) for one in found)
        cycle = await self._newest(scope)
        made = Snapshot(
            id=new_id(),
            agent=scope.agent or "",
            number=last.number + 1 if last is not None else 1,
            cycle=Cycle.of(cycle).index if cycle is not None else None,
            files=files,
            at=parts.clock(),
        )
        changes = FileChanges.between(last, made)
        self._refuse_secrets([*changes.added, *(now for _, now in changes.changed)])
        paths = {file.path for file in files}
        gone = {path: version for path, version in said.gone.items() if path not in paths}
        gone |= {file.path: file.version for file in changes.removed}
        old = listed(said.files, said.gone) if newest is not None else None
        new = listed(files, _fitting(gone), old)
        draft = self._draft(scope, made, new.hash, changes)
        async with holding(parts.stores, scope, [draft.id]):
            await self._store(scope, draft.id, new, found, before)
            [done] = await undisturbed(parts.writer.write([draft], first))
        return Snapshot.of(done.memory, files)

    async def _store(
        self, scope: Scope, owner: UUID, new: FileList, found: Sequence[Found], before: Mapping[str, WorkspaceFile]
    ) -> None:
        """Let the record hold the list of its files, and with it all that it names. Who is there already stays so."""
        blobs = self._core.parts.stores.blobs
        for _ in range(TRIES):
            # It holds what is being stored until the list does, and nothing after that.
            meanwhile = new_id()
            try:
                await self._store_lists(scope, meanwhile, new, found, before)
                await blobs.hold(scope, owner, [new.hash])
            except NotFound:
                # Somebody let go of a part just now; or this took so long that it was taken for left behind.
                continue
            finally:
                await undisturbed(blobs.release(scope, [meanwhile]))
            return
        raise Conflict("somebody deletes files all the time while the snapshot is taken: take it again after that")

    async def _store_lists(
        self, scope: Scope, owner: UUID, new: FileList, found: Sequence[Found], before: Mapping[str, WorkspaceFile]
    ) -> None:
        """Store the lists that are not there, and the contents that these name."""
        blobs, lists = self._core.parts.stores.blobs, self._lists(scope)
        lacking: list[FileList] = []
        some = [new]
        while some:
            whole = await lists.whole(some)
            await blobs.hold(scope, owner, [one.hash for one in whole])
            there = {one.hash for one in whole}
            fresh = [one for one in some if one.hash not in there]
            lacking += fresh
            some = [inner for one in fresh for inner in one.below]
        by_hash = {one.hash: one for one in found if one.link is None}
        named = [name for one in lacking for name in one.files]
        missing = set(await blobs.missing(scope, named))
        await blobs.hold(scope, owner, [name for name in named if name not in missing])
        for batch in _batches([by_hash[name] for name in dict.fromkeys(named) if name in missing]):
            await blobs.keep(scope, owner, await asyncio.to_thread(_contents, batch, before))
        await blobs.keep(scope, owner, [one.blob for one in reversed(lacking)])

    def _refuse_secrets(self, files: Sequence[WorkspaceFile]) -> None:
        """Raise InvalidInput when a name or a link holds what looks like a secret: they are not redacted, but kept."""
        redactor = self._core.parts.redactor
        names = [[file.path, file.link] for file in files]
        if redactor is not None and redacted(redactor, {"data": names})[1]:
            raise InvalidInput("the path of a file holds what looks like a secret: rename the file, or ignore it")

    def _draft(self, scope: Scope, made: Snapshot, files: str, changes: FileChanges) -> Memory:
        telling: dict[str, Any] = {
            "id": made.id,
            "kind": SNAPSHOT_KIND,
            "key": snapshot_key(made.number),
            "content": _said(made, changes),
            "data": made.data(files),
            "trust": Trust.OBSERVED,
            "source": cycle_key(made.cycle) if made.cycle is not None else None,
            "importance": PINNED,
        }
        return prepare(cast("Telling", telling), scope, now=made.at, redactor=self._core.parts.redactor)


def _contents(files: Sequence[Found], before: Mapping[str, WorkspaceFile]) -> list[Blob]:
    """What the files hold, each as a version of what was at its path before. Reads the disk."""
    bases = {path: file.hash for path, file in before.items()}
    return [Blob(read(one), base=bases.get(one.path)) for one in files]


def _version(found: Found, before: WorkspaceFile | None, gone: int) -> WorkspaceFile:
    """The file as the snapshot has it: a new version of its path when its content is new there."""
    is_new = before is None or (found.hash, found.link) != (before.hash, before.link)
    version = (before.version if before is not None else gone) + is_new
    return WorkspaceFile(
        path=found.path,
        hash=found.hash,
        size=found.size,
        mime_type=found.mime_type,
        version=version,
        executable=found.executable,
        link=found.link,
    )


def _fitting(gone: Mapping[str, int]) -> dict[str, int]:
    """As many of these as are noted, those first that had most versions: one left out counts anew."""
    return dict(sorted(gone.items(), key=lambda one: (-one[1], one[0]))[:MOST_FILES])


def _said(made: Snapshot, changes: FileChanges) -> str:
    """What the record says, for people and for search by words: what it holds, and which files are new in it."""
    said = f"Snapshot {made.number} of agent {made.agent}: {len(made.files):,} files, {made.bytes:,} bytes"
    marked = [f"+ {file.path}" for file in changes.added]
    marked += [f"~ {now.path}" for _, now in changes.changed]
    marked += [f"- {file.path}" for file in changes.removed]
    listed, room = list[str](), _SHOWN
    for line in marked:
        room -= len(line) + 1
        if room < 0:
            listed.append("…")
            break
        listed.append(line)
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
