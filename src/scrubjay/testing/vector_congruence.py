"""Random operations on two vector engines must give equal answers; ties and rounding aside."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final, TypeAlias
from uuid import UUID

import pytest

from scrubjay.model import Filter, Reach, Scope
from scrubjay.ports import Entry, Listed, Match, PortableVectors, Vectors
from scrubjay.testing.values import DAY, NOW
from scrubjay.testing.vectors import ROUNDING, an_entry, directions

_Ask: TypeAlias = Callable[[Vectors], Awaitable[object]]

SCOPES: Final = [
    Scope(),
    Scope(user="anna"),
    Scope(user="anna", project="p"),
    Scope(user="anna", agent="a", session="s", workflow="w"),
    Scope(user="bob"),
    Scope(tenant="acme"),
    Scope(tenant="acme", user="anna"),
]
KINDS: Final = ["note", "rule", "fact"]
REACHES: Final[list[Reach]] = ["sees", "holds"]
EVERYTHING: Final = 1_000
"""A limit that no search of this walk reaches: then all that is admitted has to be there, whatever the order."""


async def congruence_of_vectors(reference: Vectors, candidate: Vectors, seed: int, *, steps: int = 50) -> None:
    """Take random steps on both engines, which have to be empty, and compare every answer.

    The same seed takes the same steps, so a failure can be repeated.
    """
    await _Twins(reference, candidate, seed).walk(steps)


class _Twins:
    """Two engines that are told and asked the same."""

    def __init__(self, reference: Vectors, candidate: Vectors, seed: int) -> None:
        self._engines = (reference, candidate)
        self._seed = seed
        # Repeatable steps are the point; nothing here is secret.
        self._random = Random(seed)  # noqa: S311 -- see above
        self._rows = list(directions(400, seed=seed))
        self._ids: list[UUID] = []
        self._step = 0

    async def walk(self, steps: int) -> None:
        for self._step in range(steps):
            await self._change()
            await self._search()
            await self._count()
        await self._list()

    # Changes

    async def _change(self) -> None:
        generation = self._random.choice([1, 1, 1, 2])
        match self._random.choices(["upsert", "retire", "remove", "drop"], weights=[12, 3, 2, 0.2])[0]:
            case "upsert":
                entries = [self._entry() for _ in range(self._random.randint(1, 20))]
                await self._both(lambda engine: engine.upsert(generation, entries))
            case "retire":
                ids = self._some_ids()
                await self._both(lambda engine: engine.retire(ids))
            case "remove":
                ids = self._some_ids()
                await self._both(lambda engine: engine.remove(ids))
            case _:
                await self._both(lambda engine: engine.drop(generation))

    async def _both(self, tell: _Ask) -> None:
        for engine in self._engines:
            await tell(engine)

    # Questions

    async def _search(self) -> None:
        kinds = tuple(self._random.sample(KINDS, self._random.choice([0, 0, 1, 2])))
        asked = Filter(scope=self._random.choice(SCOPES), reach=self._random.choice(REACHES), kinds=kinds)
        question, generation = self._random.choice(self._rows), self._random.choice([1, 1, 2])
        now, limit = NOW + self._random.choice([0, 1]) * DAY, self._random.choice([1, 5, EVERYTHING])
        among = self._some_ids(30) if self._random.random() < 0.3 else None
        wanted, found = [
            await engine.search(generation, question, asked, now=now, limit=limit, among=among)
            for engine in self._engines
        ]
        what = f"{self._where()}: search({generation}, {asked}, now={now}, limit={limit}, among={among})"
        # Equal as far as rounding goes: neighbours may change places when their scores do not differ.
        scores = [one.score for one in wanted]
        assert [one.score for one in found] == pytest.approx(scores, abs=ROUNDING), f"{what} scores otherwise"
        if limit == EVERYTHING:
            assert _parts(found) == _parts(wanted), f"{what} finds something else"

    async def _count(self) -> None:
        generation, ids = self._random.choice([1, 1, 2]), self._some_ids(20)
        await self._same(lambda engine: engine.count(generation), f"count({generation})")
        await self._same(lambda engine: engine.missing(generation, ids), f"missing({generation}, {ids})")
        await self._same(lambda engine: engine.traces(ids), f"traces({ids})")

    async def _list(self) -> None:
        """What is there in the end, where an engine can say so."""
        for generation in (1, 2):
            if all(isinstance(engine, PortableVectors) for engine in self._engines):
                await self._same(
                    lambda engine: engine.entries(generation, self._ids),  # type: ignore[attr-defined]  # noqa: B023 -- just seen; asked at once
                    f"entries({generation}, …)",
                )
            if all(isinstance(engine, Listed) for engine in self._engines):
                await self._same(lambda engine: _listed(engine, generation), f"ids({generation})")  # noqa: B023 -- asked at once

    async def _same(self, ask: _Ask, what: str) -> None:
        wanted, found = [await ask(engine) for engine in self._engines]
        assert found == wanted, f"{self._where()}: {what} gives another answer"

    def _where(self) -> str:
        return f"seed {self._seed}, step {self._step}"

    # What they are told and asked

    def _some_ids(self, most: int = 5) -> list[UUID]:
        known = self._random.sample(self._ids, min(len(self._ids), self._random.randint(1, most)))
        return [*known, self._new_id()]

    def _new_id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def _entry(self) -> Entry:
        choose = self._random.choice
        fields: dict[str, Any] = {
            "scope": choose(SCOPES),
            "kind": choose(KINDS),
            "live": self._random.random() < 0.9,
            "since": choose([NOW - DAY, NOW, NOW + DAY]),
            "until": choose([None, None, NOW + DAY, NOW + 2 * DAY]),
            "id": choose(self._ids) if self._ids and self._random.random() < 0.2 else self._new_id(),
        }
        if fields["id"] not in self._ids:
            self._ids.append(fields["id"])
        return an_entry(*self._random.sample(self._rows, self._random.randint(1, 3)), **fields)


def _parts(found: list[Match]) -> dict[UUID, tuple[int, int | None]]:
    return {one.id: (one.start, one.stop) for one in found}


async def _listed(engine: Vectors, generation: int) -> set[UUID]:
    """All ids, a few at a time, each once."""
    assert isinstance(engine, Listed)
    found: list[UUID] = []
    while page := await engine.ids(generation, limit=7, after=found[-1] if found else None):
        found += page
    assert len(set(found)) == len(found)
    return set(found)
