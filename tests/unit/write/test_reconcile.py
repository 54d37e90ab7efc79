"""Reconcile against a model that cannot be wrong: for each day, whoever spoke of it last is right."""

import itertools
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.errors import Conflict, IdTaken
from scrubjay.model import Memory, Trust, new_id
from scrubjay.ports import Known
from scrubjay.testing import NOW, a_memory, a_scope
from scrubjay.write.reconcile import correct, insert, reconcile, told_after, told_last

DAYS = 12
"""The days of the world that are looked at; the day after them stands for ever."""


def day(number):
    return NOW + timedelta(days=number)


def written(draft, known):
    """What the writer decides: told after all that is known, then reconciled with it."""
    return reconcile(told_last(draft, known), known)


@dataclass
class Timeline:
    """Everything that was told about one key: the rows that reconcile leaves, and what each day should say."""

    rows: list[Memory] = field(default_factory=list)
    tellings: list[tuple[int, int, int | None, str]] = field(default_factory=list)
    """(known, from, to, content), in the order they were told."""

    def tell(self, known, start, end, content):
        draft = a_memory(
            content,
            key="city",
            created_at=day(known),
            valid_from=day(start),
            valid_to=None if end is None else day(end),
        )
        decision = reconcile(draft, self._known(draft))
        closed = {one.id: one for one in decision.closes}
        assert closed.keys() <= {one.id for one in self.rows if one.superseded_at is None}
        self.rows = [closed.get(one.id, one) for one in self.rows] + list(decision.opens)
        if decision.outcome != "unchanged":
            assert decision.memory in decision.opens
        self.tellings.append((known, start, end, content))
        return decision

    def _known(self, draft):
        believed = [one for one in self.rows if one.superseded_at is None]
        same = [one for one in believed if one.valid_to is None and one.fingerprint == draft.fingerprint]
        same = same if draft.valid_to is None else []
        return Known(
            same_key=tuple(sorted(believed, key=lambda one: one.valid_from)), same_words=same[0] if same else None
        )

    def answer(self, known, valid):
        """What the rows say that was believed on one day about another."""
        found = [one.content for one in self.rows if one.believed_at(day(known)) and one.held_at(day(valid))]
        assert len(found) <= 1, f"on day {known} two things were believed of day {valid}: {found}"
        return found[0] if found else None

    def truth(self, known, valid):
        """The same by replaying the tellings: each paints its days over what was there; the last day is for ever."""
        painted = {}
        for told, start, end, content in self.tellings:
            if told > known:
                break
            begins = [number for number, (is_first, _) in painted.items() if is_first]
            last = max(begins, default=DAYS)
            if end is None and last <= start and painted.get(DAYS, (False, None))[1] == content:
                continue  # It was known, and no change.
            stop = end if end is not None else min((one for one in begins if one > start), default=DAYS + 1)
            if stop in painted:
                painted[stop] = (True, painted[stop][1])
            painted |= {number: (number == start, content) for number in range(start, stop)}
        return painted.get(valid, (False, None))[1]


tellings = st.lists(
    st.tuples(
        st.integers(0, DAYS - 2),
        st.one_of(st.none(), st.integers(1, DAYS)),
        st.sampled_from(["Bonn", "Rome", "Oslo"]),
        st.integers(1, 2),
    ),
    max_size=8,
)


@given(tellings)
@settings(max_examples=300, deadline=None)
def test_every_pair_of_days_is_answered_as_it_was_told(told):
    timeline, known = Timeline(), 0
    for start, length, content, wait in told:
        known += wait
        timeline.tell(known, start, None if length is None else min(start + length, DAYS), content)
    for then in range(known + 1):
        for valid in range(DAYS):
            assert timeline.answer(then, valid) == timeline.truth(then, valid), (then, valid)


@given(tellings)
@settings(max_examples=200, deadline=None)
def test_stretches_that_are_believed_never_overlap(told):
    timeline = Timeline()
    for known, (start, length, content, _) in enumerate(told):
        timeline.tell(known, start, None if length is None else start + length, content)
        believed = sorted((one for one in timeline.rows if one.superseded_at is None), key=lambda one: one.valid_from)
        for one, two in itertools.pairwise(believed):
            assert one.valid_to is not None
            assert one.valid_to <= two.valid_from
        assert len({one.id for one in timeline.rows}) == len(timeline.rows)


@given(tellings)
@settings(max_examples=100, deadline=None)
def test_deciding_again_gives_the_same_answer(told):
    timeline = Timeline()
    for known, (start, _, content, _) in enumerate(told):
        draft = a_memory(content, key="city", created_at=day(known), valid_from=day(start))
        state = timeline._known(draft)
        assert reconcile(draft, state) == reconcile(draft, state)
        timeline.tell(known, start, None, content)


def test_what_is_new_is_stored():
    draft = a_memory()
    decision = reconcile(draft, Known())
    assert (decision.outcome, decision.memory, decision.opens, decision.closes) == ("stored", draft, (draft,), ())


