"""Random operations on a vector engine and on the reference must give equal answers."""

from random import Random

import pytest

from scrubjay.backends.memory.vectors import MemoryVectors
from scrubjay.model import Filter, Scope, new_id
from scrubjay.testing import NOW
from scrubjay.testing.values import DAY
from scrubjay.testing.vectors import an_entry, directions

SCOPES = [Scope(), Scope(user="anna"), Scope(user="anna", project="p"), Scope(user="bob"), Scope(tenant="acme")]
KINDS = ["note", "rule", "fact"]


async def congruence_of_vectors(engine, seed, *, steps=50):
    """Take random steps on the engine, which has to be empty, and on the reference, and compare every answer."""
    twins = Twins(engine, seed)
    for _ in range(steps):
        await twins.change()
        await twins.ask()


class Twins:
    """The reference and an engine, told and asked the same at random."""

    def __init__(self, engine, seed):
        self.engines = (MemoryVectors(), engine)
        self.random = Random(seed)
        self.rows = directions(400, seed=seed)
        self.ids = []

    async def both(self, verb, *given):
        for engine in self.engines:
            await getattr(engine, verb)(*given)

    def some(self, most=5):
        return [*self.random.sample(self.ids, min(len(self.ids), self.random.randint(1, most))), new_id()]

    def entry(self):
        choose = self.random.choice
        fields = {
            "scope": choose(SCOPES),
            "kind": choose(KINDS),
            "live": self.random.random() < 0.9,
            "since": choose([NOW - DAY, NOW, NOW + DAY]),
            "until": choose([None, None, NOW + DAY, NOW + 2 * DAY]),
            "id": choose(self.ids) if self.ids and self.random.random() < 0.2 else new_id(),
        }
        self.ids = list({*self.ids, fields["id"]})
        return an_entry(*self.random.sample(list(self.rows), self.random.randint(1, 3)), **fields)

    async def change(self):
        generation = self.random.choice([1, 1, 1, 2])
        match self.random.choices(["upsert", "retire", "remove", "drop"], weights=[12, 3, 2, 0.2])[0]:
            case "upsert":
                await self.both("upsert", generation, [self.entry() for _ in range(self.random.randint(1, 20))])
            case "drop":
                await self.both("drop", generation)
            case verb:
                await self.both(verb, self.some())

    async def ask(self):
        reach = self.random.choice(["sees", "holds"])
        kinds = tuple(self.random.sample(KINDS, self.random.choice([0, 0, 1, 2])))
        asked = Filter(scope=self.random.choice(SCOPES), reach=reach, kinds=kinds)
        question = self.random.choice(list(self.rows))
        options = {"now": NOW + self.random.choice([0, 1]) * DAY, "limit": self.random.choice([1, 5, 1_000])}
        if self.random.random() < 0.3:
            options["among"] = self.some(30)
        generation, ids = self.random.choice([1, 1, 2]), self.some(20)
        answers = []
        for engine in self.engines:
            matches = await engine.search(generation, question, asked, **options)
            told = await engine.count(generation), await engine.missing(generation, ids), await engine.traces(ids)
            answers.append((matches, told))
        (wanted, told), (matches, same) = answers
        assert same == told
        # Equal as far as rounding goes: neighbours may change places when their scores do not differ.
        assert [one.score for one in matches] == pytest.approx([one.score for one in wanted], abs=2e-3)
        if options["limit"] == 1_000:
            parts = {one.id: (one.start, one.stop) for one in wanted}
            assert {one.id: (one.start, one.stop) for one in matches} == parts
