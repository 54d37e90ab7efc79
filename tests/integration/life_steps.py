"""What can happen to a store: random steps that can be taken again, by another store or by another process."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from random import Random
from uuid import UUID

from scrubjay.errors import EmbedderUnavailable
from scrubjay.model import PLACE_NAMES, Scope
from scrubjay.model.work import Policy
from scrubjay.testing import ToyEmbedder

PLACES = [
    {},
    {},
    {"user": "anna"},
    {"user": "anna", "project": "p"},
    {"user": "anna", "project": "p", "session": "s-1"},
    {"user": "anna", "session": "s-2"},
    {"user": "bob"},
    {"user": "bob", "session": "s-1"},
    {"project": "p"},
    {"agent": "coder", "workflow": "release"},
]
KINDS = ["note", "fact", "preference", "message", "rule"]
KEYS = ["pref:indent", "pref:quotes", "pref_indent", "100%", "naïve 🦉"]
WORDS = [
    *("test", "tests", "testing", "format", "formats", "formatted", "cache", "caching", "zebra", "snake_case"),
    *("getUserName", "naïve", "Zürich", "東京タワー", "port", "7285", "os.path", "release", "releases", "agree"),
    *(f"word{number}" for number in range(25)),
]
WEIGHTS = [1 / (place % 30 + 2) for place in range(len(WORDS))]
DATA = [{}, {}, {}, {"n": 1}, {"n": 2.5}, {"n": True}, {"n": "1"}, {"deep": {"er": "x"}}]


class Ids:
    """Ids that are the same for whoever takes the same step."""

    def __init__(self):
        self.begin(0)

    def begin(self, step):
        """From now on, those of this step."""
        self._chance = Random(step)
        self._next = (step + 1) << 84

    def many(self, many):
        return [self.one() for _ in range(many)]

    def one(self):
        self._next += 1 << 64
        return UUID(int=self._next | 7 << 76 | 2 << 62 | self._chance.getrandbits(40))


class Moody(ToyEmbedder):
    """A model that reads no texts while it is down, and still questions: so that meaning can be asked for."""

    down = False

    @property
    def made_of(self):
        """What the same model is made of in another process."""
        return {
            "dimensions": self.identity.dimensions,
            "window": self.window,
            "version": self.identity.version,
        }

    async def embed(self, texts, *, question=False):
        if self.down and not question:
            raise EmbedderUnavailable
        return await super().embed(texts, question=question)

    @cache  # noqa: B019 -- it lives as long as its test
    def _direction(self, word):
        return super()._direction(word)


@dataclass(frozen=True)
class Step:
    """Something that is told to a store."""

    number: int
    now: datetime
    tenant: str
    verb: str
    told: dict

    async def taken_by(self, jay):
        """Have it done. Returns what was remembered; None where nothing is."""
        jay, told = jay.for_tenant(self.tenant), self.told
        match self.verb:
            case "remember" | "update":
                return [await getattr(jay, self.verb)(**told)]
            case "remember_many":
                return await jay.remember_many(told["items"])
            case "import":
                return await jay.import_lines(told["lines"], mend=told.get("mend", False))
            case "say":
                await jay.working.append(told["messages"], **told["where"])
                return await jay.working.end(**told["where"]) and None
            case "consolidate":
                done = await jay.consolidate(steps=told["steps"], policy=told["policy"], **told["where"])
                return {one.step: (dict(one.counts), one.failed, one.error, bool(one.skipped)) for one in done}
            case "restore":
                archives = [one.file.name for one in await jay.work.archives()]
                return [await jay.work.restore_archive(one) for one in archives[: told["many"]]]
            case "keep":
                return (
                    await jay.parts.stores.blobs.keep(Scope(tenant=self.tenant), told["owner"], told["blobs"]) and None
                )
            case "release":
                return await jay.parts.stores.blobs.release(Scope(tenant=self.tenant), told["owners"])
            case "use":
                return await jay.parts.stores.records.touch({Scope(tenant=self.tenant): [told["id"]]}, at=self.now)
            case verb:
                await getattr(jay, verb)(**told)
                return None

    def __str__(self):
        told = {**self.told, "lines": f"{len(self.told['lines'])} lines"} if self.verb == "import" else self.told
        return f"{self.number}, {self.now:%d %H:%M:%S}, {self.tenant}: {self.verb} {told}"


class Steps:
    """Makes steps by chance."""

    def __init__(self, chance, clock, tenants):
        self.chance = chance
        self.clock = clock
        self.tenants = tenants
        self.number = self.said = 0
        # Where nobody talks, not all that is found has to be fetched.
        talks = chance.random() < 0.5
        self.places = [place for place in PLACES if talks or "session" not in place]
        self.kinds = [kind for kind in KINDS if talks or kind != "message"]

    def next(self, known):
        """One that tells, changes or forgets something. `known` are the memories there are, by tenant."""
        tenant = self.tenant()
        choices = [(self.remember, 10), (self.remember_many, 4)]
        if known[tenant]:
            choices += [(self.update, 4), (self.forget, 5), (self.use, 1)]
        makers, weights = zip(*choices, strict=True)
        [make] = self.chance.choices(makers, weights)
        return make(tenant, known[tenant])

    def made(self, tenant, verb, **told):
        self.number += 1
        return Step(self.number, self.clock.now, tenant, verb, told)

    def remember(self, tenant, known):
        return self.made(tenant, "remember", **self.telling(known))

    def remember_many(self, tenant, known):
        items = [self.telling(known) for _ in range(self.chance.choice([2, 3, 8, 30]))]
        return self.made(tenant, "remember_many", items=items)

    def update(self, tenant, known):
        choose, one = self.chance.choice, self.chance.choice(known)
        changes = [
            {"content": self.text()},
            {"content": self.text(), "kind": choose(self.kinds)},
            {"importance": choose([0.1, 0.9])},
            {"expires_at": self.moment()},
            {"valid_to": self.moment()},
            {"valid_from": self.moment()},
            {"key": choose(KEYS)},
            {"data": choose(DATA)},
        ]
        return self.made(tenant, "update", id=one.id, **choose(changes))

    def forget(self, tenant, known):
        choose = self.chance.choice
        [way] = self.chance.choices(["ids", "key", "everything"], [9, 3, 0.6])
        if way == "ids":
            named = {"id": [choose(known).id for _ in range(choose([1, 1, 2, 9]))]}
        elif way == "key":
            named = {"key": choose(KEYS), **choose(self.places)}
        else:
            named = {"everything": True, **(choose(self.places) or {"user": "bob"})}
        return self.made(tenant, "forget", purge=choose([True, False]), **named)

    def use(self, tenant, known):
        return self.made(tenant, "use", id=self.chance.choice(known).id)

    def say(self, tenant, place):
        """What is said in a session, which ends with it."""
        self.said += 1
        messages = [
            {"id": UUID(int=(self.said << 16 | number) << 64 | 7 << 76 | 2 << 62), **self._message()}
            for number in range(self.chance.choice([1, 3, 8]))
        ]
        return self.made(tenant, "say", messages=messages, where=place)

    def _message(self):
        choose = self.chance.choice
        return {"role": choose(["user", "user", "assistant"]), "content": self.text(), "name": choose([None, "anna"])}

    def consolidate(self, tenant, steps, place, **rules):
        return self.made(tenant, "consolidate", steps=steps, where=place, policy=Policy(**rules))

    def telling(self, known=()):
        """What may be said about a memory, and its text."""
        choose, chance = self.chance.choice, self.chance.random
        told = {"content": self.text(), "kind": choose(self.kinds), **choose(self.places)}
        maybe = {
            "key": (0.3, lambda: choose(KEYS)),
            "data": (0.5, lambda: choose(DATA)),
            "importance": (0.2, lambda: choose([0.0, 0.3, 1.0])),
            "valid_from": (0.2, self.moment),
            "expires_at": (0.12, self.moment),
            "author": (0.1, lambda: choose(["anna", "zebra", "assistant"])),
        }
        told |= {name: value() for name, (share, value) in maybe.items() if chance() < share}
        if chance() < 0.15:
            told["valid_to"] = told.get("valid_from", self.clock.now) + timedelta(seconds=choose([1, 5_000, 400_000]))
        if chance() < 0.08 and known:
            told["derived_from"] = [choose(known).id]
        if chance() < 0.08 and known:
            again = choose(known)
            names = zip(PLACE_NAMES, again.scope.names(), strict=True)
            told = {"content": again.content, "kind": again.kind, **{name: value for name, value in names if value}}
        return told

    def tenant(self):
        return self.chance.choice(self.tenants)

    def moment(self):
        return self.clock.now + timedelta(seconds=self.chance.randint(-300_000, 200_000))

    def text(self):
        return " ".join(self.chance.choices(WORDS, WEIGHTS, k=self.chance.choice([1, 2, 3, 5, 9, 30])))
