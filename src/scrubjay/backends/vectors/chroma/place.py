"""Where a Chroma is: a server, or a folder that this process opens by itself. Read from one URL."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from scrubjay.errors import Misconfigured

PORT: Final = 8000
TIMEOUT: Final = 5
PREFIX: Final = "scrubjay"

_SCHEMES: Final = {"chroma": False, "chromas": True}
_OPTIONS: Final = {"server": ("prefix", "tenant", "database", "timeout"), "folder": ("prefix",)}
# What is appended still has to fit, and a name of Chroma begins with a letter or a digit.
_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_FORM: Final = "use chroma://HOST:PORT, chromas:// for TLS, or chroma:/path/to/folder for one in this process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One Chroma server, and the collections in it whose names begin with the prefix."""

    host: str
    port: int = PORT
    tls: bool = False
    key: str = field(default="", repr=False)
    prefix: str = PREFIX
    tenant: str = "default_tenant"
    database: str = "default_database"
    """Chroma's own two levels, for those who have several."""
    timeout: int = TIMEOUT
    """Seconds until an answer counts as not coming."""

    def __post_init__(self) -> None:
        _check_prefix(self.prefix)

    @property
    def name(self) -> str:
        """The address, for people: no key, no options."""
        return f"chroma{'s' if self.tls else ''}://{self.host}:{self.port}"

    @property
    def root(self) -> str:
        """Where the second version of its REST interface begins."""
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}/api/v2"

    @property
    def collections(self) -> str:
        """Where the collections are."""
        tenant, database = quote(self.tenant, safe=""), quote(self.database, safe="")
        return f"{self.root}/tenants/{tenant}/databases/{database}/collections"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder that holds a Chroma, and the collections in it whose names begin with the prefix."""

    path: Path
    prefix: str = PREFIX

    def __post_init__(self) -> None:
        _check_prefix(self.prefix)

    @property
    def name(self) -> str:
        """The folder, for people."""
        return f"chroma:{self.path}"


def place_of(url: str, *, prefix: str, key: str, beside: Path | None) -> Place | Folder:
    """Read the URL; what it says wins over what is given. `beside` is the folder that `chroma:` alone means.

    Raises Misconfigured, without the key.
    """
    parts, port = _split(url)
    if parts.netloc:
        return _server(parts, port, prefix=prefix, key=key)
    if parts.scheme == "chromas":
        raise Misconfigured(f"chromas: names no host: {_FORM}")
    path = Path(unquote(parts.path)) if parts.path else beside
    if path is None:
        raise Misconfigured("chroma: names no folder, and there is no SQLite file to put it beside: write chroma:/path")
    options = _options(parts, "folder")
    return Folder(path=path.expanduser().absolute(), prefix=options.get("prefix", prefix))


def _server(parts: SplitResult, port: int | None, *, prefix: str, key: str) -> Place:
    if not parts.hostname:
        raise Misconfigured(f"the URL of Chroma names no host: {_FORM}")
    if parts.path.strip("/"):
        raise Misconfigured(f"the URL of Chroma at {parts.hostname} has a path: {_FORM}, with options after a `?`")
    if parts.username and not parts.password:
        raise Misconfigured(f"the URL of Chroma at {parts.hostname} has a user: write the key as chroma://:KEY@HOST")
    options = _options(parts, "server")
    given = {name: options[name] for name in ("tenant", "database") if options.get(name)}
    return Place(
        host=f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname,
        port=port or PORT,
        tls=_SCHEMES[parts.scheme],
        key=unquote(parts.password or "") or key,
        prefix=options.get("prefix", prefix),
        timeout=_seconds(options.get("timeout", str(TIMEOUT))),
        **given,
    )


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # The URL may hold a key, and so may the text of this error.
        raise Misconfigured(f"the URL of Chroma cannot be read: {_FORM}") from error
    if parts.scheme not in _SCHEMES:
        raise Misconfigured(f"the URL of Chroma has the scheme {parts.scheme!r}: {_FORM}")
    if parts.fragment:
        raise Misconfigured(f"the URL of Chroma has a part after a #: write it as %23, or {_FORM}")
    return parts, port


def _options(parts: SplitResult, kind: str) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(set(options) - set(_OPTIONS[kind])):
        known = ", ".join(_OPTIONS[kind])
        raise Misconfigured(f"a Chroma {kind} has no option {', '.join(unknown)}: there is {known}")
    return options


def _seconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3_600:
        raise Misconfigured(f"timeout of Chroma is {text!r}: use a whole number from 1 to 3,600")
    return int(text)


def _check_prefix(prefix: str) -> None:
    if not _PREFIX.fullmatch(prefix):
        raise Misconfigured(
            f"prefix of Chroma is {prefix!r}: use at most 100 letters, digits, underscores and hyphens, a letter or a "
            "digit first"
        )
