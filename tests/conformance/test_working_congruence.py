"""Random sessions: every backend answers as the reference does, and detours leave what would be there without them."""

import asyncio
import uuid
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from patience import LONG
from scrubjay.backends.memory.detours import MemoryDetours
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.backends.working.fallback import FallbackWorking
from scrubjay.errors import Conflict, StoreUnavailable
from scrubjay.model import Scope, new_id
from scrubjay.model.working import Limits
from scrubjay.ports import Outrun
from scrubjay.testing.values import HOUR, NOW
from scrubjay.testing.working import LIMITS, a_message, a_value

SESSIONS = st.sampled_from(["s-1", "s-2"])
USERS = st.sampled_from([None, "anna"])
NAMES = st.sampled_from(["plan", "goal", "mood", "naïve"])
LIVES = st.sampled_from([HOUR, 2 * HOUR, 5 * HOUR])
SIZES = st.lists(st.sampled_from([1, 20, 600]), max_size=4)


class Sessions(RuleBasedStateMachine):
    """What may happen to sessions, in the tenant of one example."""

    def __init__(self):
        super().__init__()
        self.now = NOW
        self.tenant = f"t-{uuid.uuid4()}"
        self.said = []
        self.versions = [""]

    def scope(self, user, session):
        return Scope(tenant=self.tenant, user=user, session=session)

    def do(self, verb, *given, **options):
        raise NotImplementedError

    @rule(user=USERS, session=SESSIONS, sizes=SIZES, ttl=LIVES, again=st.booleans())
    def append(self, user, session, sizes, ttl, again):
        messages = [a_message("x" * size, at=self.now) for size in sizes]
        if again and self.said:
            messages.append(self.said[-1])
        self.said += messages
        self.do("append", self.scope(user, session), messages, ttl=ttl, now=self.now)

    @rule(user=USERS, session=SESSIONS, name=NAMES, ttl=LIVES, value=st.sampled_from([None, 0, "text", {"a": [1]}]))
    def set(self, user, session, name, ttl, value):
        scratch = a_value(value, name=name)
        self.versions.append(scratch.version)
        self.do("set", self.scope(user, session), scratch, ttl=ttl, now=self.now)

    @rule(user=USERS, session=SESSIONS, name=NAMES)
    def delete(self, user, session, name):
        self.do("delete", self.scope(user, session), name, now=self.now)

    @rule(user=USERS, session=SESSIONS, ttl=LIVES)
    def extend(self, user, session, ttl):
        self.do("extend", self.scope(user, session), ttl=ttl, now=self.now)

    @rule(user=USERS, session=SESSIONS)
    def end(self, user, session):
        self.do("end", self.scope(user, session), now=self.now)

    @rule(minutes=st.sampled_from([0.5, 40, 200]))
    def time_passes(self, minutes):
        self.now += timedelta(minutes=minutes)


class Twins(Sessions):
    """Two stores that are told and asked the same."""

    store = None
    runner = None

    def __init__(self):
        super().__init__()
        self.reference = MemoryWorking(LIMITS)

    def outcome(self, store, verb, given, options):
        try:
            return self.runner.run(getattr(store, verb)(*given, **options))
        except Conflict as error:
            return str(error)

    def do(self, verb, *given, **options):
        expected = self.outcome(self.reference, verb, given, options)
        assert self.outcome(self.store, verb, given, options) == expected
        return expected

    @rule(user=USERS, session=SESSIONS, name=NAMES, which=st.integers(0, 5))
    def compare_and_set(self, user, session, name, which):
        scope, scratch = self.scope(user, session), a_value(which, name=name)
        expect = self.versions[-(1 + which % len(self.versions))]
        self.versions.append(scratch.version)
        self.do("set", scope, scratch, ttl=HOUR, now=self.now, expect=expect)
        self.do("delete", scope, name, now=self.now, expect=expect)

    @rule(user=USERS, session=SESSIONS, limit=st.integers(1, 4), strange=st.booleans())
    def drain(self, user, session, limit, strange):
        scope = self.scope(user, session)
        ids = [message.id for message in self.do("take", scope, limit=limit)]
        self.do("drained", scope, [*([new_id()] if strange else []), *ids], now=self.now)

    @rule(user=USERS, session=SESSIONS, which=st.sets(st.integers(0, 5), max_size=3))
    def discard(self, user, session, which):
        scope = self.scope(user, session)
        ids = [message.id for place, message in enumerate(self.do("take", scope, limit=6)) if place in which]
        self.do("discard", scope, [*ids, new_id()], now=self.now)

    @rule()
    def look_for_what_waits(self):
        options = {"now": self.now, "soon": HOUR / 2, "limit": 100}
        expected = self.outcome(self.reference, "waiting", (), options)
        found = self.outcome(self.store, "waiting", (), options)
        assert [one for one in found if one.scope.tenant == self.tenant] == expected

    @invariant()
    def the_answers_are_equal(self):
        self.do("sessions", Scope(tenant=self.tenant), now=self.now, limit=3)
        for user in (None, "anna"):
            scope = self.scope(user, "s-1")
            self.do("recent", scope, limit=3, now=self.now)
            self.do("recent", scope, limit=100, now=self.now, over=True)
            self.do("session", scope, now=self.now)
            self.do("scratch", scope, now=self.now)
            self.do("get", scope, "plan", now=self.now)


