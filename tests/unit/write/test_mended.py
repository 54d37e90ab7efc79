"""Mending a key that a file tells of many times: as if each had been told alone, and only neighbours are looked at."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from scrubjay.model import new_id
from scrubjay.testing import NOW, a_memory
from scrubjay.write import reconcile
from scrubjay.write.reconcile import into_timeline, mended


def told(number, *, start, length=None):
    begin = NOW + timedelta(hours=start)
    return replace(
        a_memory(f"the port is {number}", key="port"),
        id=new_id(),
        created_at=NOW + timedelta(seconds=number),
        valid_from=begin,
        valid_to=begin + timedelta(hours=length) if length is not None else None,
    )


def one_after_the_other(believed):
    """What `mended` says of a key, looking at the whole timeline each time."""
    timeline, changed = [], {}
    for one in sorted(believed, key=lambda one: (one.created_at, one.id)):
        decision = into_timeline(one, timeline)
        gone = {closed.id: closed for closed in decision.closes}
        timeline = [each for each in timeline if each.id not in gone] + list(decision.opens)
        changed |= gone | {opened.id: opened for opened in decision.opens if opened != one}
    return changed


@pytest.mark.parametrize("seed", range(20))
def test_it_is_as_if_each_had_been_told_alone(seed):
    chance = random.Random(seed)
    believed = [
        told(number, start=chance.randrange(20), length=chance.choice([None, 1, 3, 10])) for number in range(40)
    ]
    believed = [replace(one, encrypted=chance.random() < 0.02) for one in believed]
    found = {one.id: one for one in mended(believed)}
    wanted = one_after_the_other(believed)
    assert found == wanted
    assert {one: memory.encrypted for one, memory in found.items()} == {
        one: memory.encrypted for one, memory in wanted.items()
    }


def test_only_what_lies_beside_it_is_looked_at(monkeypatch):
    looked_at = []

    def counting(draft, stretches):
        looked_at.append(len(stretches))
        return into_timeline(draft, stretches)

    monkeypatch.setattr(reconcile, "into_timeline", counting)
    changed = mended([told(number, start=number) for number in range(3_000)])
    assert max(looked_at) <= 3
    assert len(changed) > 0
