"""A random life of one store: what is told, changed and forgotten from several sides, and what is asked meanwhile."""

import asyncio
import os
import pickle
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from life_places import Place, in_memory
from life_steps import KEYS, KINDS, PLACES, WORDS, Ids, Moody, Steps
from life_turns import Turns
from oracle import ROUNDED, TrueTexts, TrueVectors, Truth, difference, otherwise, unlike
from quick_ways import FEW, NEVER, SMALL, drawn
from sqlalchemy import text

from scrubjay.backends.encryption import rotation, vault
from scrubjay.backends.sql import shelf, texts_sqlite
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.errors import ScrubjayError
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Scope
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.words import terms_of, words_of, words_of_memory
from scrubjay.read import recall as reading
from scrubjay.testing import Ticking
from scrubjay.testing.values import DAY
from scrubjay.write import index as indexing
from scrubjay.write import prepare, remember, transfer

TENANTS = ("default", "acme")
HASTY = [
    (indexing, "_FRESH_SECONDS", 0.0),
    (vault, "FRESH_SECONDS", 0.0),
    (rotation, "FRESH_SECONDS", 0.0),
    (rotation, "ARRIVAL_SECONDS", 0.001),
]
"""For how long a process goes by what it knows: no longer than until the next step."""

CONDITIONS = [{"n": 1}, {"n": {"gte": 1}}, {"n": {"exists": True}}, {"deep.er": "x"}, {"n": {"ne": 1}}]


class HeldTexts(SqlTexts):
    """Search by words that can be waited for until it is made in memory."""

    def held(self, terms, filter, now, limit):
        """What is found in memory; None when the index on disk has to be asked. To be awaited."""
        self._furnish()
        self._furnish()
        return self._database.read(lambda connection: self._shelf.match(connection, terms, filter, now, limit))

    async def settle(self, filter, now):
        """Ask until there is a book with all that was told; False when there is no room for one."""
        while await self.held(["word"], filter, now, 1) is None:
            if self._shelf._tenant(filter.scope.tenant).refused_until > time.monotonic():
                return False
            await asyncio.sleep(0.0005)
        return True


