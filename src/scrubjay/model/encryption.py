"""What is encrypted, with which keys, and what changing them did."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

Encrypt: TypeAlias = Literal["none", "agents", "all"]
"""Which memories are encrypted without being asked: none, those of agents, or all."""

EncryptedSearch: TypeAlias = Literal["none", "meaning", "words"]
"""How encrypted memories are found: by place, key and time alone; by meaning too; or by their words as well."""

AGENT_KINDS: Final = frozenset({"agent", "cycle", "proposal", "result", "snapshot"})
"""What `agents` encrypts: directives, states, proposals, results, and which files there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """One data key of a tenant. The key itself never leaves the process that uses it."""

    number: int
    """They count from 1; the highest one encrypts, and all of them open."""
    master: str
    """The id of the master key that it is wrapped with."""
    created_at: datetime
    rows: int = 0
    """Memories of the tenant that need it, every version counted."""
    others: dict[str, int] = field(default_factory=dict)
    """What else of the tenant needs it, and how many: `files`, `kept answers`, `archived episodes` and others."""

    @property
    def is_needed(self) -> bool:
        """Whether anything that could be read needs it."""
        return bool(self.rows or any(self.others.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionStatus:
    """What is encrypted, and with which keys."""

    encrypt: Encrypt
    search: EncryptedSearch
    masters: tuple[str, ...] = ()
    """The ids of the master keys that are configured. The first one wraps; all of them open."""
    wrapped: dict[str, int] = field(default_factory=dict)
    """How many data keys, of all tenants, each master key wraps."""
    keys: tuple[DataKey, ...] = ()
    """Those of this tenant, oldest first."""
    plain: int = 0
    """Memories of this tenant that are not encrypted, every version counted."""
    unread: tuple[str, ...] = ()
    """What could not be read, one sentence each: it may need any key."""

    @property
    def unneeded(self) -> tuple[str, ...]:
        """Configured master keys that wrap nothing and are not the first: they can be taken out."""
        return tuple(one for one in self.masters[1:] if one not in self.wrapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation of encryption keys did, over all tenants."""

    master: str
    """The id of the master key that wraps every data key now."""
    wrapped: int = 0
    """Data keys that another one wrapped before."""
    added: int = 0
    """Tenants that got a new data key."""
    rows: int = 0
    """Memories, every version counted, that are stored anew."""
    files: int = 0
    """Files that are stored anew."""
    others: dict[str, int] = field(default_factory=dict)
    """What else is stored anew, by what it is: `messages and scratch values`, `kept answers`, `archived episodes`, …"""
    left: dict[str, int] | None = None
    """What still needs an older data key, or is not encrypted and should be, by what it is; counted at the end.

    None when nothing was to be stored anew, and so nothing was counted."""
    unread: tuple[str, ...] = ()
    """What could not be read, one sentence each: it may need an older key."""

    @property
    def is_complete(self) -> bool:
        """Whether it was counted that no older data key is needed any more."""
        return self.left is not None and not any(self.left.values()) and not self.unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroyed:
    """What became of the data keys, of all tenants, that do not encrypt any more."""

    keys: int = 0
    """Those that are gone for good."""
    needed: int = 0
    """Those that stay since something needs them."""
    recent: int = 0
    """Those that stay since they encrypted a short while ago: what they encrypted may be on its way still."""
