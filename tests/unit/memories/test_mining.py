"""Mining finds what was planted, says nothing where there is nothing, and counts right however it is fed."""

import random
from datetime import timedelta
from uuid import UUID

import pytest

from scrubjay.memories.learning.contrast import LEVEL
from scrubjay.memories.learning.history import History
from scrubjay.memories.learning.ledger import MOST_RUNS, Ledger, Traits
from scrubjay.memories.learning.mining import indicator
from scrubjay.memories.learning.traits import Trait
from scrubjay.model.tasks import Execution
from scrubjay.testing import NOW

TOOLS = ("read", "grep", "edit", "run", "build", "lint", "commit", "push")
WORDS = ("alba", "bercu", "corba", "dando", "elfen", "fingis", "gorhu", "hulkam", "inlin", "jarmor")


def a_run(chance, number, *, success, tools=(), **fields):
    return Execution(
        task_id=f"task-{number}",
        task_description=f"deploy the {chance.choice(('billing', 'search', 'mail'))} service",
        execution_summary=" ".join(chance.choice(WORDS) for _ in range(8)),
        success=success,
        tools=(*(chance.choice(TOOLS) for _ in range(4)), *tools),
        **fields,
    )


def history_of(executions):
    history = History()
    for number, one in enumerate(executions):
        history.add(UUID(int=number + 1), one, NOW + timedelta(minutes=number))
    return history


def told(history, **options):
    return {
        (history.traits.names[one.trait], one.is_for)
        for findings in history.mine(**options).values()
        for one in findings
    }


def test_an_order_of_tools_that_matters_is_found_and_nothing_else():
    chance = random.Random(1)
    runs = []
    for number in range(120):
        good = chance.random() < 0.5
        pair = ("migrate", "verify") if good else ("verify", "migrate")
        runs.append(a_run(chance, number, success=chance.random() < (0.9 if good else 0.2), tools=pair))
    found = told(history_of(runs))
    assert (Trait("order", ("migrate", "verify")), True) in found
    assert (Trait("order", ("verify", "migrate")), False) in found
    assert all({"migrate", "verify"} & set(trait.what) for trait, _ in found)


@pytest.mark.parametrize(
    ("fields", "trait"),
    [
        ({"model": "small"}, Trait("model", ("small",))),
        ({"files": ("src/legacy/core.py",)}, Trait("file", ("src/legacy/core.py",))),
        ({"error_patterns": ("quota of 17 GB exceeded",)}, Trait("error", ("quota of <n> GB exceeded",))),
        ({"tools": ("sandbox",)}, Trait("tool", ("sandbox",))),
    ],
)
def test_whatever_goes_with_failure_is_found(fields, trait):
    chance = random.Random(2)
    runs = []
    for number in range(100):
        has_it = chance.random() < 0.4
        runs.append(
            a_run(chance, number, success=chance.random() < (0.1 if has_it else 0.75), **(fields if has_it else {}))
        )
    assert (trait, False) in told(history_of(runs))


def test_what_makes_success_cheap_is_found_among_successes():
    chance = random.Random(3)
    runs = []
    for number in range(120):
        cached = chance.random() < 0.5
        cost = chance.uniform(1, 2) if cached else chance.uniform(1.8, 3)
        runs.append(a_run(chance, number, success=chance.random() < 0.8, cost=cost, tools=("cache",) if cached else ()))
    history = history_of(runs)
    [(_, findings)] = [(key, found) for key, found in history.mine().items() if key[1] == "optimization"]
    best = indicator(findings[0], history.traits, "optimization")
    assert (best.kind, best.what) == ("tool", ("cache",))
    assert best.seen + best.other_seen == sum(run.success for run in runs)


def test_nothing_is_found_on_shuffled_outcomes():
    """At most 5 % of histories without an effect may show one; more than 8 of 60 would be no accident (p < 0.01)."""
    wrong = 0
    for seed in range(60):
        chance = random.Random(seed)
        wrong += bool(told(history_of([a_run(chance, n, success=chance.random() < 0.5) for n in range(60)])))
    assert wrong <= 8