def test_the_same_id_and_the_same_words_are_unchanged():
    stored = a_memory()
    assert reconcile(replace(stored, importance=0.9), Known(same_id=stored)).outcome == "unchanged"
    assert reconcile(a_memory(), Known(same_words=stored)).memory == stored


@pytest.mark.parametrize("other", [{"content": "else"}, {"kind": "fact"}, {"key": "k"}, {"data": {"a": 1}}])
def test_the_same_id_for_something_else_is_refused(other):
    stored = a_memory("Prefers tabs")
    with pytest.raises(IdTaken, match=f"id {stored.id} names another memory already") as refused:
        reconcile(replace(stored, **other), Known(same_id=stored))
    assert "Prefers tabs" not in str(refused.value)


def test_a_refusal_does_not_tell_what_another_user_stored():
    stored = a_memory("Prefers tabs")
    with pytest.raises(IdTaken) as refused:
        reconcile(replace(stored, scope=a_scope("bob")), Known(same_id=stored))
    assert "tabs" not in str(refused.value)


@given(tellings)
@settings(max_examples=100, deadline=None)
def test_a_stretch_that_is_told_again_at_once_changes_nothing(told):
    timeline = Timeline()
    for known, (start, length, content, _) in enumerate(told):
        end = None if length is None else start + length
        timeline.tell(known, start, end, content)
        rows = list(timeline.rows)
        assert timeline.tell(known, start, end, content).outcome == "unchanged"
        assert timeline.rows == rows


def test_a_history_that_is_told_again_changes_nothing():
    timeline = Timeline()
    history = [(0, None, "Bonn"), (3, None, "Rome"), (5, 7, "Oslo")]
    for start, end, content in history:
        timeline.tell(8, start, end, content)
    assert [timeline.tell(9, *told).outcome for told in history] == ["unchanged"] * 3


def test_known_words_told_of_an_earlier_time_are_news():
    stored = a_memory(valid_from=day(5), key="city")
    earlier = a_memory(valid_from=day(1), key="city")
    decision = reconcile(earlier, Known(same_words=stored, same_key=(stored,)))
    assert decision.outcome == "stored"
    assert decision.memory.valid_to == day(5)


@pytest.mark.parametrize("key", [None, "city"])
def test_the_same_told_at_once_by_two_is_one_memory_whoever_is_stored_first(key):
    later = NOW + timedelta(microseconds=9)
    stored = a_memory("Rome", key=key, created_at=later, valid_from=later)
    draft = a_memory("Rome", key=key, created_at=NOW, valid_from=NOW)
    decision = written(draft, Known(same_key=(stored,) if key else (), same_words=stored))
    assert (decision.outcome, decision.memory, decision.opens) == ("unchanged", stored, ())


AHEAD = timedelta(seconds=5)


def told_ahead(content, **told):
    """What was told of its own present by a clock that is ahead of ours."""
    return a_memory(content, **{"key": "city", "created_at": NOW + AHEAD, "valid_from": NOW + AHEAD, **told})


def current(decision, known, now):
    """What holds at present, after the decision, of what was known before it."""
    closed = {one.id for one in decision.closes}
    believed = [one for one in known if one.id not in closed] + list(decision.opens)
    return [one.content for one in believed if one.holds(now)]


@pytest.mark.parametrize("now", [NOW, NOW + AHEAD, day(1)], ids=["at-once", "when-the-clock-is-there", "later"])
@pytest.mark.parametrize(
    ("start", "wins"), [(NOW, True), (NOW + timedelta(seconds=2), True), (NOW - timedelta(hours=1), False)]
)
def test_whatever_the_clocks_say_a_key_has_the_value_that_was_told_last(now, start, wins):
    known = (told_ahead("Rome"),)
    draft = a_memory("Oslo", key="city", created_at=NOW, valid_from=start)
    decision = written(draft, Known(same_key=known))
    assert current(decision, known, now) == ["Oslo" if wins else "Rome"]
    assert decision == written(draft, Known(same_key=known))
    assert all(one.superseded_at > one.created_at for one in decision.closes)


def test_what_is_told_of_the_future_hides_nothing_that_a_clock_ahead_has_told():
    known = (told_ahead("Rome"),)
    decision = written(a_memory("Oslo", key="city", created_at=NOW, valid_from=day(1)), Known(same_key=known))
    assert decision.memory.valid_from == day(1)
    assert [current(decision, known, now) for now in (NOW, day(2))] == [["Rome"], ["Oslo"]]


def test_a_future_that_a_clock_ahead_has_told_stays_one():
    known = (told_ahead("Rome", valid_from=day(1)),)
    decision = written(a_memory("Oslo", key="city", created_at=NOW, valid_from=NOW), Known(same_key=known))
    assert (decision.memory.created_at > known[0].created_at, decision.memory.valid_to) == (True, day(1))
    assert [current(decision, known, now) for now in (NOW, day(2))] == [["Oslo"], ["Rome"]]


