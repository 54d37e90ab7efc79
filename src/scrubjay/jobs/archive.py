"""Archive: what old episodes say moves from the records into compressed files, and can be put back.

A file is written under a name of its own, synced, read back and compared before a single record is touched. Its lines
are those of an export. Of an archived episode a hollow record stays: what it was made into still names it, and
forgetting it for good reaches the file too, the next time this step is taken.
"""

import asyncio
import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Final

from scrubjay.errors import InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.jobs.leasing import still_leased
from scrubjay.jobs.orders import MOST_PLANNED, Orders, Tally
from scrubjay.logs import logger
from scrubjay.model import Memory, Scope
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.portable import check_header, from_json, header, to_json
from scrubjay.model.work import StepDone
from scrubjay.write.announce import forgotten, imported

log = logger("jobs")

BATCH: Final = 1_000
"""Episodes in one file, at most."""

SUFFIX: Final = ".jsonl.gz"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A file of archived episodes."""

    file: Path
    episodes: int | None
    """None when the file is damaged."""
    bytes: int


async def archive(orders: Orders) -> StepDone:
    """Move old, distilled episodes into files, and take out of the files what was purged since."""
    tally, after, folder = Tally("archive", gone=orders.gone), orders.policy.archive_after, orders.archive
    if folder is None:
        return StepDone(step="archive", skipped="there is no folder for archives: set SCRUBJAY_ARCHIVE")
    if after is None and not await asyncio.to_thread(folder.is_dir):
        return StepDone(step="archive", skipped="no age is set")
    tenants = [orders.within.tenant] if orders.within is not None else await orders.works.upkeep.tenants()
    for tenant in tenants:
        if after is not None:
            await _archived(orders, orders.within or Scope(tenant=tenant), folder_of(folder, tenant), after, tally)
        if not orders.dry_run:
            await _cleaned(orders, tenant, folder_of(folder, tenant), tally)
    return tally.done("episodes")


async def _archived(orders: Orders, within: Scope, folder: Path, after: timedelta, tally: Tally) -> None:
    before = orders.parts.clock() - after
    limit = BATCH if not orders.dry_run else MOST_PLANNED
    while old := await orders.works.upkeep.aged(within=within, before=before, limit=limit):
        if orders.dry_run:
            for one in old:
                tally.plan_for(one, f"it happened before {before:%Y-%m-%d} and was not used since")
            return
        moved = await _moved(orders, folder, old)
        tally.add(episodes=moved, files=1)
        if len(old) < BATCH or not moved:
            return


async def _moved(orders: Orders, folder: Path, episodes: Sequence[Memory]) -> int:
    """Write one file, and hollow out the records when what is in it is what they say."""
    parts, at = orders.parts, orders.parts.clock()
    file = await asyncio.to_thread(written, folder, episodes)
    hollow = await orders.works.upkeep.hollow(
        episodes, at=at, because=f"{ARCHIVED}: {file.name}", says=f"(archived in {file.name})"
    )
    await parts.index.retire(hollow)
    await parts.events.publish(forgotten(hollow, at))
    log.info("episodes archived", file=str(file), episodes=len(hollow))
    return len(hollow)


async def restore(orders: Orders, file: Path, tenant: str) -> int:
    """Put back what the records of this file said; return how many were hollow. Safe to repeat.

    What was purged stays away. The episodes count as used now, so that they are not archived again at once.
    """
    parts, at = orders.parts, orders.parts.clock()
    memories = await asyncio.to_thread(read_whole, file, tenant)
    count = 0
    for start in range(0, len(memories), BATCH):
        some = memories[start : start + BATCH]
        full = await orders.works.upkeep.fill([replace(one, used_at=at) for one in some])
        await parts.index.renew(full)
        await parts.events.publish(imported(full, at))
        count += len(full)
    return count


async def _cleaned(orders: Orders, tenant: str, folder: Path, tally: Tally) -> None:
    """Take out of every file what no record stands for any more."""
    for file in await asyncio.to_thread(lambda: sorted(folder.glob(f"*{SUFFIX}"))):
        try:
            memories = await asyncio.to_thread(read_whole, file, tenant)
        except StoreDamaged as error:
            # It is as bad as it was, and no reason to leave the others alone.
            log.warning("archive cannot be read", file=str(file), error=str(error))
            tally.failed += 1
            continue
        gone = set(await orders.parts.stores.records.missing([memory.id for memory in memories]))
        if gone:
            # Who comes late would put what he read in the place of what was sealed anew since.
            await still_leased()
            kept = [memory for memory in memories if memory.id not in gone]
            await asyncio.to_thread(rewrite, file, kept)
            tally.add(purged=len(gone))


def folder_of(archive: Path, tenant: str) -> Path:
    """The folder of one tenant: its name where that can be one, and else a digest of it."""
    named = tenant if _PLAIN.fullmatch(tenant) else f"~{blake2b(tenant.encode(), digest_size=12).hexdigest()}"
    return archive / named


def archives(archive: Path, tenant: str) -> list[Archive]:
    """The files of one tenant, by name, which is by time."""
    found = sorted(folder_of(archive, tenant).glob(f"*{SUFFIX}"))
    return [Archive(file=file, episodes=_counted(file), bytes=file.stat().st_size) for file in found]


def _counted(file: Path) -> int | None:
    try:
        return sum(1 for _ in _lines(file)) - 1
    except StoreDamaged:
        return None


def written(folder: Path, episodes: Sequence[Memory]) -> Path:
    """Write these to a new file, durable, and compare what it says with what was to be written.

    The name follows from the content: the same episodes, written again after a crash, are the same file.
    """
    body = _body(episodes)
    digest = blake2b(body, digest_size=8).hexdigest()
    first, last = (min(one.valid_from for one in episodes), max(one.valid_from for one in episodes))
    file = folder / f"{first:%Y%m%d}-{last:%Y%m%d}-{digest}{SUFFIX}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(file, body)
    except OSError as error:
        raise StoreUnavailable(
            f"the archive {file} cannot be written: {error.strerror}. Make room, or set SCRUBJAY_ARCHIVE; "
            "nothing was taken out of the records"
        ) from error
    tenant = episodes[0].scope.tenant
    if list(read(file, tenant)) != [replace(one, generation=None) for one in episodes]:
        raise StoreDamaged(f"the archive {file} does not hold what was written: check the disk. No record was touched")
    return file


def read(file: Path, tenant: str) -> Iterator[Memory]:
    """The episodes in a file. Raises InvalidInput when there is none, and StoreDamaged when it cannot be read."""
    lines = _lines(file)
    check_header(next(lines, None))
    for line in lines:
        yield from_json(line, tenant)


def read_whole(file: Path, tenant: str) -> list[Memory]:
    """The same, all at once."""
    return list(read(file, tenant))


def _lines(file: Path) -> Iterator[dict[str, object]]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as text:
            for line in text:
                yield json.loads(line)
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no archive {file}: `scrubjay work archives` lists them") from error
    except (OSError, EOFError, ValueError) as error:
        raise StoreDamaged(
            f"the archive {file} is damaged: {error}. Restore it from a backup of that folder"
        ) from error


def rewrite(file: Path, memories: Sequence[Memory]) -> None:
    """Let a file hold these, whole or not at all; one that would hold nothing goes."""
    if memories:
        _put(file, _body(memories))
    else:
        file.unlink()


def _body(memories: Iterable[Memory]) -> bytes:
    lines = [header(), *(to_json(memory) for memory in memories)]
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    # No time of writing inside: the same episodes are the same bytes.
    return gzip.compress(text.encode(), mtime=0)


def _put(file: Path, body: bytes) -> None:
    """Whole or not at all, and on disk before anybody relies on it."""
    beside = file.with_name(f".{file.name}.{token_hex(8)}")
    with beside.open("wb") as opened:
        opened.write(body)
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def named(archive: Path, tenant: str, file: Path) -> Path:
    """The archive that somebody means: a path, or the name of a file in the tenant's folder."""
    if len(file.parts) > 1 or file.exists():
        return file
    return folder_of(archive, tenant) / file
