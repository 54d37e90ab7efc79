"""What is encrypted, as a text that every store can keep: how it is recognized, and what may be read without a key.

Such a text has four parts: which key it needs, a fingerprint, what is encrypted in it, and words that may be searched.
The fingerprint is made with a key too: equal for equal memories, it tells nothing else to those without that key.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final, Self

from scrubjay.errors import StoreDamaged

SEAL: Final = "scrubjay-sealed:1:"
"""Begins every encrypted text. No memory may begin so: records refuse it."""

SEALED_LIMIT: Final = 64_000_000
"""Characters of an encrypted text: room for content, data and reason that are each as long as they may be."""

NO_FINGERPRINT: Final = bytes(16)
"""Of what is never compared."""


def is_sealed(text: str) -> bool:
    """Whether the text is encrypted."""
    return text.startswith(SEAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """An encrypted text, taken apart."""

    key: int
    """The number of the tenant's data key that opens it."""
    fingerprint: bytes = NO_FINGERPRINT
    body: bytes
    words: tuple[str, ...] = ()
    """What search by words may know of it, in no order; usually nothing."""

    def __str__(self) -> str:
        body = urlsafe_b64encode(self.body).decode()
        return f"{SEAL}{self.key:08x}:{self.fingerprint.hex()}:{body}:{' '.join(self.words)}"

    @classmethod
    def of(cls, text: str) -> Self:
        """The envelope that this text spells. Raises StoreDamaged when it spells none."""
        try:
            key, fingerprint, body, words = text.removeprefix(SEAL).split(":", 3)
            return cls(
                key=int(key, 16),
                fingerprint=bytes.fromhex(fingerprint),
                body=urlsafe_b64decode(body),
                words=tuple(words.split()),
            )
        except ValueError as error:
            raise StoreDamaged(f"an encrypted text is cut or changed ({error}): restore a backup") from error


def key_in(text: str) -> int | None:
    """The number of the data key that opens an encrypted text; None for any other text."""
    return int(text[len(SEAL) :][:8], 16) if is_sealed(text) else None


def fingerprint_in(text: str) -> bytes | None:
    """The fingerprint that an encrypted text carries; None for any other text."""
    return bytes.fromhex(text[len(SEAL) + 9 :][:32]) if is_sealed(text) else None


def words_in(text: str) -> list[str]:
    """The words that an encrypted text may be found by."""
    return text.rpartition(":")[2].split()
