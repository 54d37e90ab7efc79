"""The larger turns that a life takes: files are read in, sessions end, jobs run, models and keys change."""

import asyncio
import copy
import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from life_places import in_memory
from life_steps import PLACES, Moody
from quick_ways import NEVER

from scrubjay.backends.sql.mark import accept
from scrubjay.errors import ScrubjayError
from scrubjay.model import Scope
from scrubjay.ports import Blob
from scrubjay.write import transfer

SESSIONS = [place for place in PLACES if "session" in place]


class Turns:
    """What can happen to a life beside its steps."""

    # Files

    async def _import(self):
        """Something is told elsewhere and exported, or exported here; and told here, or again."""
        await self._taken(await self._file())

    async def _file(self):
        """The import of a file, whose lines stand in any order, and of which some may be missing."""
        tenant, source = self.steps.tenant(), self.chance.choice([self.elsewhere, self.elsewhere, self.reference])
        if source is self.elsewhere:
            step = self.steps.remember_many(tenant, ())
            self.ids.begin(NEVER + step.number)
            await step.taken_by(source)
        lines = [line async for line in source.for_tenant(tenant).export()]
        head = [line for line in lines if '"id"' not in line]
        rest = self.chance.sample([line for line in lines if '"id"' in line], len(lines) - len(head))
        rest = rest[: self.chance.choice([1, 10, len(rest)])]
        return self.steps.made(tenant, "import", lines=[*head, *rest], mend=self.chance.random() < 0.5)

    async def _import_cut_short(self):
        """A file is read in, and whoever waits for it gives up. Read in again, it is as if nothing had been."""
        step, name = await self._file(), self.chance.choice(list(self.sides))
        left, delay = self.chance.randint(0, 3), self.chance.choice([None, self.chance.uniform(0, 0.05)])
        batches = iter(range(left))

        def progress(_):
            if delay is None and next(batches, None) is None:
                importing.cancel()

        jay = self.sides[name].for_tenant(step.tenant)
        importing = asyncio.ensure_future(
            jay.import_lines(step.told["lines"], mend=step.told["mend"], progress=progress)
        )
        if delay is not None:
            await asyncio.sleep(delay)
            importing.cancel()
        with suppress(ScrubjayError, asyncio.CancelledError):
            await importing
        self.log.append(f"{name}, {step}, cut short after {left if delay is None else delay}, {transfer.BATCH} at once")
        assert [fault for fault in await jay.check() if "wait to be indexed" not in fault] == []
        await self._repeated(step)

    async def _repeated(self, step):
        """Have an import done that may have been done in part. How much of it is new depends on that."""
        name = self.chance.choice(list(self.sides))
        ours, theirs = [await self._answer(step, jay) for jay in (self.sides[name], self.reference)]
        self.log.append(f"{name}, again, {step}")
        assert isinstance(ours, type) == isinstance(theirs, type), f"{step}: {ours} instead of {theirs}"
        await self._compare_records()

    # Jobs

    async def _talk(self):
        """Something is said in a session, which ends and becomes episodes, and what these amount to."""
        tenant, place = self.steps.tenant(), self.chance.choice(SESSIONS)
        await self._taken(self.steps.say(tenant, place))
        await self._taken(self.steps.consolidate(tenant, ["drain", "distill"], place))
        if self.chance.random() < 0.4:
            await self._ask()
            self.clock.advance(timedelta(seconds=1))
            rules = {"archive_after": timedelta(microseconds=1)}
            await self._taken(self.steps.consolidate(tenant, ["archive"], place, **rules))

    async def _consolidate(self):
        """What the jobs do that nobody asks for: they close what is over, let fade, archive and prune."""
        days = self.chance.choice([1, 3])
        rules = {
            "half_life": timedelta(days=self.chance.choice([1, 90])),
            "archive_after": self.chance.choice([None, timedelta(hours=self.chance.choice([1, 40]))]),
            "prune_after": self.chance.choice([None, timedelta(days=days)]),
            "prune_below": self.chance.choice([0.2, 0.6]),
            "most_memories": self.chance.choice([None, None, 20]),
        }
        step = self.chance.choice(["expire", "decay", "archive", "prune"])
        await self._taken(self.steps.consolidate(self.steps.tenant(), [step], {}, **rules))

    async def _restore(self):
        """What was archived comes back."""
        await self._taken(self.steps.made(self.steps.tenant(), "restore", many=self.chance.choice([1, 9])))

    # Files that are kept, and what is left of purged memories

    async def _keep_files(self):
        """Versions of a file are kept, each as what is different from the one before, and some are let go."""
        tenant = self.steps.tenant()
        lines = [self.steps.text() for _ in range(self.chance.choice([1, 30]))]
        base, contents = None, []
        for number in range(self.chance.choice([1, 4, 10])):
            if number:
                at = self.chance.randrange(len(lines))
                lines[at : at + self.chance.choice([0, 1, 3])] = [self.steps.text() for _ in range(2)]
            blob = Blob("\n".join(lines).encode(), base=base)
            base, contents = blob.hash, [*contents, blob]
            self.owners.setdefault(tenant, []).append(UUID(int=self.chance.getrandbits(128)))
            await self._taken(self.steps.made(tenant, "keep", owner=self.owners[tenant][-1], blobs=[blob]))
        gone = self.chance.sample(self.owners[tenant], self.chance.randint(0, len(self.owners[tenant])))
        await self._taken(self.steps.made(tenant, "release", owners=gone))
        self.owners[tenant] = [one for one in self.owners[tenant] if one not in gone]
        scope = Scope(tenant=tenant)
        for jay in self.sides.values():
            ours, theirs = [
                await one.parts.stores.blobs.get(scope, [blob.hash for blob in contents])
                for one in (jay, self.reference)
            ]
            assert ours == theirs

    async def _release_files(self):
        for tenant, owners in self.owners.items():
            await self._taken(self.steps.made(tenant, "release", owners=owners))

    async def _purge_while_embedding(self):
        """Somebody is embedding what is purged, and stores its vectors afterwards; another purge is cut short."""
        tenant = self.steps.tenant()
        known, stores = self._known()[tenant], self.sides["one"].parts.stores
        if len(known) < 2 or self.embedder.down:
            return
        gone, stays = self.chance.sample(known, 2)
        number, now = self.truth.generation, self.clock.now
        late = await stores.vectors.entries(number, [gone.id])
        lacking = await stores.vectors.missing(number, [stays.id])
        await self._taken(self.steps.made(tenant, "forget", id=[gone.id], purge=True))
        assert await stores.vectors.traces([gone.id]) == 0
        if late:
            await stores.vectors.upsert(number, late)
        await stores.generations.leave([stays.id], at=now, due=now)
        await self.sides["two"].reindex()
        self.clock.advance(timedelta(minutes=11))
        await self.sides["two"].reindex()
        self.log.append(f"{gone.id} was embedded late, the purge of {stays.id} was cut short")
        assert await stores.vectors.traces([gone.id]) == 0, "vectors of what was purged came back"
        # What was made from the one that is purged goes with it.
        if await stores.records.get(Scope(tenant=tenant), [stays.id]):
            assert await stores.vectors.missing(number, [stays.id]) in ([], lacking), "what is there lost its vectors"
        await self.reference.reindex()

    # An older state

    async def _set_aside(self):
        """Copy the file, as a backup does, and the reference with it."""
        self.log.append("the file is copied")
        with closing(sqlite3.connect(self._path)) as here, closing(sqlite3.connect(self.folder / "aside")) as there:
            here.backup(there)
        parts = self.reference.parts
        made_of = copy.deepcopy((parts.stores, parts.works, parts.working))
        self.aside = (len(self.models), made_of, {tenant: [*owners] for tenant, owners in self.owners.items()})

    async def _put_back(self):
        """What was copied is written into the file, while everybody has it open."""
        if self.aside is None or self.aside[0] != len(self.models):
            return await self._set_aside()
        self.log.append("the copy is put back")
        with closing(sqlite3.connect(self.folder / "aside")) as there, closing(sqlite3.connect(self._path)) as here:
            there.backup(here)
        accept(Path(self._path))
        _, made_of, owners = copy.deepcopy(self.aside)
        self.owners = owners
        archive = self.reference.parts.archive
        self.reference = await in_memory(self.embedder, self.clock, archive, made_of=made_of).start()
        return None

    @property
    def _path(self):
        return self.place.url.removeprefix("sqlite:///")

    # Models

    async def _change_model(self):
        """One side is opened with another model, and the other one goes on with the old one until it is built."""
        before = self.embedder
        self.embedder = Moody(
            dimensions=self.chance.choice([8, 16, 64]),
            window=self.chance.choice([6, 256]),
            version=str(len(self.models) + 1),
        )
        self.embedder.down = before.down
        self.models.insert(0, self.embedder)
        self.log.append(f"one gets another model: {self.embedder.made_of}")
        await self._open_again("one")
        await self._open_again("two", embedder=before)
        await self._open_plain()
        for _ in range(self.chance.choice([0, 2])):
            await self._step()
            await self._ask()
        self._set_down(False)
        await self.sides["one"].reindex()
        if self.chance.random() < 0.3:
            await self.sides["one"].sweep()
        self.log.append("it is built, and answers")
        await self._ask()
        await self._open_again("two")
        await self.reference.reindex()

    def _set_down(self, is_down):
        """Let all models be down, or up."""
        for model in self.models:
            model.down = is_down

    async def _open_again(self, name, **options):
        await self.sides[name].close()
        self.sides[name] = await self._side(**options).start()

    async def _open_plain(self):
        await self.plain.close()
        self.plain = await self._plain().start()

    # Keys

    async def _encrypt_everything(self):
        """What is told from now on is encrypted; what was told before stays as it is until somebody rotates."""
        self.place.encrypt = "all"
        self.log.append("everything is encrypted from now on")
        await self._open_everything()

    async def _rotate(self):
        """Keys change while others ask and tell."""
        if self.chance.random() < 0.4:
            self.place.add_key()
            self.log.append("another master key")
            await self._open_everything()
        options = {"data_keys": self.chance.random() < 0.5, "rows": self.chance.random() < 0.7}
        self.log.append(f"one rotates {options}")
        rotating = asyncio.ensure_future(self.sides["one"].encryption.rotate(**options))
        try:
            for _ in range(self.chance.choice([0, 2])):
                await self._step()
        finally:
            done = await rotating
        assert done.unread == (), done
        if options["rows"]:
            done = await self.sides["two"].encryption.rotate(rows=True)
            assert (done.left, done.unread) == ({}, ()), done

    async def _open_everything(self):
        for name in list(self.sides):
            await self._open_again(name)
        await self._open_plain()
