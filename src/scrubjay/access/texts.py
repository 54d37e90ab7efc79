"""The text of a key: `sj_`, an id that may be shown, `_`, and a secret that is shown once."""

import re
import secrets
from hashlib import sha256
from typing import Final

_FORM: Final = re.compile(r"sj_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


def new_text() -> str:
    """A key that nobody has: 64 random bits to find it by, and 256 to prove it with."""
    return f"sj_{secrets.token_hex(8)}_{secrets.token_urlsafe(32)}"


def parts_of(text: object) -> tuple[str, bytes] | None:
    """The id, and the digest of the secret; None for what cannot be a key.

    A plain hash is right here: nobody can try all of 2²⁵⁶ secrets, however fast one try is.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    return (found[1], sha256(found[2].encode()).digest()) if found else None