class Life(Turns):
    """One store, what happens to it, and what has to be found in it at any time."""

    def __init__(self, seed, folder, patch, *, writer=None, place=None):
        self.seed = seed
        self.chance = chance = Random(seed)
        self.clock = Ticking()
        self.ids = Ids()
        self.tenants = TENANTS if chance.random() < 0.5 else TENANTS[:1]
        self.steps = Steps(chance, self.clock, self.tenants)
        self.embedder = Moody(dimensions=chance.choice([8, 16, 64]), window=chance.choice([6, 256]))
        self.is_exact = chance.random() < 0.6
        """Whether signs are left alone: of very many vectors, they may miss some of the nearest."""
        self.folder = folder
        self.writer = writer
        self.place = place or Place(f"sqlite:///{folder}/life.db")
        self.place.archive = folder / "archive"
        if chance.random() < 0.4:
            self.place.add_key()
            self.place.encrypt = chance.choice(["none", "all"])
            self.place.search = chance.choice(["none", "meaning", "words"])
        self.models = [self.embedder]
        """Those that there were, the newest first."""
        self.sides = {}
        self.owners, self.aside = {}, None
        self.log = [f"seed {seed}: {self.place}, {', '.join(self.tenants)}, {self.embedder.made_of}"]
        for module, name, value in (*drawn(chance, is_exact=self.is_exact), *HASTY):
            patch(module, name, value)
            self.log[0] += f", {module.__name__.rpartition('.')[2]}.{name} {value}"
        patch(transfer, "BATCH", chance.choice([1, 5, 1_000]))
        patch(remember, "new_ids", self.ids.many)
        patch(prepare, "new_id", self.ids.one)

    async def __aenter__(self):
        archive = self.folder / "archive of the reference"
        self.reference = await in_memory(self.embedder, self.clock, archive).start()
        self.elsewhere = await in_memory(self.embedder, self.clock).start()
        for name in ("one", "two"):
            self.sides[name] = await self._side().start()
        self.plain = await self._plain().start()
        await self._look()
        return self

    async def __aexit__(self, *_):
        for jay in (*self.sides.values(), self.plain, self.reference, self.elsewhere):
            await jay.close()

    def _side(self, *, embedder=None):
        """One process more on the same stores, or as good as one."""
        joint, together = self.chance.random() < 0.8, self.chance.random() < 0.8
        texts = HeldTexts if self.place.is_file else SqlTexts
        return self.place.opened(
            embedder or self.embedder, self.clock, models=self.models, texts=texts, joint=joint, together=together
        )

    def _plain(self):
        """One that takes no quick way of ours. How a server ranks is its own affair."""
        texts = TrueTexts if self.place.is_file else SqlTexts
        around = TrueVectors if self.place.engine == "embedded" else lambda engine: engine
        return self.place.opened(self.embedder, self.clock, models=self.models, texts=texts, around=around)

    # What happens

    async def live(self, steps):
        """Let so many things happen, and ask after each."""
        try:
            for number in range(steps):
                await self._happen()
                await self._ask()
                if number % 10 == 9:
                    await self._compare_records()
            await self._end()
        except Exception as error:
            error.add_note("\n".join(self.log))
            raise

    async def _happen(self):
        is_file, has_keys = self.place.is_file, bool(self.place.keys)
        things = {
            self._step: 22,
            self._race: 3 if is_file else 0,
            self._import: 1.5,
            self._import_cut_short: 1,
            self._reindex: 0.7,
            self._reopen: 0.7,
            self._trim: 0.3 if is_file else 0,
            self._pass_time: 4,
            self._sulk: 0.5,
            self._talk: 1.5,
            self._consolidate: 1.5,
            self._restore: 0.5,
            self._keep_files: 0.7,
            self._purge_while_embedding: 0.7,
            self._put_back: 1 if is_file and not has_keys else 0,
            self._change_model: 0.6,
            self._encrypt_everything: 2 if has_keys and self.place.encrypt == "none" else 0,
            self._rotate: 2.5 if has_keys else 0,
            self._kill: 2 if self.writer else 0,
        }
        [thing] = self.chance.choices(list(things), list(things.values()))
        await thing()

    def _known(self):
        """The memories there are, by tenant."""
        known = sorted(self.reference.parts.stores.records._memories.values(), key=lambda one: one.id)
        return {tenant: [one for one in known if one.scope.tenant == tenant] for tenant in self.tenants}

    async def _step(self):
        await self._taken(self.steps.next(self._known()))

    async def _taken(self, step):
        """Have a step taken by one side and by the reference; both have to say the same."""
        name = self.chance.choice(list(self.sides))
        self.log.append(f"{name}, {step}")
        ours, theirs = [await self._answer(step, jay) for jay in (self.sides[name], self.reference)]
        assert ours == theirs, f"{step}: {otherwise(ours, theirs)}"

    async def _answer(self, step, jay):
        self.ids.begin(step.number)
        try:
            answer = await step.taken_by(jay)
        except ScrubjayError as error:
            return type(error)
        if step.verb not in ("remember", "remember_many", "update"):
            return answer
        return [(one.outcome, one.replaced, as_told(one.memory)) for one in answer]

    async def _reindex(self):
        options = self.chance.choice([{"words": True}, {}, {"rebuild": True}])
        if self.embedder.down and self.place.encrypt == "all":
            # Of what is encrypted there may be no vectors to make again, and then nobody asks the model.
            options = {"words": True}
        await self._taken(self.steps.made("default", "reindex", **options))

    async def _reopen(self):
        name = self.chance.choice(list(self.sides))
        self.log.append(f"{name} is closed and opened")
        await self._open_again(name)

    async def _trim(self):
        """So much has changed that nobody hears of all of it."""
        self.log.append("what changed is forgotten")
        most = text("DELETE FROM text_changes WHERE number < (SELECT max(number) FROM text_changes)")
        await self.plain.database.write(lambda connection: connection.execute(most) and None)

    async def _pass_time(self):
        self.clock.advance(timedelta(seconds=self.chance.choice([0, 1, 60, 7_000, 90_000, -2])))

    async def _sulk(self):
        self._set_down(not self.embedder.down)
        self.log.append(f"the model is {'down' if self.embedder.down else 'up'}")
        if not self.embedder.down:
            for jay in (*self.sides.values(), self.reference):
                await jay.reindex()

    async def _race(self):
        """Some ask while others tell: each sees all of it or nothing."""
        now, before = self.clock.now, await self._truth()
        name, tenant = self.chance.choice(list(self.sides)), self.steps.tenant()
        asked = [self._asked_meanwhile(self.sides[name], now) for _ in range(8)]
        items = [self.steps.telling() for _ in range(self.chance.choice([1, 8, 30]))]
        # That others are closed, or kept longer, is told to the vectors afterwards.
        items = [{name: told for name, told in item.items() if name not in ("key", "expires_at")} for item in items]
        step = self.steps.made(tenant, "remember_many", items=items)
        *answers, _ = await asyncio.gather(*(ask() for ask, _ in asked), self._taken(step))
        after = await self._truth()
        for (_, judge), found in zip(asked, answers, strict=True):
            faults = [judge(found, truth) for truth in (before, after)]
            assert found is None or not all(faults), f"{name}, while something is told: {faults}"

    def _asked_meanwhile(self, jay, now):
        """A question to ask, and how to judge what is found."""
        where, limit = self._filter(is_sealed=bool(self.place.keys)), self.chance.randint(1, 50)
        # Elsewhere, vectors follow their records.
        is_one = all(jay.parts.stores.joint for jay in self.sides.values())
        if self.chance.random() < 0.4 and is_one and where.is_plain:
            vector = self._vector()
            compared = difference if self.is_exact else unlike
            return (
                lambda: jay.parts.stores.vectors.search(self.truth.generation, vector, where, now=now, limit=limit),
                lambda found, truth: compared(found, truth.nearest(vector, where, now), limit),
            )
        terms = self._terms()
        return (
            lambda: jay.plain_texts.held(terms, where, now, limit),
            lambda found, truth: found is not None and difference(found, truth.matched(terms, where, now), limit),
        )

    async def _kill(self):
        """Another process takes some steps and is killed. What it was promised is there, and nothing by halves."""
        known = self._known()
        steps = [self.steps.next(known) for _ in range(12)]
        if self.chance.random() < 0.3:
            steps[self.chance.randint(0, 3)] = await self._file()
        place = self.folder / "steps"
        models = [one.made_of for one in self.models]
        place.write_bytes(pickle.dumps((self.place, models, transfer.BATCH, steps)))
        done = await asyncio.to_thread(self._killed, place)
        self.log += [f"killed, {step}" for step in steps[: done + 1]]
        for step in steps[:done]:
            await self._answer(step, self.reference)
        if await self._differs() and done < len(steps):
            if steps[done].verb == "import":
                await self._repeated(steps[done])
            else:
                await self._answer(steps[done], self.reference)
        jay = self.sides[self.chance.choice(list(self.sides))]
        assert [fault for fault in await jay.check() if "wait to be indexed" not in fault] == []
        await self._compare_records()
        for tenant in self.tenants:
            where = Filter(scope=Scope(tenant=tenant))
            hits = await jay.for_tenant(tenant).recall(self.steps.text(), limit=50, touch=False)
            assert all(where.matches(hit.memory, self.clock.now) for hit in hits)
        is_down = self.embedder.down
        self._set_down(False)
        for one in (jay, self.reference):
            await one.reindex()
        self._set_down(is_down)

    def _killed(self, place):
        """Let the writer take the steps that are written down there, and kill it. Returns how many it said it took."""
        self.writer.stdin.write(f"{place}\n")
        self.writer.stdin.flush()
        process, done, patience = None, 0, self.chance.choice([0, 0, *range(1, 10)])
        line = []
        while process is None or (done < patience and line != ["ended"]):
            line = self.writer.stdout.readline().split()
            assert line, "the writer ended by itself"
            process = int(line[1]) if line[0] == "started" else process
            done += line[0] == "done"
        time.sleep(self.chance.uniform(0, 0.04 if patience == 0 else 0.008))
        with suppress(ProcessLookupError):  # It was quick.
            os.kill(process, signal.SIGKILL)
        while line != ["ended"]:
            line = self.writer.stdout.readline().split()
            assert line, "the writer ended by itself"
            done += line[0] == "done"
        return done

    # What is asked

    def _filter(self, *, reach=None, is_sealed=False):
        """What may be asked for. An index by itself cannot read the data of what is sealed."""
        choose, chance, now = self.chance.choice, self.chance.random, self.clock.now
        asked = {
            "scope": Scope(tenant=self.steps.tenant(), **choose(PLACES)),
            "reach": reach or choose(["sees", "holds"]),
            "kinds": tuple(self.chance.sample(KINDS, choose([1, 2]))) if chance() < 0.25 else (),
        }
        maybe = {
            "key": lambda: choose(KEYS),
            "key_prefix": lambda: choose(["pref", "100%"]),
            "data": lambda: choose(CONDITIONS) | choose([{}, *CONDITIONS]),
            "since": lambda: now - self.chance.randint(1, 99) * DAY / 24,
            "until": lambda: now + self.chance.randint(0, 20) * DAY / 24,
            "as_of": lambda: AsOf(
                known_at=choose([None, self.steps.moment()]), valid_at=choose([None, self.steps.moment()])
            ),
            "least_importance": lambda: choose([0.4, 0.7]),
            "history": lambda: True,
        }
        if chance() < 0.5:
            asked |= {name: value() for name, value in maybe.items() if chance() < 0.2}
        if is_sealed:
            asked.pop("data", None)
        return Filter(**asked)

    def _terms(self):
        return terms_of(" ".join(self.chance.choices([*WORDS, "absent"], k=self.chance.randint(1, 5))))

    def _vector(self):
        """A question as the model reads it, without waiting for the model."""
        row = sum(self.answering._direction(word) for word in words_of(self.steps.text()))
        return row / np.linalg.norm(row)

    async def _truth(self):
        engine = self.sides["one"].parts.stores.vectors
        return await Truth.of(self.plain, engine, self.tenants, self.clock.now, words=self._words)

    def _words(self, memory):
        """What a memory is found by: of what is encrypted, its key, unless more may be known."""
        is_open = not memory.encrypted or self.place.search == "words"
        return words_of_memory(memory) if is_open else words_of(memory.key or "")

    async def _look(self):
        """Read what is true, and which model answers."""
        self.truth = self.plain.plain_texts.truth = self.plain.parts.stores.vectors.truth = await self._truth()
        known = {one.number: one.identity for one in await self.plain.parts.stores.generations.generations()}
        identity = known.get(self.truth.generation, self.embedder.identity)
        [self.answering] = [one for one in self.models if one.identity == identity]

    async def _ask(self):
        await self._look()
        for _ in range(2):
            await (self._ask_for_words() if self.place.is_file else self._ask_a_server_for_words())
            await self._ask_for_meaning()
            await self._list()
            await self._recall()

    async def _ask_for_words(self):
        terms, limit, now = self._terms(), self.chance.randint(1, 50), self.clock.now
        where = self._filter(is_sealed=bool(self.place.keys))
        name = self.chance.choice(list(self.sides))
        texts = self.sides[name].plain_texts
        asked = f"{name}, words {terms}, {where}, limit {limit}, now {now}"
        found = await texts._database.read(
            lambda file: texts_sqlite.match(file, terms, where, now, limit, texts_sqlite.Counted())
        )
        fault = difference(found, self.truth.matched(terms, where, now), limit)
        assert not fault, f"{asked}, on disk: {fault}"
        found = await texts._database.read(partial(self._weighed, terms=terms, where=where, now=now, limit=limit))
        every = {match.id for match in self.truth.matched(terms, where, now)}
        assert {match.id for match in found} <= every, f"{asked}, weighed: {found}"
        assert len({match.id for match in found}) == len(found) <= limit, f"{asked}, weighed: {found}"
        assert found or not every, f"{asked}, weighed: nothing instead of {every}"
        await texts.settle(where, now)
        found = await texts.held(terms, where, now, limit)
        fault = "" if found is None else difference(found, self.truth.matched(terms, where, now), limit)
        assert not fault, f"{asked}, in memory: {fault}"

    async def _ask_a_server_for_words(self):
        """Which are found is known, and how they are ranked is its own affair."""
        terms, where, limit, now = self._terms(), self._filter(), self.chance.randint(1, 50), self.clock.now
        name = self.chance.choice(list(self.sides))
        found = await self.sides[name].parts.stores.texts.match(terms, where, now=now, limit=limit, guess=False)
        every = {match.id for match in self.truth.matched(terms, where, now)}
        asked = f"{name}, words {terms}, {where}, limit {limit}, now {now}"
        ids = {match.id for match in found}
        assert ids <= every, f"{asked}: {ids - every} beside {every}"
        assert len(ids) == len(found) == min(limit, len(every)), f"{asked}: {len(ids)} of {len(every)}"
        assert all(one.score >= other.score for one, other in pairwise(found)), f"{asked}: {found}"

    def _weighed(self, file, *, terms, where, now, limit):
        """What the index on disk finds where it does not rank all: some of the best."""
        with pytest.MonkeyPatch.context() as patched:
            for name, value in FEW.items():
                patched.setattr(texts_sqlite, name, value)
            return texts_sqlite.match(file, terms, where, now, limit, texts_sqlite.Counted())

    async def _ask_for_meaning(self):
        where, limit, now, vector = self._filter(), self.chance.randint(1, 50), self.clock.now, self._vector()
        name = self.chance.choice(list(self.sides))
        among = None
        if not where.is_plain or self.chance.random() < 0.1:
            among = [one.id for one in self.truth.told if where.matches(one, now)]
            among = self.chance.choice([among, among[:5]])
        vectors = self.sides[name].parts.stores.vectors
        found = await vectors.search(self.truth.generation, vector, where, now=now, limit=limit, among=among)
        wanted = self.truth.nearest(vector, where, now, among=among)
        if self.place.engine != "embedded":
            fault = difference(found, wanted, limit, close=ROUNDED)
        else:
            fault = (difference if self.is_exact else unlike)(found, wanted, limit)
        assert not fault, f"{name}, meaning, {where}, limit {limit}, now {now}, among {among}: {fault}"

    async def _list(self):
        where, now, name = self._filter(), self.clock.now, self.chance.choice(list(self.sides))
        records = self.sides[name].parts.stores.records
        every = [one for one in reversed(self.truth.told) if where.matches(one, now)]
        limit = self.chance.choice([1, 2, self.chance.randint(1, 50)])
        asked = f"{name}, list {where}, limit {limit}, now {now}"
        assert await records.find(where, now=now, limit=limit) == every[:limit], asked
        order, after = self.chance.choice(["newest", "oldest"]), self.chance.choice(self.truth.told or [None])
        if after is not None:
            page = await records.find(where, now=now, limit=limit, order=order, after=after.id)
            assert page == self.truth.behind(after, every, order)[:limit], f"{asked}, {order} after {after.id}"
        among = await records.among(where, now=now, limit=limit)
        assert among == ([one.id for one in every] if len(every) <= limit else None), asked
        assert (await records.count(where, now=now)).current == len(every), asked

    async def _recall(self):
        where, now = self._filter(reach="sees"), self.clock.now
        limit = self.chance.choice([1, 2, 5, self.chance.randint(1, 50)])
        mode = self.chance.choice(["words", "meaning", "hybrid"] if self.is_exact else ["words"])
        question = self.steps.text() if self.chance.random() < 0.95 else ""
        name = self.chance.choice(list(self.sides))
        jay = self.sides[name]
        is_held = not self.place.is_file or (await jay.plain_texts.settle(where, now) and shelf.MEMORY > SMALL)
        if not is_held and len(self.tenants) > 1:
            return  # The index on disk may answer, or not: it counts how rare a word is among all tenants.
        asked = {"limit": limit, "mode": mode, "touch": False, **_narrowed(where)}
        if self.chance.random() < 0.5:
            # What reranking adds is guessed by what it added to others, so that it may be anything.
            jay.parts.stores.lift.value = self.chance.choice([0.0, 0.5, 3.0])
        found = await jay.for_tenant(where.scope.tenant).recall(question, **asked)
        with everything_fetched():
            wanted = await self.plain.for_tenant(where.scope.tenant).recall(question, **asked)
        ours, theirs = [
            [(hit.memory, round(hit.score, 5), hit.similarity and round(hit.similarity, 5)) for hit in hits]
            for hits in (found, wanted)
        ]
        assert found.degraded == wanted.degraded, (
            f"{found.degraded} instead of {wanted.degraded}, {name}, recall {question!r}, {asked}"
        )
        scores = [[(str(hit.memory.id), hit.score) for hit in hits] for hits in (found, wanted)]
        assert ours == theirs, f"{name}, recall {question!r}, {asked}, now {now}: {otherwise(ours, theirs)}, {scores}"

    # What is there

    async def _differs(self):
        """How the records differ from those of the reference."""
        for tenant in self.tenants:
            every = Filter(scope=Scope(tenant=tenant), reach="holds", history=True)
            ours, theirs = [
                [as_told(one) for one in await jay.parts.stores.records.find(every, now=self.clock.now, limit=NEVER)]
                for jay in (self.plain, self.reference)
            ]
            if ours != theirs:
                return otherwise(ours, theirs)
        return ""

    async def _compare_records(self):
        fault = await self._differs()
        assert not fault, f"records: {fault}"

    async def _end(self):
        await self._release_files()
        await self._compare_records()
        self._set_down(False)
        for jay in self.sides.values():
            await jay.reindex()
            assert await jay.check() == []
            assert [finding for finding in await jay.examine() if finding.remedy] == []


def as_told(memory):
    """A memory as every store should have it, but for how it is kept: indexed, sealed, or in which file."""
    changes = {"generation": None, "encrypted": False}
    if (memory.closed_because or "").startswith(ARCHIVED):
        # Of what was encrypted, who said it went into the file as well.
        changes |= {"content": "(archived)", "closed_because": ARCHIVED, "author": None, "source": None}
    return replace(memory, **changes)


@contextmanager
def everything_fetched():
    """Whatever was found is fetched before the best are chosen."""
    before = reading.shortlist
    reading.shortlist = lambda relevances, *_, **__: len(relevances)
    try:
        yield
    finally:
        reading.shortlist = before


def _narrowed(filter):
    """The keywords of a verb that spell this filter."""
    places = {name: value for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True) if value}
    own = {one.name for one in fields(filter)} - {"scope", "reach"}
    return {name: getattr(filter, name) for name in own} | places
