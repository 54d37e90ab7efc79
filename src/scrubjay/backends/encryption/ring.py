"""The keys of one tenant at work: texts and files are sealed and opened with AES-256-GCM.

Every text and every file has a key of its own, made from the data key and 16 random bytes, and a random nonce of 12
bytes: a pair of both that repeats is out of reach, however much a tenant writes. What stands beside the ciphertext in
the store (its tenant, its place, its id, its key and what it is) is authenticated with it, so that it opens nowhere
else.
"""

import hmac
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from secrets import token_bytes
from typing import Any, Final

from scrubjay.errors import KeyMissing, Misconfigured, StoreDamaged
from scrubjay.model import Memory, Scope
from scrubjay.model.memory import ARCHIVED, FORGOTTEN
from scrubjay.model.sealed import NO_FINGERPRINT, Envelope, is_sealed
from scrubjay.model.words import words_of
from scrubjay.ports.blobs import sealed_blob, sealed_parts
from scrubjay.ports.encryption import FINGERPRINTS

_SALT: Final = 16
_NONCE: Final = 12
_ALIAS: Final = 24
"""Characters, each of four bits."""
_SPEAKING: Final = ("content", "data", "source", "author", "reason")
"""What a memory says. All of it is one ciphertext."""


class UnknownKey(Exception):
    """The ring has no key of this number: another process may just have made it. 0: it has none to encrypt with."""

    def __init__(self, tenant: str, number: int) -> None:
        super().__init__(f"tenant {tenant} has no data key {number} here")
        self.tenant = tenant
        self.number = number


def encrypt(key: bytes, text: bytes, *, bound: str) -> bytes:
    """The text encrypted, so that it opens with this key and this binding only."""
    salt, nonce = token_bytes(_SALT), token_bytes(_NONCE)
    return salt + nonce + bytes(_cipher(key, salt).encrypt(nonce, text, bound.encode()))


