"""Random sessions: every backend answers as the reference does."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from patience import LONG
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.errors import Conflict
from scrubjay.model import Scope, new_id
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


def test_a_fault_is_noticed(runner):
    class Forgetful(MemoryWorking):
        async def end(self, scope, *, now):
            return await self.session(scope, now=now)

    with pytest.raises(AssertionError):
        walk(twins(Forgetful(LIMITS), runner), 25)
