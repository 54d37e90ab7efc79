"""Where a Redis is, read from one URL."""

from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from scrubjay.errors import Misconfigured

Kind: TypeAlias = Literal["server", "socket", "sentinel", "cluster"]

TIMEOUT: Final = 2.0
MOST_CONNECTIONS: Final = 32

_SCHEMES: Final[dict[str, tuple[Kind, bool]]] = {
    "redis": ("server", False),
    "rediss": ("server", True),
    "unix": ("socket", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_FORMS: Final[dict[Kind, str]] = {
    "server": "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]",
    "socket": "unix:///PATH[?db=DATABASE]",
    "sentinel": "redis+sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT/MASTER[/DATABASE]",
    "cluster": "redis+cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT",
}
_TLS_OPTIONS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
_OPTIONS: Final = ("timeout", "max_connections", "db", "sentinel_username", "sentinel_password", *_TLS_OPTIONS)
_PORTS: Final[dict[Kind, int]] = {"server": 6379, "socket": 0, "sentinel": 26379, "cluster": 6379}

Address: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One Redis: a server, a socket, a group that Sentinels watch, or a Cluster."""

    kind: Kind
    tls: bool = False
    addresses: tuple[Address, ...] = ()
    """The server, the Sentinels, or some nodes of the Cluster."""
    path: str = ""
    """Of a socket."""
    master: str = ""
    """The name by which Sentinels know the group."""
    database: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    """Seconds until a connection, or an answer, counts as not coming."""
    connections: int = MOST_CONNECTIONS
    """Calls that may be under way at once; the next one waits."""
    tls_options: dict[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, url: str, *, timeout: float = TIMEOUT) -> Self:
        """Read the URL; what it says wins over what is given. Raises Misconfigured, without the password."""
        parts, kind, tls = _split(url)
        options = _options(url, parts, kind)
        names = [unquote(name) for name in parts.path.split("/") if name] if kind != "socket" else []
        master = names.pop(0) if kind == "sentinel" and names else ""
        if kind == "sentinel" and not master:
            raise _wrong(url, "names no master", kind)
        if len(names) > (1 if kind in ("server", "sentinel") else 0):
            raise _wrong(url, f"has the path {parts.path!r}", kind)
        login, _, hosts = parts.netloc.rpartition("@")
        username, _, password = login.partition(":")
        return cls(
            kind=kind,
            tls=tls,
            addresses=_addresses(url, hosts, kind),
            path=unquote(parts.path) if kind == "socket" else "",
            master=master,
            database=_whole(url, "db", options.get("db", *names or ["0"]), least=0, most=100_000),
            username=unquote(username) or None,
            password=unquote(password) or None,
            sentinel_username=options.get("sentinel_username"),
            sentinel_password=options.get("sentinel_password"),
            timeout=_seconds(url, options["timeout"]) if "timeout" in options else timeout,
            connections=_whole(
                url, "max_connections", options.get("max_connections", str(MOST_CONNECTIONS)), least=2, most=10_000
            ),
            tls_options={name: options[name] for name in _TLS_OPTIONS if name in options},
        )

    @property
    def name(self) -> str:
        """The address, for people: no user, no password, no options."""
        if self.kind == "socket":
            return f"unix://{self.path}"
        scheme = "rediss" if self.tls else "redis"
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.addresses)
        group = f"/{self.master}" if self.master else ""
        database = f"/{self.database}" if self.database else ""
        return f"{scheme}{'' if self.kind == 'server' else f'+{self.kind}'}://{hosts}{group}{database}"


def _split(url: str) -> tuple[SplitResult, Kind, bool]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        # The URL may hold a password, and so may the text of this error.
        raise _wrong(url, "cannot be read") from error
    if parts.scheme not in _SCHEMES:
        raise _wrong(url, f"has the scheme {parts.scheme!r}")
    kind, tls = _SCHEMES[parts.scheme]
    if "@" in parts.path or "@" in parts.query:
        raise _wrong(url, "has a password that ends too early: write `/` in it as %2F, and `?` as %3F", kind)
    if parts.fragment:
        raise _wrong(url, "holds a `#`, which a password writes as %23", kind)
    return parts, kind, tls


def _options(url: str, parts: SplitResult, kind: Kind) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise _wrong(url, f"has the unknown option {', '.join(unknown)}; there are {', '.join(_OPTIONS)}", kind)
    if kind == "cluster" and options.get("db", "0") != "0":
        raise _wrong(url, "names a database, and a Cluster has only one", kind)
    return options


def _addresses(url: str, hosts: str, kind: Kind) -> tuple[Address, ...]:
    if kind == "socket":
        if hosts or not urlsplit(url).path:
            raise _wrong(url, "names no path", kind)
        return ()
    found = tuple(_address(url, one, kind) for one in hosts.split(","))
    if kind == "server" and len(found) > 1:
        raise _wrong(url, "names several servers: use redis+sentinel:// or redis+cluster:// for them", kind)
    return found


def _address(url: str, text: str, kind: Kind) -> Address:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(url, f"names the address {text!r}", kind) from error
    if not host:
        raise _wrong(url, "names no host", kind)
    return unquote(host), port or _PORTS[kind]


def _whole(url: str, name: str, text: str, *, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise _wrong(url, f"gives {name} as {text!r}, not as a whole number from {least} to {most:,}")
    return int(text)


def _seconds(url: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.01 <= seconds <= 60:  # no number at all fails this too
        raise _wrong(url, f"gives timeout as {text!r}, not as seconds from 0.01 to 60")
    return seconds


def _wrong(url: str, what: str, kind: Kind | None = None) -> Misconfigured:
    """An error about this URL, without what may be a password."""
    form = _FORMS[kind] if kind is not None else ", ".join(_FORMS.values()) + "; rediss for TLS"
    login, at, rest = url.rpartition("@")
    shown = f"{login.partition('://')[0]}://…@{rest.partition('?')[0]}" if at else url.partition("?")[0]
    return Misconfigured(f"SCRUBJAY_WORKING is {shown!r}, which {what}: use {form}")
