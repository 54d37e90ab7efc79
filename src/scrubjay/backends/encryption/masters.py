"""Master keys: 32 random bytes each, from the environment or a file, which wrap the data keys of tenants."""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes
from typing import Final

from scrubjay.errors import Misconfigured

BYTES: Final = 32
SETTING: Final = "SCRUBJAY_ENCRYPTION_KEY"
FILE_SETTING: Final = "SCRUBJAY_ENCRYPTION_KEY_FILE"

_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{64}")
_REMEDY: Final = "use 32 random bytes in base 64 or hexadecimal, as `scrubjay keys generate` prints them"


@dataclass(frozen=True, slots=True)
class Master:
    """One master key. Its id follows from it and does not tell it."""

    key: bytes = field(repr=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        if len(self.key) != BYTES:
            raise Misconfigured(f"an encryption key has {len(self.key)} bytes: {_REMEDY}")
        object.__setattr__(self, "id", hmac.digest(self.key, b"scrubjay master key id", "sha256").hex()[:12])


def new_master() -> str:
    """A fresh master key, as the settings take it."""
    return urlsafe_b64encode(token_bytes(BYTES)).decode()


def masters_of(key: str, file: str) -> tuple[Master, ...]:
    """The master keys that the two settings give, in their order: the first one wraps. Raises Misconfigured.

    Keys stand one after the other, with commas or white space between; in a file, what follows a `#` is a remark.
    """
    if key and file:
        raise Misconfigured(f"{SETTING} and {FILE_SETTING} are both set: keep one of them")
    if not file:
        return tuple(_read(SETTING, [key]))
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(
            f"{FILE_SETTING} is {file!r}, which cannot be read: {error}. Check path and owner"
        ) from error
    found = tuple(_read(FILE_SETTING, [line.partition("#")[0] for line in lines]))
    if not found:
        raise Misconfigured(f"{FILE_SETTING} is {file!r}, which holds no key: {_REMEDY}")
    return found


def _read(setting: str, texts: Iterable[str]) -> list[Master]:
    words = [word for text in texts for word in text.replace(",", " ").split()]
    found: dict[str, Master] = {}
    for place, word in enumerate(words, start=1):
        try:
            master = Master(_bytes(word))
        except (ValueError, NotBase64, Misconfigured) as error:
            # Never the word itself: it is a secret, even when a letter of it is missing.
            raise Misconfigured(
                f"key {place} of {setting} has {len(word)} characters and is none: {_REMEDY}"
            ) from error
        found.setdefault(master.id, master)
    return list(found.values())


def _bytes(word: str) -> bytes:
    if _HEXADECIMAL.fullmatch(word):
        return bytes.fromhex(word)
    return urlsafe_b64decode(word.replace("+", "-").replace("/", "_").encode("ascii") + b"=" * (-len(word) % 4))
