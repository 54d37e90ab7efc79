"""Receipts: a short text that stands for the memories behind one result, so that listing stores nothing.

A receipt holds a random number, the ids of the memories, and a mark made of both and of the tenant. The mark proves
that the receipt is whole and belongs to this tenant. It is no secret and grants nothing: whoever may report a use may
also search, and which memories can be credited is decided by the scope.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b
from hmac import compare_digest
from os import urandom
from typing import Final
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import shown

_BEGINNING: Final = "use-"
_FORM: Final = re.compile(rf"{_BEGINNING}([A-Za-z0-9_-]+)")
_NONCE: Final = 8
_ID: Final = 16
_MARK: Final = 8
MOST_MEMORIES: Final = 100
"""Memories behind one receipt."""


def receipt_for(ids: Sequence[UUID], tenant: str) -> str:
    """A new receipt for these memories. No two are alike, also for the same memories."""
    body = urandom(_NONCE) + b"".join(one.bytes for one in dict.fromkeys(ids))
    return _BEGINNING + urlsafe_b64encode(body + _mark(body, tenant)).decode().rstrip("=")


def memories_of(receipt: str, tenant: str) -> list[UUID]:
    """The ids of the memories behind a receipt. Raises InvalidInput when it is not one of this tenant."""
    raw = _bytes_of(receipt)
    body, mark = raw[:-_MARK], raw[-_MARK:]
    many, rest = divmod(len(body) - _NONCE, _ID)
    if rest or not 1 <= many <= MOST_MEMORIES or not compare_digest(mark, _mark(body, tenant)):
        raise InvalidInput(
            f"receipt is {shown(receipt)}: it was changed, or given to another tenant. "
            "Use one that a search of this tenant returned, unchanged"
        )
    return [UUID(bytes=body[start : start + _ID]) for start in range(_NONCE, len(body), _ID)]


def _bytes_of(receipt: str) -> bytes:
    found = _FORM.fullmatch(receipt.strip()) if isinstance(receipt, str) else None
    if found is None:
        raise InvalidInput(f"receipt is {shown(receipt)}: use the `receipt` of a result, such as {_BEGINNING}…")
    encoded = found[1]
    # One character too many for any number of bytes: what is left is too short to be right.
    return urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)) if len(encoded) % 4 != 1 else b""


def _mark(body: bytes, tenant: str) -> bytes:
    said = len(tenant.encode()).to_bytes(4, "big") + tenant.encode() + body
    return blake2b(said, digest_size=_MARK, person=b"scrubjay-receipt").digest()
