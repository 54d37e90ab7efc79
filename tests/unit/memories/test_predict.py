"""Predictions are given where they have shown skill, and only there."""

import random
from uuid import UUID

import numpy as np
import pytest

from scrubjay.memories.learning.predict import FIRST, Forecaster, Past

TOOLS = ("read", "grep", "edit", "run", "build", "lint")


def some_past(many, *, effect, seed=0):
    """Tasks of two kinds. With an effect of the trace, `crash` is followed by failure; of the kind, one kind fails."""
    chance = random.Random(seed)
    past = []
    for number in range(many):
        kind = chance.choice(("rotate the signing keys", "translate the help pages"))
        crashed = chance.random() < 0.4
        bad = {"trace": crashed, "kind": kind.startswith("rotate"), "none": False}[effect]
        success = chance.random() < (0.1 if bad else 0.8 if effect != "none" else 0.5)
        tools = [chance.choice(TOOLS) for _ in range(5)]
        if crashed:
            tools.insert(2, "crash")
        past.append(
            Past(UUID(int=number + 1), f"t-{number}", f"{kind} number {number}", tuple(tools), (), "m", success)
        )
    return past


def test_skill_of_the_trace_is_found_and_used():
    known = Forecaster(some_past(150, effect="trace"))
    assert known.skill("during").is_shown
    assert not known.skill("before").is_shown
    bad = known.forecast("rotate the signing keys", tools=["read", "crash"], model="m")
    good = known.forecast("rotate the signing keys", tools=["read", "edit"], model="m")
    assert bad.stage == good.stage == "during"
    assert bad.probability < known.rate - 0.2
    assert good.probability > known.rate
    assert known.forecast("rotate the signing keys") is None


def test_skill_of_the_description_is_found_and_used():
    known = Forecaster(some_past(150, effect="kind"))
    assert known.skill("before").is_shown
    bad, good = known.forecast("rotate the signing keys"), known.forecast("translate the help pages")
    assert bad.stage == "before"
    assert bad.probability < known.rate < good.probability
    assert len(bad.similar) == 5


def test_where_there_is_nothing_to_predict_nothing_is_predicted():
    """Of 40 histories without an effect, 5 % may look like skill by accident in each of the two ways."""
    shown = 0
    for seed in range(20):
        known = Forecaster(some_past(90, effect="none", seed=seed))
        shown += known.skill("before").is_shown + known.skill("during").is_shown
    assert shown <= 5


def test_too_little_past_is_no_basis():
    for many in (0, 1, FIRST, 2 * FIRST - 1):
        known = Forecaster(some_past(many, effect="trace"))
        assert known.skill("during") is None
        assert known.forecast("rotate the signing keys", tools=["crash"]) is None
        assert (known.rate is None) == (many == 0)


def test_the_future_is_never_looked_at():
    """What was predicted for the first tasks stays the same whatever happened later."""
    past = some_past(140, effect="trace")
    flipped = [*past[:100], *(one._replace(success=not one.success) for one in past[100:])]
    for stage in ("before", "during"):
        whole, other = Forecaster(past).rolling(stage), Forecaster(flipped).rolling(stage)
        assert whole[:60] == pytest.approx(other[:60])


def test_attempts_at_one_task_are_one_observation():
    """Two tasks tried 60 times each, ending as they always do: a past of two observations shows no skill."""
    chance = random.Random(0)
    past = [
        Past(UUID(int=n + 1), f"t-{n % 2}", ("alpha", "omega")[n % 2], ("read",), (), None, chance.random() < 0.5)
        for n in range(120)
    ]
    assert not Forecaster(past).skill("before").is_shown


def test_it_is_the_same_every_time_and_always_a_probability():
    past = some_past(120, effect="trace")
    one, other = Forecaster(past), Forecaster(past)
    for stage in ("before", "during"):
        assert (one.rolling(stage) == other.rolling(stage)).all()
        assert ((one.rolling(stage) > 0) & (one.rolling(stage) < 1)).all()
    chance, similar = one.chance("during", "", tools=["never seen"], errors=["nor this"])
    assert 0 < chance < 1
    assert len(similar) == 5


def test_all_successes_are_no_basis_either():
    past = [one._replace(success=True) for one in some_past(100, effect="none")]
    known = Forecaster(past)
    assert np.isfinite(known.rolling("during")).all()
    assert (
        known.forecast("anything", tools=["read"]) is None
        or known.forecast("anything", tools=["read"]).probability > 0.9
    )
