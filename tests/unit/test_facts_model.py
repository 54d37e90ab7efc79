"""The values of facts check themselves and say what they are."""

import pytest

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import Fact, FactType, Level, Scope
from scrubjay.model.facts import CATEGORIES, FACT_KINDS, BoostedFact
from scrubjay.model.memory import STANDING_KINDS
from scrubjay.ports import Known
from scrubjay.testing import NOW, a_memory
from scrubjay.testing.values import DAY
from scrubjay.write.reconcile import insert, reopen


def test_every_type_has_a_kind_and_a_category():
    assert len(FACT_KINDS) == len(set(FACT_KINDS)) == len(set(CATEGORIES.values())) == 9
    assert set(STANDING_KINDS) < set(FACT_KINDS), "what always stands in a context is a fact"
    assert FactType.of("Rule") is FactType.of(FactType.RULE) is FactType.RULE


@pytest.mark.parametrize(
    ("scope", "level"),
    [
        (Scope(), Level.GLOBAL),
        (Scope(user="u"), Level.USER),
        (Scope(user="u", project="p"), Level.PROJECT),
        (Scope(agent="a"), Level.AGENT),
        (Scope(project="p", workflow="w"), Level.WORKFLOW),
        (Scope(workflow="w", session="s"), Level.SESSION),
    ],
)
def test_the_level_follows_from_the_scope(scope, level):
    fact = Fact(memory=a_memory(kind="fact", scope=scope))
    assert fact.level is Level.of(level.lower()) is level
    level.check(scope)
    for other in set(Level) - {level}:
        with pytest.raises(InvalidInput, match=f"level is {other}"):
            other.check(scope)


def test_a_fact_is_a_view_of_a_memory_that_holds():
    memory = a_memory("Tabs", kind="preference", key="pref:indent", source="execution:run-7", uses=3, used_at=NOW)
    fact = Fact(memory=memory)
    assert (fact.id, fact.content, fact.key, fact.execution) == (memory.id, "Tabs", "pref:indent", "run-7")
    assert (fact.access_count, fact.last_accessed_at, fact.is_deleted) == (3, NOW, False)
    assert (str(fact), fact.state(NOW)) == ("pref:indent: Tabs", "current")
    assert Fact(memory=a_memory(kind="fact", source="a file")).execution is None
    assert Fact(memory=memory.closed(NOW, because="forgotten")).is_deleted
    with pytest.raises(InvalidInput, match="is a message, not a fact"):
        Fact(memory=a_memory(kind="message"))


def test_a_boost_says_when_it_met_a_bound():
    fact = Fact(memory=a_memory(kind="fact", importance=1.0))
    assert BoostedFact(fact=fact, before=0.75, asked=0.5).was_clamped
    assert not BoostedFact(fact=fact, before=0.75, asked=0.25).was_clamped
    assert BoostedFact(fact=fact, before=0.75, asked=0.5).explanation == (
        "importance 0.75 → 1, kept within 0 and 1 (1.25 was asked for)"
    )


class TestInserting:
    """Insert and reopen replace nothing, whoever's clock is behind."""

    old = a_memory("Tabs", key="k", valid_from=NOW)

    def test_a_free_key_is_taken(self):
        draft = a_memory("Spaces", key="k")
        assert insert(draft, Known()).opens == reopen(draft, Known()).opens == (draft,)

    @pytest.mark.parametrize("start", [NOW - DAY, NOW, NOW + DAY])
    def test_a_key_with_a_value_is_not_replaced_nor_preceded(self, start):
        draft = a_memory("Spaces", key="k", valid_from=start)
        for decide in (insert, reopen):
            with pytest.raises(Conflict, match=f"key 'k' has a value in user=anna: {self.old.id}") as refused:
                decide(draft, Known(same_key=(self.old,)))
            assert "Tabs" not in str(refused.value), "whoever may only write is told so, too"

    def test_a_stretch_that_is_over_is_no_value(self):
        past = a_memory("Tabs", key="k", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY)
        draft = a_memory("Spaces", key="k")
        assert insert(draft, Known(same_key=(past,))).outcome == "stored"

    def test_a_stretch_before_the_value_is_free(self):
        draft = a_memory("Spaces", key="k", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY)
        assert reopen(draft, Known(same_key=(self.old,))).opens == (draft,)

    def test_telling_it_again_under_its_id_is_one_memory(self):
        draft = a_memory("Tabs", key="k")
        assert insert(draft, Known(same_id=draft, same_key=(draft,), same_words=draft)).outcome == "unchanged"

    def test_the_same_words_without_a_key_are_refused(self):
        draft = a_memory("Tabs")
        for decide in (insert, reopen):
            with pytest.raises(Conflict, match="the same content has a value"):
                decide(draft, Known(same_words=a_memory("Tabs")))
