"""The same random operations on two stores have to give the same answers, step by step."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, TypeAlias
from uuid import UUID

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import AsOf, Filter, Json, Memory, Scope
from scrubjay.model.words import terms_of
from scrubjay.ports import Kept
from scrubjay.testing.texts import TextStore
from scrubjay.testing.values import DAY, NOW, a_memory, keep_all, replace_by_key

_Ask: TypeAlias = Callable[[TextStore], Awaitable[object]]

SCOPES: Final = [
    Scope(),
    Scope(user="anna"),
    Scope(user="anna", project="p"),
    Scope(user="anna", project="p", session="s-1"),
    Scope(user="bob"),
    Scope(user="bob", session="s-1"),
    Scope(project="p"),
    Scope(agent="coder", workflow="release"),
    Scope(tenant="acme"),
    Scope(tenant="acme", user="anna", session="s-1"),
]
KINDS: Final = ["note", "fact", "preference", "message"]
KEYS: Final = ["pref:indent", "pref:quotes", "pref_indent", "100%", "Pref:indent", "naïve 🦉"]
PREFIXES: Final = ["pref", "pref:", "pref_", "100%", "P", "naïve"]
# Regular words without common ones, so that every stemmer agrees on which of them are forms of one word.
WORDS: Final = ["test", "tests", "testing", "format", "formats", "formatted", "cache", "caching", "zebra", "snake_case"]
DATA: Final[list[dict[str, Json]]] = [
    {},
    {},
    {"n": 1},
    {"n": 2.5},
    {"n": True},
    {"n": None},
    {"n": "1"},
    {"n": "beta", "deep": {"er": [1, 2]}},
    {"deep": {"er": "x"}},
]
CONDITIONS: Final[list[dict[str, Json]]] = [
    {"n": 1},
    {"n": True},
    {"n": None},
    {"n": [2.5, "1"]},
    {"n": {"gte": 1}},
    {"n": {"gt": "1"}},
    {"n": {"ne": 1}},
    {"n": {"exists": True}},
    {"deep.er": "x"},
    {"deep.er": {"exists": True}},
]


async def congruence(reference: TextStore, candidate: TextStore, seed: int, *, steps: int = 200) -> None:
    """Take random steps on both stores, which have to be empty, and compare every answer.

    The same seed takes the same steps, so a failure can be repeated.
    """
    await _Twins(reference, candidate, seed).walk(steps)


class _Twins:
    """Two stores that are told and asked the same."""

    def __init__(self, reference: TextStore, candidate: TextStore, seed: int) -> None:
        self._stores = (reference, candidate)
        self._seed = seed
        # Repeatable steps are the point; nothing here is secret.
        self._random = Random(seed)  # noqa: S311 -- see above
        self._readers = Random(seed)  # noqa: S311 -- see above
        self._clock = NOW
        self._step = 0
        self._ids: list[UUID] = []

    async def walk(self, steps: int) -> None:
        changes = [
            *(self._write, self._load, self._close, self._adjust, self._boost),
            *(self._touch, self._mark, self._purge, self._forget),
        ]
        questions = [self._get, self._find, self._search, self._follow, self._count, self._wait]
        for self._step in range(steps):
            self._clock += timedelta(microseconds=self._random.randint(1, 7_200_000_000))
            # Mostly writing, so that the other changes have something to change.
            [change] = self._random.choices(changes, weights=[10, 2, 2, 2, 1, 2, 3, 1, 1])
            await change()
            for question in self._random.sample(questions, 2):
                await question()
        for scope in (Scope(), Scope(tenant="acme")):
            everything = Filter(scope=scope, history=True)
            await self._same(lambda store: store.find(everything, now=self._clock, limit=100_000))  # noqa: B023 -- asked at once
        # Random steps may tell two values of a key for one time, which is to be found by both alike; nothing else is.
        faults = [await store.check() for store in self._stores]
        assert faults[1] == faults[0], f"seed {self._seed}: one store finds fault with itself"
        others = [line for line in faults[0] if "their key has another value" not in line]
        assert others == [], f"seed {self._seed}: the stores find fault with themselves"

    async def _same(self, ask: _Ask, *, what: str = "") -> object:
        answers = [await _answer(ask, store) for store in self._stores]
        assert answers[1] == answers[0], f"seed {self._seed}, step {self._step}: {what or ask} gives another answer"
        return answers[0]

    # Changes

    async def _write(self) -> None:
        drafts = [self._memory() for _ in range(self._random.randint(1, 4))]
        decide = self._random.choice([replace_by_key, replace_by_key, replace_by_key, keep_all])
        self._note(drafts)
        await self._same(lambda store: store.write(drafts, decide), what=f"write({drafts}, {decide.__name__})")

    async def _load(self) -> None:
        rows = [self._memory() for _ in range(self._random.randint(1, 3))]
        if self._random.random() < 0.5:
            rows = [replace(row, generation=1, uses=2).closed(self._clock, because="import") for row in rows]
        self._note(rows)
        rows += await self._closed_elsewhere()
        await self._same(lambda store: store.load(rows), what=f"load({rows})")

    async def _closed_elsewhere(self) -> list[Memory]:
        """Some that are stored, in any state, as they would come from where they were closed or ended since."""
        found = await self._stores[0].get(self._scope(), self._some_ids(2))
        if self._random.random() < 0.5:
            return [one.closed(self._clock, because="elsewhere", by=self._new_id()) for one in found]
        return [replace(one, valid_to=max(self._clock, one.valid_from) + DAY) for one in found]

    async def _forget(self) -> None:
        scope, ids, at = self._scope(), self._some_ids(), self._clock
        what = f"forget({scope}, {ids})"
        await self._same(lambda store: _forgotten(store, scope, ids, at), what=what)

    async def _close(self) -> None:
        scope, ids, at = self._scope(), self._some_ids(), self._clock
        await self._same(
            lambda store: store.close(scope, ids, at=at, because="asked to"), what=f"close({scope}, {ids})"
        )

    async def _adjust(self) -> None:
        scope, [asked, *_] = self._scope(), self._some_ids()
        changes: Kept = {}
        if self._random.random() < 0.7:
            changes["importance"] = self._random.choice([0.0, 0.9])
        if self._random.random() < 0.7:
            changes["expires_at"] = self._random.choice([None, self._clock, self._clock + DAY])
        await self._same(
            lambda store: store.adjust(scope, asked, **changes), what=f"adjust({scope}, {asked}, {changes})"
        )

    async def _boost(self) -> None:
        scope, [asked, *_], by = self._scope(), self._some_ids(), self._random.choice([-0.25, 0.25, 0.5])
        await self._same(lambda store: store.boost(scope, asked, by), what=f"boost({scope}, {asked}, {by})")

    async def _touch(self) -> None:
        scope, ids, at = self._scope(), self._some_ids(), self._clock
        await self._same(lambda store: store.touch({scope: ids}, at=at), what=f"touch({scope}, {ids})")

    async def _mark(self) -> None:
        if self._random.random() < 0.1:
            await self._same(lambda store: store.unmark(2), what="unmark(2)")
        ids, generation = self._some_ids(10), self._random.choice([1, 1, 2, None])
        live = set(ids[::2])
        what = f"mark({ids}, {generation}, live={live})"
        await self._same(lambda store: store.mark(ids, generation, live=live), what=what)

    async def _purge(self) -> None:
        scope, ids, versions = self._scope(), self._some_ids(), self._random.random() < 0.5
        what = f"purge({scope}, {ids}, versions={versions})"
        await self._same(lambda store: _by_id(store.purge(scope, ids, versions=versions)), what=what)

    # Questions

    async def _get(self) -> None:
        scope, ids = self._scope(), self._some_ids(10)
        await self._same(lambda store: store.get(scope, ids), what=f"get({scope}, {ids})")
        await self._same(lambda store: _sorted(store.derived(scope, ids)), what=f"derived({scope}, {ids})")

    async def _find(self) -> None:
        asked, now, order = self._filter(), self._clock, self._random.choice(["newest", "oldest"])
        what = f"find({asked}, now={now}, order={order})"

        async def page(store: TextStore, limit: int, after: UUID | None = None) -> list[Memory]:
            return await store.find(
                asked, now=now, limit=limit, order="newest" if order == "newest" else "oldest", after=after
            )

        first = await self._same(lambda store: page(store, 3), what=what)
        if isinstance(first, list) and first:
            await self._same(lambda store: page(store, 3, first[-1].id), what=f"{what} after {first[-1].id}")
        await self._same(lambda store: page(store, 100_000), what=what)
        await self._same(lambda store: store.among(asked, now=now, limit=5), what=f"among({asked}, now={now})")
        await self._same(lambda store: _scanned(store, asked, now), what=f"scan({asked}, now={now})")
        length = self._random.choice([1, 2, 4, 9])
        most = self._random.choice([None, 1, 3, 9])
        what = f"one_of_each({asked}, now={now}, {length}, limit={most})"
        await self._same(lambda store: _beginnings(store, asked, now, length, most), what=what)

    async def _search(self) -> None:
        asked, now = self._filter(), self._clock
        terms = terms_of(" ".join(self._random.choices([*WORDS, "indent", "absent"], k=self._random.randint(1, 3))))

        async def matched(store: TextStore) -> set[UUID]:
            return {match.id for match in await store.match(terms, asked, now=now, limit=100_000)}

        await self._same(matched, what=f"match({terms}, {asked}, now={now})")

    async def _follow(self) -> None:
        scope, key, [asked, *_] = self._scope(), self._random.choice(KEYS), self._some_ids()
        await self._same(lambda store: store.versions(scope, key=key), what=f"versions({scope}, key={key})")
        await self._same(lambda store: store.versions(scope, id=asked), what=f"versions({scope}, id={asked})")
        for memory in await self._stores[0].get(scope, [asked]):
            await self._same(
                lambda store, memory=memory: store.neighbours(scope, memory, before=2, after=2),  # type: ignore[misc]  # a default binds it now
                what=f"neighbours({scope}, {memory})",
            )
        several = self._some_ids()
        await self._same(lambda store: store.following(scope, several), what=f"following({scope}, {several})")

    async def _count(self) -> None:
        asked, now = self._filter(), self._clock
        await self._same(lambda store: store.count(asked, now=now), what=f"count({asked}, now={now})")

    async def _wait(self) -> None:
        generation, limit = self._random.choice([1, 2, 3]), self._random.choice([2, 100_000])
        await self._same(lambda store: store.pending(generation, limit=limit), what=f"pending({generation}, {limit})")
        await self._same(lambda store: store.backlog(generation), what=f"backlog({generation})")
        after, ids = self._random.choice([None, *self._some_ids()]), self._some_ids(10)
        await self._same(
            lambda store: store.marked(generation, limit=limit, after=after), what=f"marked({generation}, {after})"
        )
        await self._same(lambda store: store.missing(ids), what=f"missing({ids})")

    # What they are told and asked

    def _scope(self) -> Scope:
        return self._random.choice(SCOPES)

    def _note(self, memories: Sequence[Memory]) -> None:
        self._ids += [memory.id for memory in memories if memory.id not in self._ids]

    def _some_ids(self, most: int = 4) -> list[UUID]:
        known = self._random.sample(self._ids, min(len(self._ids), self._random.randint(1, most)))
        return [*known, self._new_id()]

    def _new_id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def _moment(self) -> datetime:
        return self._clock + timedelta(microseconds=self._random.randint(-(10**12), 10**11))

    def _memory(self) -> Memory:
        choose, chance = self._random.choice, self._random.random
        valid_from = self._moment() if chance() < 0.3 else self._clock
        fields: dict[str, Any] = {
            "id": choose(self._ids) if self._ids and chance() < 0.05 else self._new_id(),
            "kind": choose(KINDS),
            "key": choose(KEYS) if chance() < 0.4 else None,
            "data": choose(DATA),
            "importance": choose([0.1, 0.5, 0.7, 1.0]),
            "derived_from": tuple(self._random.sample(self._ids, 1)) if self._ids and chance() < 0.2 else (),
            "scope": self._scope(),
            "created_at": self._clock,
            "valid_from": valid_from,
            "valid_to": valid_from + self._random.randint(1, 72) * DAY / 24 if chance() < 0.2 else None,
            "expires_at": self._moment() if chance() < 0.1 else None,
        }
        return a_memory(" ".join(self._random.choices(WORDS, k=self._random.randint(1, 3))), **fields)

    def _filter(self) -> Filter:
        choose, chance = self._random.choice, self._random.random
        fields: dict[str, Any] = {"scope": self._scope(), "reach": choose(["sees", "holds"])}
        maybe: dict[str, Callable[[], object]] = {
            "kinds": lambda: tuple(self._random.sample(KINDS, 2)),
            "key": lambda: choose(KEYS),
            "key_prefix": lambda: choose(PREFIXES),
            "data": lambda: choose(CONDITIONS),
            "since": lambda: self._clock - self._random.randint(1, 99) * DAY / 24,
            "until": lambda: self._clock + self._random.randint(-20, 20) * DAY / 24 if "since" not in fields else None,
            "as_of": lambda: AsOf(known_at=choose([None, self._moment()]), valid_at=choose([None, self._moment()])),
            "least_importance": lambda: choose([0.5, 0.7]),
            "history": lambda: True,
        }
        for name, value in maybe.items():
            if chance() < 0.2:
                fields[name] = value()
        if self._readers.random() < 0.2:
            bound = self._readers.choice(["project", "agent", "project agent"])
            fields["scope"] = replace(fields["scope"], bound=bound)
        return Filter(**fields)


async def _answer(ask: _Ask, store: TextStore) -> object:
    try:
        return await ask(store)
    except (Conflict, InvalidInput):
        # Two faults in one batch may be found in either order, but both stores must refuse.
        return Conflict


async def _forgotten(store: TextStore, scope: Scope, ids: list[UUID], at: datetime) -> list[list[Memory]]:
    with_it, elsewhere = "forgotten: asked to, with its source", "forgotten, with its source"
    done = await store.forget(scope, ids, at=at, because="forgotten: asked to", with_it=with_it, elsewhere=elsewhere)
    return [done.closed, sorted(done.derived, key=lambda memory: memory.id)]


async def _by_id(memories: Awaitable[list[Memory]]) -> list[Memory]:
    return sorted(await memories, key=lambda memory: memory.id)


async def _sorted(ids: Awaitable[list[UUID]]) -> list[UUID]:
    return sorted(await ids)


async def _scanned(store: TextStore, asked: Filter, now: datetime) -> list[Memory]:
    return [memory async for batch in store.scan(asked, now=now, batch=7) for memory in batch]


async def _beginnings(
    store: TextStore, asked: Filter, now: datetime, length: int, limit: int | None
) -> list[str] | None:
    found = await store.one_of_each(asked, now=now, length=length, limit=limit)
    if found is None:
        return None
    assert all(asked.matches(memory, now) for memory in found)
    return [memory.key[:length] for memory in found if memory.key]