def walk(machine, examples, steps=25):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            # A failing walk is shown as it was found: making it shorter takes minutes on a server.
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture
def runner():
    with asyncio.Runner() as runner:
        yield runner


def twins(store, runner):
    return type("Machine", (Twins,), {"store": store, "runner": runner})


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_sql_answers_as_the_reference(dialect, tmp_path, request, runner):
    url = f"sqlite:///{tmp_path}/scrubjay.db" if dialect == "sqlite" else request.getfixturevalue("postgres_database")()
    database = Database(url)
    runner.run(migrate(database))
    walk(twins(SqlWorking(database, LIMITS), runner), 12)
    runner.run(database.shut())


def test_redis_answers_as_the_reference(redis_url, runner):
    # A machine that stands still for longer than the usual two seconds says nothing of what is asked here.
    connection = RedisConnection(redis_url, timeout=LONG)
    runner.run(connection.call(lambda client: client.flushdb()))
    walk(twins(RedisWorking(connection, LIMITS), runner), 25)
    runner.run(connection.shut())


def test_a_fallback_that_is_not_needed_answers_as_the_reference(runner):
    store = FallbackWorking(MemoryWorking(LIMITS), MemoryDetours(), LIMITS)
    walk(twins(store, runner), 25)


def test_a_fault_is_noticed(runner):
    class Forgetful(MemoryWorking):
        async def end(self, scope, *, now):
            return await self.session(scope, now=now)

    with pytest.raises(AssertionError):
        walk(twins(Forgetful(LIMITS), runner), 25)


class Line:
    """The line of one process to the store: it is good, or dead, or loses answers, or delivers what was said later."""

    def __init__(self, store, late, number=None, replay=False):
        self.store, self.late, self.number, self.replay = store, late, number, replay
        self.state = ["good"]

    def fenced(self, number, *, replay=False):
        other = Line(self.store, self.late, number, replay)
        other.state = self.state
        return other

    def __getattr__(self, verb):
        store = self.store if self.number is None else self.store.fenced(self.number, replay=self.replay)

        async def call(*given, **options):
            match self.state[0]:
                case "dead":
                    raise StoreUnavailable
                case "slow":
                    if verb in ("append", "set", "delete", "extend", "end"):
                        self.late.append(lambda: getattr(store, verb)(*given, **options))
                    raise StoreUnavailable
                case "mute":
                    await getattr(store, verb)(*given, **options)
                    raise StoreUnavailable
            return await getattr(store, verb)(*given, **options)

        return call


WIDE = Limits(messages=100, scratch_values=100)


class Detouring(Sessions):
    """Two processes whose lines to one store fail in turn, beside a store that never did."""

    runner = None

    def __init__(self):
        super().__init__()
        self.reference, self.store, detours = MemoryWorking(WIDE), MemoryWorking(WIDE), MemoryDetours()
        self.late = []
        self.lines = [Line(self.store, self.late) for _ in range(2)]
        self.processes = [FallbackWorking(line, detours, WIDE) for line in self.lines]
        self.turn = 0

    def scope(self, user, session):
        # All in one session, where they meet.
        return Scope(tenant=self.tenant, session="s-1")

    @rule(name=st.sampled_from(["plan", "goal"]))
    def set_again(self, name):
        scratch = a_value(self.random.random(), name=name)
        self.do("set", self.scope(None, "s-1"), scratch, ttl=5 * HOUR, now=self.now)

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed):
        self.random = Random(seed)

    def what_was_late_arrives(self):
        with suppress(Outrun):
            self.runner.run(self.late.pop(0)())

    def do(self, verb, *given, **options):
        self.turn = self.random.randrange(2)
        self.lines[self.turn].state[0] = self.random.choice(["good", "good", "good", "dead", "mute", "slow"])
        if self.late and self.random.random() < 0.3:
            self.what_was_late_arrives()
        before = len(self.late)
        try:
            self.runner.run(getattr(self.processes[self.turn], verb)(*given, **options))
        except StoreUnavailable:
            # It was refused, so nobody relies on it: here it is lost, and a store that never failed is not told.
            del self.late[before:]
            if self.lines[self.turn].state[0] != "mute":
                return
        self.runner.run(getattr(self.reference, verb)(*given, **options))

    def teardown(self):
        for line in self.lines:
            line.state[0] = "good"
        while self.late:
            self.what_was_late_arrives()
        self.runner.run(self.processes[0].catch_up())
        scope = self.scope(None, "s-1")
        assert self.seen(self.store, scope) == self.seen(self.reference, scope)

    def seen(self, store, scope):
        async def look():
            return (
                await store.take(scope, limit=1_000),
                await store.scratch(scope, now=self.now),
                await store.session(scope, now=self.now),
            )

        return self.runner.run(look())


def test_detours_leave_what_would_be_there_without_them(runner):
    walk(type("Machine", (Detouring,), {"runner": runner}), 150, steps=40)
