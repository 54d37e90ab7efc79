"""Patterns as values: they check themselves, and say what they mean."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope
from scrubjay.model.patterns import Family, Indicator, Prediction, Recommendation, TaskPattern
from scrubjay.testing import NOW


def an_indicator(**fields):
    told = {"kind": "order", "what": ("migrate", "test"), "hits": 4, "seen": 5, "other_hits": 1, "other_seen": 6}
    return Indicator(**{**told, "q_value": 0.01, "strength": 0.5, **fields})


def a_pattern(**fields):
    told = {
        "id": "p",
        "pattern_type": "success",
        "task_type_pattern": "deploy",
        "name": "deploy",
        "confidence": 0.5,
        "samples": 11,
        "successes": 5,
        "created_at": NOW,
        "updated_at": NOW,
        "last_seen_at": NOW,
        "scope": Scope(),
    }
    return TaskPattern(**{**told, **fields})


def test_evidence_is_a_sentence():
    assert an_indicator().evidence == (
        "4 of 5 similar tasks that ran migrate before test succeeded; 1 of 6 that did not"
    )
    assert str(an_indicator(ending="failure")).startswith("4 of 5 similar tasks that ran migrate before test failed")
    assert an_indicator(other_hits=0, other_seen=0).evidence.endswith("succeeded")
    assert (an_indicator().rate, an_indicator().other_rate) == (0.8, 1 / 6)
    assert an_indicator(other_hits=0, other_seen=0).other_rate is None


@pytest.mark.parametrize(
    ("kind", "what", "said"),
    [
        ("tool", ("grep",), "used grep"),
        ("again", ("grep",), "used grep more than once"),
        ("next", ("edit", "test"), "ran test right after edit"),
        ("error", ("timeout",), "met the error “timeout”"),
        ("errors", (), "met any error"),
        ("file", ("a.py",), "touched a.py"),
        ("folder", ("src",), "touched files in src"),
        ("model", ("small",), "ran on small"),
        ("phrase", ("with", "backoff"), "say “with backoff” in the summary"),
        ("word", ("retry",), "say “retry” in the summary"),
    ],
)
def test_every_kind_can_be_said(kind, what, said):
    assert an_indicator(kind=kind, what=what).said == said


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"kind": "mood"}, "kind"),
        ({"ending": "luck"}, "ending"),
        ({"hits": 6}, "hits"),
        ({"seen": 0}, "seen"),
        ({"other_hits": 7}, "other_hits"),
        ({"q_value": 2}, "q_value"),
    ],
)
def test_an_indicator_checks_itself(wrong, field):
    with pytest.raises(InvalidInput, match=field):
        an_indicator(**wrong)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"pattern_type": "luck"}, "pattern_type"),
        ({"task_type_pattern": ""}, "task_type_pattern"),
        ({"confidence": 1.5}, "confidence"),
        ({"successes": 12}, "successes"),
        ({"samples": 0}, "samples"),
        ({"version": 0}, "version"),
        ({"id": " "}, "id"),
        ({"created_at": NOW.replace(tzinfo=None)}, "created_at"),
    ],
)
def test_a_pattern_checks_itself(wrong, field):
    with pytest.raises(InvalidInput, match=field):
        a_pattern(**wrong)


def test_a_pattern_names_the_indicators_of_its_type_first():
    good, bad = an_indicator(), an_indicator(ending="failure")
    sides = {"success_indicators": (good,), "failure_indicators": (bad,)}
    assert a_pattern(**sides).indicators == (good, bad)
    assert a_pattern(**sides, pattern_type="failure").indicators == (bad, good)
    assert a_pattern().success_rate == 5 / 11


def test_the_others_check_themselves_too():
    with pytest.raises(InvalidInput, match="probability"):
        Prediction(probability=2, basis="", stage="before")
    with pytest.raises(InvalidInput, match="precision"):
        Family(id="f", name="f", regex="f", size=1, successes=0, precision=2, recall=1)
    with pytest.raises(InvalidInput, match="successes"):
        Family(id="f", name="f", regex="f", size=1, successes=2, precision=1, recall=1)
    with pytest.raises(InvalidInput, match="confidence"):
        Recommendation(advice="do", text="", indicator=an_indicator(), confidence=-1)


def test_a_prediction_without_a_basis_says_so():
    assert str(Prediction(probability=None, basis="too few tasks", stage="before")) == "no basis: too few tasks"
    assert str(Prediction(probability=0.25, basis="five tasks", stage="during")) == "25%: five tasks"
