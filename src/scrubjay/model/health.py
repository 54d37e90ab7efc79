"""How the parts of a memory are doing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

StoreState: TypeAlias = Literal["up", "incomplete", "down", "unknown"]
HealthState: TypeAlias = Literal["ready", "degraded", "down"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """How one store or model is doing."""

    name: str
    """Which one: its address, or its kind where it has none. Never with a password."""
    state: StoreState
    """`unknown` until it was asked for the first time; `incomplete` when it answers and lacks what it should hold."""
    since: datetime | None = None
    """Since when it is in this state, as far as this process knows."""
    error: str = ""
    """Why it is down, or what it lacks and how far it is with having it again."""
    retry: datetime | None = None
    """Before this moment it is not asked again: whoever needs it is told at once that it is down."""
    milliseconds: float | None = None
    """How long it took to answer; None when it was not asked or did not."""
    remedy: str = ""
    """What still works, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the memory is doing, part by part."""

    stores: Mapping[str, StoreHealth] = field(hash=False)
    """`records`, `vectors`, `embedder` and whatever else is configured."""
    pending: int | None = None
    """Memories that wait to be indexed by meaning; None when the records cannot be asked."""

    @property
    def state(self) -> HealthState:
        """`down` without the records, `degraded` without any other part, `ready` with all of them."""
        if self.stores["records"].state == "down":
            return "down"
        return "degraded" if any(one.state in ("down", "incomplete") for one in self.stores.values()) else "ready"
