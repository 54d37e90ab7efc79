"""Many ids as bytes: a sequence like any other."""

from scrubjay.backends.packed import PackedIds, packed_of
from scrubjay.model import new_id


def test_packed_ids_are_a_sequence_of_ids():
    ids = [new_id() for _ in range(5)]
    packed = PackedIds([one.bytes for one in ids])
    assert list(packed) == ids
    assert packed == ids
    assert packed[1:3] == ids[1:3]
    assert (packed[0], packed[-1], len(packed)) == (ids[0], ids[-1], 5)
    assert ids[2] in packed
    assert packed != ids[:-1]
    assert PackedIds([]) == []
    assert repr(packed) == f"PackedIds({ids!r})"


def test_their_bytes_are_those_of_any_ids():
    ids = [new_id() for _ in range(3)]
    assert list(packed_of(ids)) == [one.bytes for one in ids] == list(packed_of(PackedIds([one.bytes for one in ids])))