def decrypt(key: bytes, sealed: bytes, *, bound: str) -> bytes:
    """The text that was encrypted so. Raises ValueError when key, binding or a single bit is another."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 -- an extra, and only for those who have keys

    salt, nonce, body = sealed[:_SALT], sealed[_SALT : _SALT + _NONCE], sealed[_SALT + _NONCE :]
    try:
        return bytes(_cipher(key, salt).decrypt(nonce, body, bound.encode()))
    except InvalidTag as error:
        raise ValueError("it does not open") from error


def _cipher(key: bytes, salt: bytes) -> Any:  # noqa: ANN401 -- a class of an extra, which is imported here alone
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise Misconfigured("encryption needs the package cryptography: pip install 'scrubjay[encryption]'") from error
    # One block of HKDF-Expand (RFC 5869).
    return AESGCM(hmac.digest(key, b"scrubjay text" + salt + b"\x01", "sha256"))


def bound_to(*parts: str) -> str:
    """Names as one text that no other names spell."""
    return "".join(f"{len(part)}:{part}" for part in parts)


@dataclass(frozen=True, slots=True)
class Ring:
    """The data keys of one tenant, by number."""

    tenant: str
    keys: Mapping[int, bytes] = field(repr=False)
    passed: str = ""
    """Why it may not seal any more: the tenant has a newer key that cannot be opened here. Empty while it may."""

    @property
    def newest(self) -> int:
        """The number of the key that encrypts; 0 when the tenant has none."""
        return max(self.keys, default=FINGERPRINTS)

    # Memories

    def seal(self, memory: Memory, *, searchable: bool = False) -> Memory:
        """The memory as it is stored: what it says is encrypted. `searchable` leaves its words in sight, unordered."""
        said = {name: value for name in _SPEAKING if (value := getattr(memory, name))}
        envelope = Envelope(
            key=self.newest,
            fingerprint=self._fingerprint(memory),
            body=self._encrypt(json.dumps(said, ensure_ascii=False).encode(), bound=_row(memory)),
            words=tuple(sorted(words_of(memory.speaker) + words_of(memory.content))) if searchable else (),
        )
        nothing: dict[str, Any] = {"data": {}, "source": None, "author": None, "reason": None, "encrypted": False}
        return replace(memory, content=str(envelope), closed_because=self.seal_reason(memory.closed_because), **nothing)

    def open(self, memory: Memory) -> Memory:
        """The memory as it was told. One that is not sealed comes back as it is."""
        opened: dict[str, Any] = {}
        if is_sealed(memory.content):
            envelope = Envelope.of(memory.content)
            opened = json.loads(self._decrypt(envelope, _row(memory), f"memory {memory.id}")) | {"encrypted": True}
        if memory.closed_because is not None and is_sealed(memory.closed_because):
            envelope = Envelope.of(memory.closed_because)
            opened["closed_because"] = self._decrypt(envelope, self._reasons(), f"memory {memory.id}").decode()
        return replace(memory, **opened) if opened else memory

    def seal_reason(self, because: str | None) -> str | None:
        """Why a memory is closed, as it is stored. What Scrubjay says by itself, in one word, is no secret.

        That it was forgotten stays in sight: the store lets nothing more be made from it.
        """
        if because is None or ": " not in because or because.startswith(ARCHIVED) or is_sealed(because):
            return because
        # Many memories may be closed at once for one reason, so it is bound to the tenant and to no single one.
        words = (FORGOTTEN,) if because.startswith(FORGOTTEN) else ()
        return str(Envelope(key=self.newest, body=self._encrypt(because.encode(), bound=self._reasons()), words=words))

    def _reasons(self) -> str:
        return bound_to("closed_because", self.tenant)

    def _fingerprint(self, memory: Memory) -> bytes:
        if FINGERPRINTS not in self.keys:
            return NO_FINGERPRINT
        return hmac.digest(self.keys[FINGERPRINTS], memory.fingerprint, "sha256")[: len(NO_FINGERPRINT)]

    def alias(self, name: str) -> str:
        """A word that stands for this name, whichever key encrypts now."""
        return hmac.digest(self.keys[FINGERPRINTS], bound_to("name", name).encode(), "sha256").hex()[:_ALIAS]

    # Any text, and files

    def seal_text(self, text: str, *, bound: str) -> str:
        """A text as it is stored."""
        return str(Envelope(key=self.newest, body=self._encrypt(text.encode(), bound=bound_to(self.tenant, bound))))

    def open_text(self, text: str, *, bound: str) -> str:
        """The text that was sealed so; one that is not sealed comes back as it is."""
        if not is_sealed(text):
            return text
        return self._decrypt(Envelope.of(text), bound_to(self.tenant, bound), bound).decode()

    def seal_file(self, content: bytes) -> bytes:
        """A file as it is stored. It keeps the name that follows from its content."""
        name = sha256(content).hexdigest()
        # Compressed first: afterwards there is nothing left to compress.
        body = self._encrypt(zlib.compress(content, 6), bound=bound_to("file", self.tenant, name))
        return sealed_blob(key=self.newest, name=name, body=body)

    def open_file(self, content: bytes) -> bytes:
        """The file that was sealed so; one that is not sealed comes back as it is."""
        parts = sealed_parts(content)
        if parts is None:
            return content
        key, name, body = parts
        bound = bound_to("file", self.tenant, name)
        return zlib.decompress(self._decrypt(Envelope(key=key, body=body), bound, f"file {name}"))

    def _encrypt(self, text: bytes, *, bound: str) -> bytes:
        if self.passed:
            raise KeyMissing(self.passed)
        if self.newest == FINGERPRINTS:
            raise UnknownKey(self.tenant, FINGERPRINTS)
        return encrypt(self.keys[self.newest], text, bound=bound)

    def _decrypt(self, envelope: Envelope, bound: str, what: str) -> bytes:
        if envelope.key not in self.keys or envelope.key == FINGERPRINTS:
            raise UnknownKey(self.tenant, envelope.key)
        try:
            return decrypt(self.keys[envelope.key], envelope.body, bound=bound)
        except ValueError as error:
            raise StoreDamaged(
                f"{what} of tenant {self.tenant} does not open with its data key {envelope.key}: it was changed, or "
                "moved here from elsewhere. Restore a backup"
            ) from error


def _row(memory: Memory) -> str:
    return bound_to("memory", *_place(memory.scope), str(memory.id), memory.kind, memory.key or "")


def _place(scope: Scope) -> tuple[str, ...]:
    return (scope.tenant, *(name or "" for name in scope.names()))
