"""Receipts: whole, of one tenant, and never the same twice."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.memories.tasks.receipts import MOST_MEMORIES, memories_of, receipt_for
from scrubjay.model import new_id


@pytest.mark.parametrize("many", [1, 2, 3, MOST_MEMORIES])
def test_a_receipt_gives_back_what_it_was_made_for(many):
    ids = [new_id() for _ in range(many)]
    receipt = receipt_for([*ids, ids[0]], "acme")
    assert memories_of(f" {receipt}\n", "acme") == ids
    assert receipt.isascii()
    assert len(receipt) < 40 + 22 * many


def test_no_two_are_alike():
    one = new_id()
    assert len({receipt_for([one], "acme") for _ in range(100)}) == 100


def test_another_tenant_cannot_use_it():
    receipt = receipt_for([new_id()], "acme")
    for tenant in ("acm", "acme ", "Acme", "default"):
        with pytest.raises(InvalidInput, match="another tenant"):
            memories_of(receipt, tenant)


def test_every_change_is_seen():
    receipt = receipt_for([new_id()], "acme")
    for place in range(4, len(receipt) - 1):
        for letter in "A_z9":
            if receipt[place] != letter:
                with pytest.raises(InvalidInput):
                    memories_of(receipt[:place] + letter + receipt[place + 1 :], "acme")
        with pytest.raises(InvalidInput):
            memories_of(receipt[:place], "acme")


@pytest.mark.parametrize("wrong", ["", "use-", "use-%%%", "use-=", "abc", "use-ä", 7, None, "use-" + "A" * 5_000])
def test_what_is_no_receipt_is_refused(wrong):
    with pytest.raises(InvalidInput, match="receipt is"):
        memories_of(wrong, "acme")
