"""A line of the log for each request, verb and step: how long it took, with which stores, and what it was about."""

from collections import defaultdict
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Final, TypeAlias

from scrubjay.logs import logger
from scrubjay.ports import Stage

log = logger("operations")

LOGGED: Final[Mapping[str, tuple[str, ...]]] = {
    "request": ("method", "route", "status", "key"),
    "remember": ("tenant", "ids"),
    "recall": ("tenant", "ids", "degraded"),
    "context": ("tenant", "ids", "tokens", "degraded"),
    "forget": ("tenant", "memories", "purge"),
    "append": ("tenant", "messages"),
    "consolidate": ("step", "outcome", "done", "failed"),
}
"""The stages that have a line of their own, and the facts that stand in it."""

MOST_IDS: Final = 10
"""Ids in one line; of more, their number is told."""

_Stores: TypeAlias = dict[str, float]
_stores: ContextVar[_Stores | None] = ContextVar("scrubjay_stores", default=None)
"""The seconds that each store has taken for the verb under way."""


class OperationsLog:
    """Writes the lines at level info, or at warning for a request that ended with a server's error.

    Left out is what happens every few seconds: probes that were answered, and steps that found nothing to do.
    """

    def began(self, stage: Stage) -> Token[_Stores | None] | None:
        """Count the stores for this one from now on."""
        return _stores.set(defaultdict(float)) if stage.name in LOGGED else None

    def ended(self, stage: Stage, state: object) -> None:
        """Write its line, or count for the one around it."""
        taken = _stores.get()
        if stage.name == "store" and taken is not None:
            taken[str(stage.facts["store"])] += stage.seconds
        if not isinstance(state, Token):
            return
        _stores.reset(state)
        around = _stores.get()
        for store, seconds in (taken or {}).items():
            if around is not None:
                around[store] += seconds
        if _is_worth_a_line(stage):
            self._write(stage, taken or {})

    def _write(self, stage: Stage, taken: Mapping[str, float]) -> None:
        facts = {name: stage.facts[name] for name in LOGGED[stage.name] if stage.facts.get(name) not in (None, ())}
        if isinstance(ids := facts.get("ids"), list) and len(ids) > MOST_IDS:
            facts |= {"ids": ids[:MOST_IDS], "memories": len(ids)}
        stores = {f"{store}_ms": round(seconds * 1000, 2) for store, seconds in taken.items()}
        error = {"error": stage.error} if stage.error else {}
        failed = stage.facts.get("outcome") == "failed" or _status(stage) >= 500
        write = log.warning if failed else log.info
        write(stage.name, **facts, **error, ms=round(stage.seconds * 1000, 2), **stores)


OPERATIONS: Final = OperationsLog()
"""The one of this process: two services in it must not write every line twice."""


def _status(stage: Stage) -> int:
    status = stage.facts.get("status")
    return status if isinstance(status, int) else 0


def _is_worth_a_line(stage: Stage) -> bool:
    if stage.name == "request":
        return not stage.facts.get("is_probe") or _status(stage) >= 500
    if stage.name != "consolidate":
        return True
    return bool(stage.facts.get("done") or stage.facts.get("failed") or stage.facts.get("outcome") == "failed")