@pytest.mark.parametrize("key", [None, "city"])
def test_the_same_on_better_word_than_a_clock_ahead_told_it_holds_at_once(key):
    stored = told_ahead("Rome", key=key, trust=Trust.FOREIGN)
    draft = a_memory("Rome", key=key, created_at=NOW, valid_from=NOW)
    decision = written(draft, Known(same_key=(stored,) if key else (), same_words=stored))
    assert decision.outcome == "superseded"
    assert current(decision, [stored], NOW) == ["Rome"]


@pytest.mark.parametrize("key", [None, "city"])
def test_a_correction_of_what_a_clock_ahead_has_told_holds_at_once(key):
    old = told_ahead("Rom", key=key)
    draft = a_memory("Rome", key=key, created_at=NOW, valid_from=old.valid_from)
    draft = replace(told_after(old.created_at, draft), valid_from=old.valid_from)
    known = Known(same_key=(old,) if key else ())
    decision = correct(told_last(draft, known), known, old=old)
    assert (decision.memory.valid_from, current(decision, [old], NOW)) == (old.valid_from, ["Rome"])
    assert decision.closes[0].superseded_at == decision.memory.created_at > old.created_at


def test_known_words_without_a_key_told_of_an_earlier_time_replace_what_was_believed():
    stored = a_memory("Rome", created_at=day(5), valid_from=day(5))
    draft = a_memory("Rome", created_at=day(6), valid_from=day(2))
    decision = reconcile(draft, Known(same_words=stored))
    assert decision.outcome == "superseded"
    assert [one.id for one in decision.closes] == [stored.id]
    assert decision.opens == (draft,)


@pytest.mark.parametrize("key", [None, "city"])
@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"expires_at": day(3)}, {}),
        ({"expires_at": day(3)}, {"expires_at": day(9)}),
        ({"trust": Trust.FOREIGN}, {"trust": Trust.TOLD}),
    ],
    ids=["for-ever", "for-longer", "on-better-word"],
)
def test_known_words_told_for_longer_or_on_better_word_are_kept_so(key, stored, told):
    known = a_memory("Rome", key=key, created_at=day(1), valid_from=day(1), uses=4, **stored)
    draft = a_memory("Rome", key=key, created_at=day(4), valid_from=day(4), **told)
    decision = reconcile(draft, Known(same_key=(known,) if key else (), same_words=known))
    assert decision.outcome == "superseded"
    assert [(one.id, one.superseded_by) for one in decision.closes] == [(known.id, draft.id)]
    assert decision.opens == (decision.memory,)
    assert decision.memory == replace(draft, valid_from=day(1), uses=4)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({}, {"expires_at": day(9)}),
        ({"expires_at": day(9)}, {"expires_at": day(9)}),
        ({"trust": Trust.TOLD}, {"trust": Trust.FOREIGN}),
    ],
)
def test_known_words_told_for_less_or_on_weaker_word_change_nothing(stored, told):
    known = a_memory("Rome", **stored)
    assert reconcile(a_memory("Rome", **told), Known(same_words=known)).memory == known


def test_what_has_expired_takes_no_place_from_what_is_inserted():
    known = a_memory("Rome", key="city", expires_at=day(3))
    for content in ("Rome", "Oslo"):
        draft = a_memory(content, key="city", created_at=day(4), valid_from=day(4))
        state = Known(same_key=(known,), same_words=known if content == "Rome" else None)
        assert insert(draft, state).memory.content == content
        with pytest.raises(Conflict, match="has a value"):
            insert(replace(draft, created_at=day(2)), state)


def test_a_correction_closes_the_old_version_and_says_so():
    old = a_memory("Lives in Bon", key="city")
    draft = a_memory("Lives in Bonn", key="city", created_at=day(1), valid_from=old.valid_from)
    decision = correct(draft, Known(same_key=(old,)), old=old)
    assert (decision.outcome, decision.opens) == ("superseded", (draft,))
    [closed] = decision.closes
    assert (closed.id, closed.superseded_by, closed.closed_because) == (old.id, draft.id, "corrected")


def test_a_correction_that_reaches_further_replaces_what_was_there():
    old = a_memory("Lives in Bonn", key="city", valid_from=day(0), valid_to=day(3))
    next_one = a_memory("Lives in Rome", key="city", valid_from=day(3))
    draft = a_memory("Lives in Bonn", key="city", created_at=day(9), valid_from=day(0), valid_to=day(5))
    decision = correct(draft, Known(same_key=(old, next_one)), old=old)
    assert {one.id for one in decision.closes} == {old.id, next_one.id}
    rest = [one for one in decision.opens if one.id != draft.id]
    assert [(one.content, one.valid_from, one.valid_to) for one in rest] == [("Lives in Rome", day(5), None)]


def test_ids_of_what_is_left_of_a_stretch_follow_from_both():
    old = a_memory("Lives in Bonn", key="city")
    draft = a_memory("Lives in Rome", key="city", id=new_id(), created_at=day(2), valid_from=day(2))
    first, again = (reconcile(draft, Known(same_key=(old,))).opens[1] for _ in range(2))
    assert first == again
    assert first.id not in {old.id, draft.id}
    assert (first.valid_from, first.valid_to, first.created_at) == (old.valid_from, day(2), day(2))
