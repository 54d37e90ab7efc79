"""Look a whole memory over: its stores, and whether records, words and vectors agree. And put right what can be.

The records are the truth. A vector without a record is deleted, and so is a file that no memory holds; a memory that is
marked as indexed and has no vector is marked anew, so that the next draining makes it. All of it is safe to repeat, and
to run while others write. As long as a check of the store fails, nothing is deleted because of what the store says.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from scrubjay.errors import ScrubjayError, StoreDamaged, Unavailable
from scrubjay.jobs.answering import other_model
from scrubjay.model import Finding, Generation
from scrubjay.ports import Inspected, Listed, Stores, Vectors
from scrubjay.ports.mirror import Mirror, Mirrored
from scrubjay.write.index import Index

PAGE: Final = 500
"""Memories that are compared in one go."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done and how many there are in all."""


@dataclass(kw_only=True)
class Checkup:
    """Looks a memory over, in the order in which one thing needs the other."""

    stores: Stores
    index: Index
    inspected: Mapping[str, Inspected]
    fix: bool
    progress: Progress
    done: int = 0
    total: int = 0
    indexed: int = 0
    """Memories that have vectors in the generation that answers."""

    async def run(self) -> list[Finding]:
        """Everything that was found, what is well among it."""
        found = [finding async for finding in self._set_up()]
        found += [finding async for finding in self._integrity()]
        if self.index.embedder is None:
            return found
        try:
            found += [finding async for finding in self._vectors()]
        except StoreDamaged as error:
            remedy = "run `scrubjay reindex --rebuild`, which makes them again"
            found.append(Finding(about="vectors", said=f"they could not be looked at ({error})", remedy=remedy))
        except Unavailable as error:
            found.append(Finding(about="vectors", said="they could not be looked at", remedy=str(error)))
        return found + await self._indexing()

    async def _set_up(self) -> AsyncIterator[Finding]:
        for about, one in self.inspected.items():
            try:
                for finding in await one.inspect(fix=self.fix):
                    yield finding
            except ScrubjayError as error:
                yield Finding(about=about, said="it could not be looked at", remedy=str(error))

    async def _integrity(self) -> AsyncIterator[Finding]:
        faults = await self._faults()
        made = ""
        if self.fix and any("--words" in fault for fault in faults):
            indexed = await self.stores.texts.rebuild()
            made = f"words and indexes were made again, of {_memories(indexed)}"
            left = await self._faults()
            for fault in faults:
                if fault not in left:
                    yield Finding(about="words", said=fault.partition(": ")[0], fixed=made)
            faults = left
        for fault in faults:
            said, _, remedy = fault.partition(": ")
            yield Finding(about="store", said=said, remedy=remedy or "restore a backup, or export what can be read")
        if not faults:
            if not made:
                yield Finding(about="integrity", said="every check passed")
        elif self.fix:
            # By a damaged table or index, what is there may look as if it were gone.
            self.fix = False
            yield Finding(about="store", said="nothing is deleted or marked anew as long as a check of the store fails")

    async def _faults(self) -> list[str]:
        try:
            return await self.stores.records.check()
        except StoreDamaged as error:
            return [f"the store cannot be looked over: {error}"]

    # Records and vectors

    async def _vectors(self) -> AsyncIterator[Finding]:
        known = await self.stores.generations.generations()
        counts = {one.number: await self.stores.vectors.count(one.number) for one in known}
        self.indexed = sum(counts[one.number] for one in known if one.state == "active")
        # Each vector is looked at once from its side, and those of the generation that answers once from the records'.
        self.total = sum(counts.values()) + self.indexed
        if isinstance(self.stores.vectors, Mirrored):
            self.total += sum([await self.stores.vectors.mirror.count(one.number) for one in known])
        for generation in known:
            lacking = await self._lacking(generation.number)
            yield self._covered(generation, counts[generation.number], lacking)
            if isinstance(self.stores.vectors, Listed):
                orphans = await self._orphans(self.stores.vectors, generation.number)
                if orphans:
                    yield self._orphaned(generation, orphans)
            else:
                yield Finding(about="vectors", said="this engine cannot list what it holds: orphans are not looked for")
            if isinstance(self.stores.vectors, Mirrored):
                async for finding in self._mirror(self.stores.vectors.mirror, generation):
                    yield finding

    async def _mirror(self, mirror: Mirror, generation: Generation) -> AsyncIterator[Finding]:
        """What is wrong with the mirror alone: what is wrong with the engine too has been said."""
        about, number, lacking, after = f"mirror of generation {generation.number}", generation.number, 0, None
        while page := await self.stores.records.marked(number, limit=PAGE, after=after):
            missing = await mirror.missing(number, page)
            lacking += len(missing) - len(await self.stores.vectors.missing(number, missing) if missing else ())
            after = page[-1]
        if lacking:
            said = f"it lacks vectors of {_memories(lacking)}"
            yield Finding(about=about, said=said, remedy="run `scrubjay vectors mirror`, which copies them")
        if orphans := await self._orphans(mirror, number, elsewhere=self.stores.vectors):
            yield replace(self._orphaned(generation, orphans), about=about)

    async def _lacking(self, generation: int) -> int:
        """Count the memories that are marked with this generation but have no vectors. With `fix`, mark them anew."""
        lacking, after = 0, None
        while page := await self.stores.records.marked(generation, limit=PAGE, after=after):
            if missing := await self.stores.vectors.missing(generation, page):
                # Again, for one may have been purged or changed between the two looks.
                still = set(await self.stores.records.marked(generation, limit=PAGE, after=after))
                missing = [one for one in missing if one in still]
            if self.fix and missing:
                await self.stores.records.mark(missing, None)
            lacking += len(missing)
            self._step(len(page))
            after = page[-1]
        return lacking

    async def _orphans(self, vectors: Listed, generation: int, *, elsewhere: Vectors | None = None) -> int:
        """Count the vectors whose record is gone, but for those that are elsewhere too. With `fix`, delete them."""
        orphans, after = 0, None
        while page := await vectors.ids(generation, limit=PAGE, after=after):
            # A record is stored before its vectors, so one that is being written is no orphan.
            gone = await self.stores.records.missing(page)
            if self.fix and gone:
                await self.stores.vectors.remove(gone)
            orphans += len(gone if elsewhere is None else await elsewhere.missing(generation, gone) if gone else ())
            self._step(len(page))
            after = page[-1]
        return orphans

    def _covered(self, generation: Generation, count: int, lacking: int) -> Finding:
        about = f"generation {generation.number}"
        said = f"vectors of {_memories(count)}, {generation.state}"
        if not lacking:
            return Finding(about=about, said=said)
        said = f"{_memories(lacking)} marked as indexed, without vectors"
        if self.fix:
            return Finding(about=about, said=said, fixed="they are marked anew, and indexed with the next reindex")
        return Finding(about=about, said=said, remedy="run `scrubjay doctor --fix`, then `scrubjay reindex`")

    def _orphaned(self, generation: Generation, orphans: int) -> Finding:
        about = f"generation {generation.number}"
        said = f"vectors of {_memories(orphans)} without a record"
        if self.fix:
            return Finding(about=about, said=said, fixed="they were deleted")
        remedy = "run `scrubjay doctor --fix`, which deletes them; not when another installation shares this engine"
        return Finding(about=about, said=said, remedy=remedy)

    def _step(self, done: int) -> None:
        self.done += done
        self.progress(self.done, max(self.total, self.done))

    # What answers

    async def _indexing(self) -> list[Finding]:
        try:
            waiting = await self.index.backlog()
            if fault := await self.index.fault():
                said, _, remedy = fault.partition(": ")
                return [Finding(about="index", said=said, remedy=remedy)]
            serving = await self.index.serving()
        except Unavailable as error:
            return [Finding(about="index", said=type(error).__name__, remedy=str(error))]
        found = []
        if waiting:
            said = f"{_memories(waiting)} {'waits' if waiting == 1 else 'wait'} to be indexed by meaning"
            found.append(Finding(about="index", said=said, remedy="run `scrubjay reindex`"))
        else:
            found.append(Finding(about="index", said=f"{_memories(self.indexed)} indexed by meaning, none waits"))
        if (other := await other_model(self.index, self.stores.generations, serving)) is not None:
            found.append(other)
        return found


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
