"""Master keys as people give them, and what a data key seals and opens."""

from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace

import pytest

from scrubjay.backends.encryption.masters import Master, masters_of, new_master
from scrubjay.backends.encryption.ring import Ring, UnknownKey, decrypt, encrypt
from scrubjay.errors import Misconfigured, StoreDamaged
from scrubjay.model import Scope, new_id
from scrubjay.model.sealed import Envelope, is_sealed
from scrubjay.testing.values import NOW, a_memory

ONE, TWO = bytes(range(32)), bytes(range(1, 33))
RING = Ring("default", {0: ONE, 1: TWO})


@pytest.mark.parametrize(
    "spelled",
    [ONE.hex(), ONE.hex().upper(), b64encode(ONE).decode(), urlsafe_b64encode(ONE).decode().rstrip("=")],
)
def test_a_key_may_be_spelled_in_several_ways(spelled):
    assert masters_of(f"  {spelled}\n", "") == (Master(ONE),)


def test_the_first_of_several_keys_comes_first_and_each_once(tmp_path):
    both = (Master(TWO), Master(ONE))
    assert masters_of(f"{TWO.hex()},{ONE.hex()}, {TWO.hex()}", "") == both
    file = tmp_path / "keys"
    file.write_text(f"# the new one\n{TWO.hex()}  # since May\n\n{ONE.hex()}\n")
    assert masters_of("", str(file)) == both
    assert masters_of("", "") == ()


@pytest.mark.parametrize(
    "wrong", ["opensesame", "00" * 31, "0" * 63, "ünïcode" * 8, urlsafe_b64encode(ONE).decode()[:-4]]
)
def test_what_is_no_key_is_refused_and_not_shown(wrong):
    with pytest.raises(Misconfigured, match=r"key 2 of SCRUBJAY_ENCRYPTION_KEY .*32 random bytes") as refused:
        masters_of(f"{ONE.hex()} {wrong}", "")
    assert wrong not in str(refused.value)


def test_a_key_file_that_is_no_help_is_named(tmp_path):
    empty = tmp_path / "empty"
    empty.write_text("# later\n")
    with pytest.raises(Misconfigured, match="holds no key"):
        masters_of("", str(empty))
    with pytest.raises(Misconfigured, match=r"SCRUBJAY_ENCRYPTION_KEY_FILE is .*cannot be read"):
        masters_of("", str(tmp_path / "none"))
    with pytest.raises(Misconfigured, match="both set"):
        masters_of(ONE.hex(), str(empty))


def test_a_new_key_is_another_each_time():
    [one], [other] = masters_of(new_master(), ""), masters_of(new_master(), "")
    assert one.id != other.id
    assert "key" not in repr(one)


def test_no_nonce_and_no_derived_key_repeats():
    beginnings = {encrypt(ONE, b"the same", bound="here")[:28] for _ in range(2_000)}
    assert len({one[:16] for one in beginnings}) == len({one[16:] for one in beginnings}) == 2_000


def test_what_is_bound_elsewhere_does_not_open():
    sealed = encrypt(ONE, b"a secret", bound="here")
    assert decrypt(ONE, sealed, bound="here") == b"a secret"
    for key, text, bound in [
        (TWO, sealed, "here"),
        (ONE, sealed, "there"),
        (ONE, sealed[:-1], "here"),
        (ONE, bytes([sealed[0] ^ 1]) + sealed[1:], "here"),
        (ONE, sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:], "here"),
        (ONE, b"", "here"),
    ]:
        with pytest.raises(ValueError, match=r"does not open|[Nn]once|[Dd]ata"):
            decrypt(key, text, bound=bound)


def test_a_memory_opens_as_it_was_and_only_in_its_place():
    memory = a_memory("A secret", kind="fact", key="k", data={"deep": ["one"]}, source="s", author="a", reason="r")
    sealed = RING.seal(memory)
    assert is_sealed(sealed.content)
    assert (sealed.data, sealed.source, sealed.author, sealed.reason, sealed.key) == ({}, None, None, None, "k")
    assert RING.open(sealed) == memory
    assert RING.open(sealed).encrypted
    assert RING.open(memory) is memory
    elsewhere = [
        {"id": new_id()},
        {"scope": Scope(user="eve")},
        {"scope": Scope(tenant="evil")},
        {"kind": "note"},
        {"key": "other"},
        {"key": None},
    ]
    for change in elsewhere:
        with pytest.raises(StoreDamaged, match="changed, or moved"):
            RING.open(replace(sealed, **change))


def test_fingerprints_tell_the_same_from_the_same_and_nothing_else():
    told, again = a_memory("The same", id=new_id()), a_memory("The same", id=new_id())
    assert RING.seal(told).fingerprint == RING.seal(again).fingerprint != told.fingerprint
    assert RING.seal(told).content != RING.seal(told).content
    another = Ring("default", {0: TWO, 1: TWO})
    assert another.seal(told).fingerprint != RING.seal(told).fingerprint


def test_words_are_left_in_sight_only_when_asked_and_in_no_order():
    memory = a_memory("zebra apple mango")
    assert Envelope.of(RING.seal(memory).content).words == ()
    assert Envelope.of(RING.seal(memory, searchable=True).content).words == ("apple", "mango", "zebra")


def test_why_a_memory_was_closed_is_sealed_unless_it_is_one_word():
    for plain in ("replaced", "archived: 2026.jsonl.gz"):
        assert RING.seal(a_memory("x").closed(NOW, because=plain)).closed_because == plain
    closed = a_memory("x").closed(NOW, because="forgotten: Anna asked for it")
    sealed = RING.seal(closed)
    assert "Anna" not in sealed.closed_because
    assert RING.open(sealed) == closed
    assert (closed.is_forgotten, sealed.is_forgotten) == (True, True), "the store has to know"
    pruned = a_memory("x").closed(NOW, because="pruned: notes of Anna, forgotten by all")
    assert RING.seal(pruned).closed_because.rpartition(":")[2] == ""
    assert (pruned.is_forgotten, RING.seal(pruned).is_forgotten) == (False, False)


def test_a_newer_key_seals_and_the_older_ones_open():
    memory = a_memory("A secret")
    older = RING.seal(memory)
    newer = Ring("default", {0: ONE, 1: TWO, 2: ONE[::-1]})
    assert newer.open(older) == memory
    assert Envelope.of(newer.seal(memory).content).key == 2
    with pytest.raises(UnknownKey):
        RING.open(newer.seal(memory))


def test_a_file_keeps_its_name_and_opens_only_for_its_tenant():
    content = b"print('hello')\n" * 100
    sealed = RING.seal_file(content)
    assert b"hello" not in sealed
    assert len(sealed) < len(content)
    assert RING.open_file(sealed) == content
    assert RING.open_file(content) == content
    with pytest.raises(StoreDamaged):
        Ring("evil", RING.keys).open_file(sealed)


@pytest.mark.parametrize("broken", ["", "1:2", "zz:00:AA:", "00000001:zz:AA:", "00000001:00:A:"])
def test_a_broken_envelope_is_called_damaged(broken):
    with pytest.raises(StoreDamaged, match="cut or changed"):
        Envelope.of(f"scrubjay-sealed:1:{broken}")
