"""Detail: a completion in full, held against the working tree as it is now."""

import asyncio
import os
from pathlib import Path
from stat import S_ISREG

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.workspace.files import hash_of
from scrubjay.model import Memory
from scrubjay.model.workspace import Completion, CompletionFile, is_inside
from scrubjay.model.workspace_answers import Artifact, CompletionDetail, FileDetail, FileState
from scrubjay.write.holding import files_of


async def detail_of(core: Core, memory: Memory) -> CompletionDetail:
    """The completion that a memory holds, with the texts of its files. Raises NotFound when it holds none."""
    try:
        completion = Completion.of(memory)
    except InvalidInput as error:
        raise NotFound(f"there is no completion {memory.id}: that memory is a {memory.kind}") from error
    hashes = [file.blob for file in completion.files if file.blob is not None]
    texts = await files_of(core.parts.stores.blobs, memory.scope, [memory.id], hashes)
    root = Path(completion.root or completion.repo)
    looked_up = _looked_up if core.caller.is_here else _not_looked_up
    states, artifact, zipped = await asyncio.to_thread(looked_up, root, completion)
    return CompletionDetail(
        id=memory.id,
        scope=memory.scope,
        completion=completion,
        files=tuple(
            FileDetail(
                file=file,
                text=texts[file.blob].decode() if file.blob is not None and file.blob in texts else None,
                state=state,
            )
            for file, state in zip(completion.files, states, strict=True)
        ),
        artifact=artifact,
        zip=zipped,
        redacted=memory.redacted,
        recorded_at=memory.created_at,
        state=memory.state(core.parts.clock()),
    )


def _looked_up(root: Path, completion: Completion) -> tuple[list[FileState], Artifact | None, Artifact | None]:
    """How the files stand, and where the artifacts are. Reads the disk."""
    # A working tree that was removed leaves the repository, which may have the same files.
    if not root.exists():
        root = Path(completion.repo)
    states = [state_of(root, file) for file in completion.files]
    return states, _artifact(root, completion.artifact), _artifact(root, completion.zip)


def _not_looked_up(root: Path, completion: Completion) -> tuple[list[FileState], Artifact | None, Artifact | None]:
    """What can be said without looking: whoever stored the completion chose the folder, which may be any."""
    states: list[FileState] = ["unknown" for _ in completion.files]
    return states, _named(root, completion.artifact), _named(root, completion.zip)


def state_of(root: Path, file: CompletionFile) -> FileState:
    """Whether the working tree still has this file, byte for byte."""
    if not is_inside(file.path):
        return "missing"
    place = root / file.path
    try:
        status = place.lstat()
        if not S_ISREG(status.st_mode):
            return "changed"
        # Another size is another content; only the same size has to be read.
        return "fresh" if status.st_size == file.size and hash_of(place) == file.hash else "changed"
    except OSError:
        return "missing"


def _artifact(root: Path, path: str | None) -> Artifact | None:
    if path is None:
        return None
    location = Path(os.path.normpath(root / path))
    return Artifact(path=path, location=str(location), exists=location.exists())


def _named(root: Path, path: str | None) -> Artifact | None:
    return Artifact(path=path, location=os.path.normpath(root / path), exists=None) if path is not None else None
