"""Where a Qdrant is and how collections are made there, read from one URL."""

import re
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from scrubjay.errors import Misconfigured

PORT: Final = 6333
GRPC_PORT: Final = 6334
TIMEOUT: Final = 5

_SCHEMES: Final = {"qdrant": False, "qdrants": True}
_OPTIONS: Final = ("prefix", "grpc_port", "shards", "replicas", "quantization", "timeout")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_FORM: Final = "use qdrant://HOST:PORT, or qdrants:// for TLS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One Qdrant, and the collections in it whose names begin with the prefix."""

    host: str
    port: int = PORT
    tls: bool = False
    key: str = field(default="", repr=False)
    prefix: str = "scrubjay"
    grpc_port: int | None = None
    """None: found out by asking, where the port of REST is the usual one; REST otherwise."""
    shards: int | None = None
    replicas: int | None = None
    """None: the server's own default."""
    quantized: bool = False
    """Whether searches scan a copy of one byte per number first, and score the promising ones again."""
    timeout: int = TIMEOUT
    """Seconds until an answer counts as not coming."""

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise Misconfigured(
                f"prefix of Qdrant is {self.prefix!r}: use at most 100 letters, digits, underscores and hyphens"
            )

    @classmethod
    def of(cls, url: str, *, prefix: str, key: str) -> Self:
        """Read the URL; what it says wins over what is given. Raises Misconfigured, without the key."""
        parts, port = _split(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if unknown := sorted(set(options) - set(_OPTIONS)):
            raise Misconfigured(f"Qdrant has no option {', '.join(unknown)}: there are {', '.join(_OPTIONS)}")
        quantization = options.get("quantization", "none")
        if quantization not in ("none", "int8"):
            raise Misconfigured(f"quantization of Qdrant is {quantization!r}: use int8, or leave it out")
        return cls(
            host=f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname),
            port=port or PORT,
            tls=_SCHEMES[parts.scheme],
            key=unquote(parts.password or "") or key,
            prefix=options.get("prefix", prefix),
            grpc_port=_whole(options, "grpc_port", most=65_535),
            shards=_whole(options, "shards", most=10_000),
            replicas=_whole(options, "replicas", most=100),
            quantized=quantization == "int8",
            timeout=_whole(options, "timeout", most=3_600) or TIMEOUT,
        )

    @property
    def name(self) -> str:
        """The address, for people: no key, no options."""
        return f"qdrant{'s' if self.tls else ''}://{self.host}:{self.port}"

    @property
    def rest_url(self) -> str:
        """Where REST is spoken."""
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # The URL may hold a key, and so may the text of this error.
        raise Misconfigured(f"the URL of Qdrant cannot be read: {_FORM}") from error
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise Misconfigured(f"the URL of Qdrant has the scheme {parts.scheme!r} or names no host: {_FORM}")
    if parts.path.strip("/") or parts.fragment:
        raise Misconfigured(f"the URL of Qdrant at {parts.hostname} has a path: {_FORM}, with options after a `?`")
    if parts.username and not parts.password:
        raise Misconfigured(f"the URL of Qdrant at {parts.hostname} has a user: write the key as qdrant://:KEY@HOST")
    return parts, port


def _whole(options: dict[str, str], name: str, *, most: int) -> int | None:
    """The whole number that an option gives; None when it is left out."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise Misconfigured(f"{name} of Qdrant is {text!r}: use a whole number from 1 to {most:,}")
    return int(text)