def test_one_task_tried_over_and_over_is_not_evidence():
    """Ten tasks of twelve attempts that always end alike, and tell of it alike, are ten observations."""
    wrong = 0
    for seed in range(20):
        chance = random.Random(seed)
        runs = []
        for task in range(10):
            success, tools = chance.random() < 0.5, [chance.choice(TOOLS) for _ in range(4)]
            runs += [
                Execution(
                    task_id=f"task-{task}",
                    attempt=attempt,
                    task_description=f"deploy the {chance.choice(WORDS)} service",
                    execution_summary="done",
                    success=success,
                    tools=tuple(tools),
                )
                for attempt in range(1, 13)
            ]
        wrong += bool(told(history_of(runs)))
    assert wrong <= 2


def test_every_finding_keeps_to_the_level_and_says_so():
    chance = random.Random(4)
    runs = [a_run(chance, n, success=n % 3 == 0, tools=("pin",) if n % 3 == 0 else ()) for n in range(90)]
    history = history_of(runs)
    for findings in history.mine().values():
        assert findings
        assert all(one.p <= one.q <= LEVEL for one in findings)


def test_a_small_history_has_no_patterns():
    chance = random.Random(5)
    assert history_of([]).mine() == {}
    assert history_of([a_run(chance, n, success=n < 3, tools=("x",) if n < 3 else ()) for n in range(5)]).mine() == {}


def test_one_by_one_or_all_at_once_the_same_is_found():
    chance = random.Random(6)
    runs = [a_run(chance, n, success=n % 2 == 0, tools=("pin",) if n % 2 == 0 else ()) for n in range(80)]
    slowly = History()
    for number, one in enumerate(runs):
        slowly.add(UUID(int=number + 1), one, NOW + timedelta(minutes=number))
        slowly.mine()
    assert told(slowly) == told(history_of(runs))
    assert (Trait("tool", ("pin",)), True) in told(slowly)


def test_only_the_newest_executions_of_a_family_count(monkeypatch):
    monkeypatch.setattr("scrubjay.memories.learning.ledger.MOST_RUNS", 50)
    assert MOST_RUNS > 50
    chance = random.Random(7)
    traits = Traits()
    ledger, fresh = Ledger(traits), Ledger(traits)
    runs = [traits.run(UUID(int=n + 1), a_run(chance, n, success=n % 2 == 0), NOW) for n in range(120)]
    for run in runs:
        ledger.add(run)
    for run in runs[-50:]:
        fresh.add(run)
    one, other = ledger.sheet("success"), fresh.sheet("success")
    assert (one.runs, one.hits) == (other.runs, other.hits) == (50, 25)
    counts = [{int(t): sheet.counts(place) for place, t in enumerate(sheet.traits)} for sheet in (one, other)]
    assert counts[0] == counts[1]


def deployments(*, outcome_of, errors_of, many=120):
    """Executions whose errors are recorded as `errors_of` says, given the outcome."""
    chance = random.Random(5)
    runs = []
    for number in range(many):
        success = outcome_of(chance)
        errors = errors_of(chance, success)
        runs.append(a_run(chance, number, success=success, error_patterns=errors))
    return history_of(runs)


def some_error(chance):
    return (chance.choice(("timeout while waiting for the lock", "disk is full", "permission was denied")),)


def errors_found(history):
    return {trait for trait, _ in told(history) if trait.kind in ("error", "errors")}


@pytest.mark.parametrize("odd_ones", [0.0, 0.03])
def test_errors_that_are_recorded_for_failures_only_are_no_indicator(odd_ones):
    def by_outcome(chance, success):
        has_one = success if chance.random() < odd_ones else not success
        return some_error(chance) if has_one else ()

    assert not errors_found(deployments(outcome_of=lambda chance: chance.random() < 0.6, errors_of=by_outcome))


def test_of_errors_recorded_for_failures_and_some_successes_the_one_that_ends_worse_is_found_among_errors():
    def has_error(chance, success):
        # Every failure has an error. A quota that is exceeded nearly always is one, a timeout every other time.
        if success:
            return ("timeout while waiting for the lock",) if chance.random() < 0.5 else ()
        return ("quota exceeded",) if chance.random() < 0.7 else ("timeout while waiting for the lock",)

    history = deployments(outcome_of=lambda chance: chance.random() < 0.6, errors_of=has_error, many=200)
    assert Trait("errors", ()) not in errors_found(history)
    found, *_ = [
        indicator(one, history.traits, "failure")
        for findings in history.mine().values()
        for one in findings
        if history.traits.names[one.trait] == Trait("error", ("quota exceeded",))
    ]
    assert found.among_errors
    assert "that met other errors" in found.evidence
