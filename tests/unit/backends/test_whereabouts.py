"""Whereabouts find the slots of a memory, whether they are noted one by one or settled."""

import random
from uuid import UUID

import numpy as np
import pytest

from scrubjay.backends.growing import Growing
from scrubjay.backends.vectors import whereabouts
from scrubjay.backends.vectors.whereabouts import Whereabouts


class House:
    """Rows with ids that come and go, found by whereabouts, and by looking at each."""

    def __init__(self):
        self.ids, self.present = Growing(np.uint8, 16), Growing(np.bool_)
        self.found = Whereabouts(self.ids, self.present)

    def enter(self, ids):
        first = len(self.ids.all)
        owners = self.found.enter(ids, first)
        self.ids.extend(np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16))
        self.present.extend([True] * len(ids))
        self.found.settle()
        return owners

    def leave(self, ids):
        gone = self.found.leave(ids, before=len(self.ids.all))
        self.present.all[gone] = False
        return gone

    def by_hand(self, ids):
        rows = [row.tobytes() for row in self.ids.all]
        return [slot for slot, row in enumerate(rows) if row in ids and self.present.all[slot]]


@pytest.fixture(params=[0, 7, 16_384], ids=["all settled", "some settled", "as it is"])
def settled(request, monkeypatch):
    monkeypatch.setattr(whereabouts, "SETTLED", request.param)


@pytest.mark.parametrize("seed", range(3))
def test_everything_is_found_where_it_is(settled, seed):
    chance, house = random.Random(seed), House()
    everybody = [chance.randbytes(16) for _ in range(60)]
    for _ in range(80):
        some = chance.choices(everybody, k=chance.randrange(1, 9))
        if chance.random() < 0.3:
            there = house.by_hand(some)
            assert sorted(house.leave(some)) == there
        else:
            owners = house.enter(some)
            assert owners == [house.by_hand([memory])[0] for memory in some]
        asked = list(dict.fromkeys(chance.choices(everybody, k=20)))
        assert house.found.of(asked).tolist() == house.by_hand(asked)


def test_what_came_after_a_slot_stays_when_what_was_before_it_goes(settled):
    house, memory = House(), bytes(range(16))
    house.enter([memory, bytes(16), memory])
    assert sorted(house.found.leave([memory], before=2)) == [0]
    house.present.all[0] = False
    assert house.found.of([memory]).tolist() == [2]


def test_ids_that_make_the_same_number_are_told_apart(settled, monkeypatch):
    monkeypatch.setattr(whereabouts, "_keys", lambda ids: np.zeros(len(ids), np.uint64))
    house = House()
    one, two = (UUID(int=number).bytes for number in (1, 2))
    assert house.enter([one, two, one]) == [0, 1, 0]
    assert house.enter([two, one]) == [1, 0]
    assert house.found.of([two]).tolist() == [1, 3]


@pytest.mark.parametrize("shape", ["one machine", "one moment"])
def test_ids_that_have_much_in_common_make_different_numbers(shape):
    shift = 64 if shape == "one machine" else 0
    ids = b"".join(UUID(int=(number << shift) + (7 << (64 - shift))).bytes for number in range(10_000))
    assert len(np.unique(whereabouts._keys(np.frombuffer(ids, np.uint8).reshape(-1, 16)))) == 10_000


def test_many_memories_take_a_tenth_of_the_room(monkeypatch):
    house, some = House(), [UUID(int=number).bytes for number in range(2_000)]
    house.enter(some)
    before = house.found.size
    monkeypatch.setattr(whereabouts, "SETTLED", 1_000)
    house.found.settle()
    assert house.found.size < before / 10


def test_a_column_that_was_made_anew_is_settled_as_a_whole(settled):
    house, some = House(), [bytes([number]) * 16 for number in range(20)]
    house.enter([*some, some[3]])
    house.found.settle_all()
    assert house.found.of([some[3]]).tolist() == [3, 20]
    assert house.found.of(some).tolist() == list(range(21))
