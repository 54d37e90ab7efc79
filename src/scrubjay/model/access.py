"""Who may do what: API keys and their bounds, callers, and the log of what they did."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args
from uuid import UUID

from scrubjay.errors import Forbidden, InvalidInput
from scrubjay.model.checks import check_moment, check_name, check_several, shown
from scrubjay.model.memory import Memory
from scrubjay.model.scope import Scope

Right: TypeAlias = Literal["read", "write", "admin"]

RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
"""`read` and `write` stand each for themselves; `admin` means both of them, the tenant's keys and its audit log."""

RouteClass: TypeAlias = Literal["read", "write", "heavy", "failed"]
"""What a request costs: `heavy` is what works through much of the memory. `failed` is one whose key is not valid."""

MOST_NAMES: Final = 100
"""Users, projects or agents that one key is bound to."""

HELD: Final = timedelta(seconds=8)
"""How long the name of a request is held after the last sign of life of whoever works on it.

Four times what a client waits before it sends the request again: so one that met a crash gets through.
"""

_Where = TypeVar("_Where", bound=Mapping[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The users, projects and agents that a caller is bound to. Of what is left empty, any will do.

    Inside the bounds lies what names one of these. A caller reads what lies inside and what holds for everybody, and
    writes and forgets only what lies inside. What names a user holds for nobody else: without that user, only a caller
    in whose bounds it lies reads it.

    >>> Bounds(users=("u-42",)).within({"project": "p-1"})
    {'project': 'p-1', 'user': 'u-42'}
    """

    users: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field_name, _ in _BOUND:
            names = getattr(self, field_name)
            if len(names) > MOST_NAMES:
                raise InvalidInput(f"{field_name} has {len(names)} names: bind a key to at most {MOST_NAMES}")
            for name in names:
                if name is None:
                    raise InvalidInput(f"{field_name} holds None: name one, or leave it out")
                check_name(field_name, name)

    def __bool__(self) -> bool:
        return bool(self.users or self.projects or self.agents)

    def within(self, where: _Where, *, named: bool = True) -> _Where:
        """The same keywords, with each name filled in that the bounds leave no choice of.

        Raises Forbidden for a name outside the bounds and, unless `named` is false, when several are possible and none
        is named.
        """
        if not self:
            return where
        filled: dict[str, Any] = dict(where)
        for field_name, name in _BOUND:
            allowed: tuple[str, ...] = getattr(self, field_name)
            given = where.get(name)
            if not allowed or given in allowed:
                continue
            if given is not None:
                raise Forbidden(f"{name} is {shown(given)}: this key is bound to {_listed(field_name, allowed)}")
            if len(allowed) == 1:
                filled[name] = allowed[0]
            elif named:
                raise Forbidden(f"{name} is not given: this key is bound to {_listed(field_name, allowed)}, say which")
        return cast("_Where", filled)

    def choices(self, where: _Where) -> Iterator[_Where]:
        """The same keywords with the names filled in that are left open: once for each choice that the bounds leave.

        Raises Forbidden for a name outside the bounds.
        """
        filled: dict[str, Any] = dict(self.within(where, named=False))
        left = {
            name: getattr(self, field_name)
            for field_name, name in _BOUND
            if getattr(self, field_name) and filled.get(name) is None
        }
        for names in product(*left.values()):
            yield cast("_Where", filled | dict(zip(left, names, strict=True)))

    def check(self, scope: Scope) -> None:
        """Raise Forbidden unless the scope lies inside: nothing is written anywhere else."""
        for field_name, name in _BOUND:
            allowed, given = getattr(self, field_name), getattr(scope, name)
            if allowed and given not in allowed:
                said = f"is {shown(given)}" if given is not None else "is not given"
                raise Forbidden(f"{name} {said}: this key is bound to {_listed(field_name, allowed)}")

    def sees(self, scope: Scope) -> bool:
        """Whether a caller inside the bounds reads what lies there: what is its own, and what names nobody else."""
        is_private = scope.user is not None and not self.users
        return all(
            not (allowed := getattr(self, field_name))
            or (given := getattr(scope, name)) in allowed
            or (given is None and not is_private)
            for field_name, name in _BOUND
        )

    @property
    def binding(self) -> str | None:
        """What a user's memory has to name to be read, as `Scope.bound` says it. None: nothing more."""
        return (
            None if self.users else " ".join(name for field_name, name in _BOUND if getattr(self, field_name)) or None
        )

    def check_none(self, what: str) -> None:
        """Raise Forbidden if there are any, for something that concerns more than what lies inside."""
        if self:
            raise Forbidden(f"{what} concerns more than {self}, which this key is bound to: use a key without bounds")

    def narrowed(self, other: "Bounds") -> "Bounds":
        """These and the others at once. Raises Forbidden when they have nothing in common."""
        both: dict[str, tuple[str, ...]] = {}
        for field_name, _ in _BOUND:
            mine, theirs = getattr(self, field_name), getattr(other, field_name)
            both[field_name] = tuple(name for name in theirs if name in mine) if mine and theirs else mine or theirs
            if mine and theirs and not both[field_name]:
                raise Forbidden(f"{_listed(field_name, theirs)}: bound to {_listed(field_name, mine)} already")
        return Bounds(**both)

    def __str__(self) -> str:
        parts = [_listed(name, getattr(self, name)) for name, _ in _BOUND if getattr(self, name)]
        return ", ".join(parts) or "nothing"


def bounds_of(*, users: Iterable[str] = (), projects: Iterable[str] = (), agents: Iterable[str] = ()) -> Bounds:
    """The bounds that these lists name, each name once."""
    given = {"users": users, "projects": projects, "agents": agents}
    for field_name, names in given.items():
        check_several(field_name, names)
    return Bounds(**{field_name: tuple(_once_each(names)) for field_name, names in given.items()})


def _once_each(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        # Not a set: what cannot be hashed is no name either, and the bounds say so.
        if name not in found:
            found.append(name)
    return found


_BOUND: Final = (("users", "user"), ("projects", "project"), ("agents", "agent"))


def _listed(field_name: str, names: tuple[str, ...]) -> str:
    shown_names = ", ".join(repr(name) for name in names[:5]) + (", …" if len(names) > 5 else "")
    return f"{field_name if len(names) > 1 else field_name[:-1]} {shown_names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is known of a key. The secret is not: only its hash is kept, and not here."""

    id: str
    tenant: str
    name: str
    """What its maker called it."""
    rights: tuple[Right, ...]
    bounds: Bounds = field(default_factory=Bounds)
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    """When it was last used, to the minute."""

    def __post_init__(self) -> None:
        check_name("tenant", Scope(tenant=self.tenant).tenant)
        check_key_name(self.name)
        if rights_of(self.rights) != self.rights:
            raise InvalidInput(f"rights is {shown(self.rights)}: name each once, in the order {', '.join(RIGHTS)}")
        if "admin" in self.rights and self.bounds:
            raise InvalidInput(f"an admin key cannot be bound to {self.bounds}: leave `admin` out, or the bounds")
        for moment in ("created_at", "expires_at", "revoked_at", "used_at"):
            check_moment(moment, getattr(self, moment))

    def may(self, right: Right) -> bool:
        """Whether it has this right. An admin has every right."""
        return right in self.rights or "admin" in self.rights

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        """Whether it opens anything at this moment, and if not, why."""
        if self.revoked_at is not None and self.revoked_at <= now:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


def rights_of(given: Iterable[Right]) -> tuple[Right, ...]:
    """These rights, each once and in their order. Raises InvalidInput for none, and for what is none."""
    check_several("rights", given)
    asked = list(given)
    for right in asked:
        if not isinstance(right, str) or right not in RIGHTS:
            raise InvalidInput(f"rights holds {shown(right)}: use any of {', '.join(RIGHTS)}")
    if not asked:
        raise InvalidInput(f"rights is empty: use any of {', '.join(RIGHTS)}")
    return tuple(right for right in RIGHTS if right in asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made. This is the only time that its text is known: show it, and forget it."""

    key: ApiKey
    text: str = field(repr=False)


def check_key_name(name: str) -> None:
    """What a key is called, for those who look through a list of them."""
    if name is None or (isinstance(name, str) and not name.strip()):
        raise InvalidInput(f"name is {shown(name)}: call the key something, such as 'ci'")
    check_name("name", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf the verbs are called: whoever has the files, or the holder of a key."""

    key: str | None = None
    """The id of the key. None: the library or the command line, on this machine."""
    bounds: Bounds = field(default_factory=Bounds)
    request: str = ""
    """The id of the HTTP request, if it is one."""
    seen: Memory | None = None
    """The memory that the caller is about to change, as it was read: changed only if nobody else did since."""

    @property
    def is_here(self) -> bool:
        """Whether it may look at the disk of this machine. The holder of a key is elsewhere, whatever it may write."""
        return self.key is None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Something that somebody did to the keys or took out of the memory. Names ids and places, never content."""

    number: int = 0
    """Given when it is stored: that of a later entry is greater."""
    at: datetime
    tenant: str
    key: str | None
    """Whose key it was. None: the library or the command line."""
    action: str
    """What was done, as a dotted name: key.created, key.rotated, key.revoked, memory.forgotten, memory.purged, …"""
    target: str
    """What it was done to: a key's id, or a place and how many memories."""
    ids: tuple[UUID, ...] = ()
    """The memories, as far as there is room to name them."""
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a request was answered, as it is kept for those who did not get it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What is left of a key's allowance after a request; or of an address's, whose keys are not valid."""

    kind: RouteClass
    limit: int
    """Requests …"""
    window: int
    """… in so many seconds."""
    left: int
    reset: int
    """Seconds until the oldest of those that count is over, and there is room for another."""
    refused: bool
