"""Facts against a simple model of them, and a context that never exceeds its budget, on random input."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import scrubjay
from scrubjay.errors import Conflict, NotFound
from scrubjay.model.facts import FACT_KINDS

POINTS = 8
START = datetime.now(UTC) - timedelta(days=30)
points = st.integers(0, POINTS - 1)
values = st.sampled_from(["red", "green", "blue"])


@pytest.fixture(scope="module")
def jay(tmp_path_factory):
    """One store for all examples, each of which has a project of its own. Search is by words: nothing to wait for."""
    with scrubjay.open(tmp_path_factory.mktemp("facts"), embedder="none", background=False) as jay:
        yield jay


def moment(point):
    return START + timedelta(days=point)


class Timeline:
    """What is believed of one key: for each day the value and which telling it came from. The last day never ends."""

    def __init__(self):
        self.days = [None] * POINTS
        self.deletions = []
        self._tellings = itertools.count()

    def tell(self, value, start, end):
        last = self.days[-1]
        if end is None and last is not None and last[0] == value and self.stretch(POINTS - 1)[0] <= start:
            return
        if end is None:
            end = min((day for day in self.starts() if day > start), default=POINTS)
        there = self.days[start]
        if there is not None and there[0] == value and self.stretch(start) == (start, end):
            return
        self.days[start:end] = [(value, next(self._tellings))] * (end - start)

    def delete(self, stretches):
        self.deletions.append([(start, end, self.days[start][0]) for start, end in stretches])
        for start, end in stretches:
            self.days[start:end] = [None] * (end - start)

    def restore(self):
        """Bring back what was deleted last; False when some of its days are taken."""
        if any(day is not None for start, end, _ in self.deletions[-1] for day in self.days[start:end]):
            return False
        for start, end, value in self.deletions[-1]:
            self.days[start:end] = [(value, next(self._tellings))] * (end - start)
        return True

    def starts(self):
        return [day for day in range(POINTS) if self.days[day] and (day == 0 or self.days[day - 1] != self.days[day])]

    def stretch(self, day):
        start = max(one for one in self.starts() if one <= day)
        end = next((one for one in range(start, POINTS) if self.days[one] != self.days[start]), POINTS)
        return start, end

    def stretches(self):
        return [self.stretch(day) for day in self.starts()]


class FactsMachine(RuleBasedStateMachine):
    """Random stores, backdated ones, deletions and restores of one key; every past answer has to stay the same."""

    numbers = itertools.count()

    def __init__(self, facts):
        super().__init__()
        self.facts = facts
        self.where = {"project": f"p-{next(self.numbers)}"}
        self.model = Timeline()
        self.known = [(datetime.now(UTC), tuple(self.model.days))]

    @rule(value=values, start=points, days=st.none() | st.integers(1, 3))
    def store(self, value, start, days):
        end = None if days is None or start + days >= POINTS else start + days
        before = list(self.model.days)
        self.model.tell(value, start, end)
        until = None if end is None else moment(end)
        done = self.facts.store(value, key="k", valid_from=moment(start), valid_to=until, **self.where)
        assert (done.outcome == "refreshed") == (before == self.model.days)
        self.remember()

    @precondition(lambda self: any(self.model.days))
    @rule()
    def delete_by_key(self):
        self.model.delete(self.model.stretches())
        self.facts.delete_by_key("k", **self.where)
        self.remember()

    @rule(point=points)
    def delete_one(self, point):
        found = self.facts.as_of("k", valid_at=moment(point), **self.where)
        assert bool(found) == (self.model.days[point] is not None)
        if found:
            self.model.delete([self.model.stretch(point)])
            self.facts.delete(found[0].id, **self.where)
            self.remember()

    @precondition(lambda self: self.model.deletions)
    @rule(value=values)
    def store_where_something_was_deleted(self, value):
        start, end, _ = self.model.deletions[-1][0]
        self.store(value, start, end - start)

    @precondition(lambda self: self.model.deletions)
    @rule()
    def restore(self):
        if self.model.restore():
            self.facts.restore(key="k", **self.where)
        else:
            with pytest.raises(Conflict):
                self.facts.restore(key="k", **self.where)
        self.remember()

    @rule(point=points, pick=st.randoms(use_true_random=False))
    def ask(self, point, pick):
        known_at, days = pick.choice(self.known)
        found = self.facts.as_of("k", known_at=known_at, valid_at=moment(point) + timedelta(hours=1), **self.where)
        assert [one.content for one in found] == ([days[point][0]] if days[point] else [])

    @invariant()
    def what_holds_now_is_what_holds_on_the_last_day(self):
        last = self.model.days[-1]
        if last is None:
            with pytest.raises(NotFound):
                self.facts.get_by_key("k", touch=False, **self.where)
        else:
            assert self.facts.get_by_key("k", touch=False, **self.where).content == last[0]

    def remember(self):
        self.known.append((datetime.now(UTC), tuple(self.model.days)))

    def teardown(self):
        for point in range(POINTS):
            found = self.facts.as_of("k", valid_at=moment(point), **self.where)
            assert [one.content for one in found] == ([self.model.days[point][0]] if self.model.days[point] else [])


def test_random_steps_agree_with_a_simple_model(jay):
    few = settings(max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: FactsMachine(jay.facts), settings=few)


told = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=80),
        st.sampled_from(FACT_KINDS),
        st.floats(0, 1),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(told=told, budget=st.integers(1, 120), query=st.sampled_from(["", "how do we deploy?"]))
def test_a_context_never_exceeds_its_budget(jay, told, budget, query):
    where = {"project": f"b-{next(FactsMachine.numbers)}"}
    facts = [
        {"content": content, "type": kind, "importance": weight} for content, kind, weight in told if content.strip()
    ]
    jay.facts.store_many(facts, **where)
    written = jay.facts.get_context_for_prompt(project=where["project"], query=query, budget=budget)
    counted = jay._verbs.parts.tokens().count(written.text) if written.text else 0
    assert counted == written.tokens <= budget
    shown = {item.memory.id for item in (*written.items, *written.left_out)}
    assert shown == {fact.id for fact in jay.facts.list(**where)}, "what is not written is named"
