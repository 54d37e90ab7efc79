"""What an execution has, to be compared with others."""

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.learning.traits import MOST_TOOLS, TIERS, Trait, telling_words, tier_of, traits_of
from scrubjay.model.patterns import TRAIT_KINDS
from scrubjay.model.tasks import Execution


def an_execution(**fields):
    return Execution(**{"task_id": "t", "execution_summary": "done", "success": True, **fields})


def test_tools_give_their_use_repetition_and_order():
    found = traits_of(an_execution(tools=("migrate", "test", "migrate")))
    assert {trait for trait in found if trait.kind in ("tool", "again", "order", "next")} == {
        Trait("tool", ("migrate",)),
        Trait("tool", ("test",)),
        Trait("again", ("migrate",)),
        Trait("order", ("migrate", "test")),
        Trait("next", ("migrate", "test")),
        Trait("next", ("test", "migrate")),
    }


def test_files_models_errors_and_words():
    found = traits_of(
        an_execution(
            files=("src/app/views.py", "README.md"),
            model="large",
            error_patterns=("timeout after 30 s", {"type": "KeyError", "message": "'user'"}),
            execution_summary="Retried with backoff in 3 steps",
        )
    )
    assert {
        Trait("file", ("src/app/views.py",)),
        Trait("folder", ("src/app",)),
        Trait("model", ("large",)),
        Trait("error", ("timeout after <n> s",)),
        Trait("error", ("KeyError: 'user'",)),
        Trait("errors", ()),
        Trait("word", ("backoff",)),
        Trait("phrase", ("with", "backoff")),
    } <= set(found)
    assert Trait("word", ("3",)) not in found


def test_every_kind_has_one_tier():
    assert sorted(kind for tier in TIERS for kind in tier) == sorted(TRAIT_KINDS)
    assert [tier_of(Trait(tier[0], ())) for tier in TIERS] == [0, 1, 2]


@given(st.lists(st.sampled_from([f"tool-{number}" for number in range(30)]), max_size=60))
def test_traits_are_few_distinct_and_always_in_the_same_order(tools):
    one, other = (traits_of(an_execution(tools=tuple(tools))) for _ in range(2))
    assert one == other
    assert len(set(one)) == len(one)
    assert sum(trait.kind == "order" for trait in one) <= MOST_TOOLS * (MOST_TOOLS - 1) / 2


@given(st.text(max_size=200))
def test_no_word_has_a_digit(text):
    assert not any(letter.isdigit() for word in telling_words(text) for letter in word if letter.isdecimal())
