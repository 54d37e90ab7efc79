"""What is asked: a filter says which memories may answer, a query says what is looked for among them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Final, Literal, TypeAlias, get_args

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import (
    Json,
    check_fraction,
    check_kind,
    check_moment,
    check_name,
    check_order,
    check_storable,
    check_whole,
    shown,
)
from scrubjay.model.memory import QUIET_KINDS, Memory
from scrubjay.model.scope import Scope
from scrubjay.model.workspace import REJECTED_KIND

Mode: TypeAlias = Literal["hybrid", "meaning", "words"]
Reach: TypeAlias = Literal["sees", "holds"]
Order: TypeAlias = Literal["newest", "oldest"]

MOST_HITS: Final = 1_000
MOST_KINDS: Final = 100
"""Kinds in one filter. Every store compares each memory with each of them."""

MOST_CONDITIONS: Final = 100
MOST_VALUES: Final = 500
"""Of a filter by `data`, and the values that they compare with, of all together. Each makes a question longer, and what
is longer than SQLite can read would be taken for an outage."""

UNASKED_KINDS: Final = QUIET_KINDS | {REJECTED_KIND}
"""Kinds that a reader has to name: what programs keep for themselves, and jobs that were rejected."""

COMPARISONS: Final = ("gt", "gte", "lt", "lte", "ne", "in", "exists")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """A point in both times: what we believed at `known_at` to hold at `valid_at`. None is now."""

    known_at: datetime | None = None
    valid_at: datetime | None = None

    def __post_init__(self) -> None:
        check_moment("known_at", self.known_at)
        check_moment("valid_at", self.valid_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories may answer. Every store applies all of it before it counts to a limit.

    `matches` is the definition; a store may reach the same answer in its own way.
    """

    scope: Scope
    reach: Reach = "sees"
    """`sees`: all that concerns a reader in the scope. `holds`: only what lies inside it."""
    kinds: tuple[str, ...] = ()
    """Only these. Without any, a reader (`sees`) meets every kind but those of `UNASKED_KINDS`."""
    key: str | None = None
    key_prefix: str | None = None
    data: dict[str, Json] = field(default_factory=dict, hash=False)
    """Dotted path → a value it equals, a list it is one of, or comparisons such as `{"gte": 3, "lt": 10}`."""
    since: datetime | None = None
    """Held in the world from here on (`valid_from`), this moment included …"""
    until: datetime | None = None
    """… and before here."""
    as_of: AsOf = field(default_factory=AsOf)
    least_importance: float = 0.0
    history: bool = False
    """Also what is no longer believed or no longer holds. `as_of` then has nothing to say."""

    def __post_init__(self) -> None:
        if not isinstance(self.kinds, tuple):
            raise InvalidInput(f"kinds is {shown(self.kinds)}: use a sequence of words, such as ('fact', 'rule')")
        if len(self.kinds) > MOST_KINDS:
            raise InvalidInput(
                f"kinds has {len(self.kinds):,} words: use at most {MOST_KINDS}, or leave it out for all"
            )
        for kind in self.kinds:
            check_kind(kind)
        check_name("key", self.key)
        check_name("key_prefix", self.key_prefix)
        check_moment("since", self.since)
        check_moment("until", self.until)
        check_order("since", self.since, "until", self.until)
        check_fraction("least_importance", self.least_importance)
        if self.data:
            _check_size(self.data)
        for path, wanted in self.data.items():
            _check_condition(path, wanted)

    @property
    def is_plain(self) -> bool:
        """Whether scope, kinds and the present moment are all it asks, which every index knows by itself."""
        return not (
            self.key
            or self.key_prefix
            or self.data
            or self.since
            or self.until
            or self.history
            or self.least_importance
            or self.as_of.known_at
            or self.as_of.valid_at
        )

    @property
    def leaves_out(self) -> frozenset[str]:
        """The kinds that may not answer although no kinds are named."""
        return UNASKED_KINDS if self.reach == "sees" and not self.kinds else frozenset()

    def admits(self, scope: Scope) -> bool:
        """Whether memories of that scope may answer."""
        return self.scope.sees(scope) if self.reach == "sees" else self.scope.holds(scope)

    def matches(self, memory: Memory, now: datetime) -> bool:
        """Whether this memory may answer."""
        return (
            self.admits(memory.scope)
            and (memory.kind in self.kinds if self.kinds else memory.kind not in self.leaves_out)
            and (self.key is None or memory.key == self.key)
            and (self.key_prefix is None or (memory.key or "").startswith(self.key_prefix))
            and memory.importance >= self.least_importance
            and (self.since is None or memory.valid_from >= self.since)
            and (self.until is None or memory.valid_from < self.until)
            and (self.history or (self._is_believed(memory) and self._holds(memory, now)))
            and all(meets(value_at(memory.data, path), wanted) for path, wanted in self.data.items())
        )

    def _is_believed(self, memory: Memory) -> bool:
        # At present, all that is stored and not closed: clocks of others may be ahead, and nobody tells of tomorrow.
        known_at = self.as_of.known_at
        return memory.superseded_at is None if known_at is None else memory.believed_at(known_at)

    def _holds(self, memory: Memory, now: datetime) -> bool:
        valid_at = self.as_of.valid_at
        return memory.holds(now) if valid_at is None else memory.held_at(valid_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question: its words, where it is asked, and how many answers are wanted."""

    text: str
    filter: Filter
    limit: int = 10
    mode: Mode = "hybrid"
    least_similarity: float | None = None
    """Leave out what is less similar in meaning. What was found by its words alone was not compared, and stays."""
    explain: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInput(f"query is {shown(self.text)}: give it as text")
        check_whole("limit", self.limit, least=1, most=MOST_HITS)
        if self.mode not in get_args(Mode):
            raise InvalidInput(f"mode is {shown(self.mode)}: use one of {', '.join(get_args(Mode))}")
        if self.least_similarity is not None:
            check_fraction("least_similarity", self.least_similarity)


def check_listed(order: Order) -> None:
    """Newest or oldest first."""
    if order not in get_args(Order):
        raise InvalidInput(f"order is {shown(order)}: use one of {', '.join(get_args(Order))}")


def value_at(data: Mapping[str, Json], path: str) -> Json:
    """The value at a dotted path, or None."""
    value: Json = dict(data)
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def meets(value: Json, wanted: Json) -> bool:
    """Whether a value meets a condition of `Filter.data`. Values of another type than asked for never do."""
    if isinstance(wanted, list):
        return any(_same(value, one) for one in wanted)
    if isinstance(wanted, dict):
        return all(_compares(value, name, bound) for name, bound in wanted.items())
    return _same(value, wanted)


def _same(value: Json, wanted: Json) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _compares(value: Json, name: str, bound: Json) -> bool:
    match name:
        case "exists":
            return (value is not None) == bound
        case "ne":
            return not _same(value, bound)
        case "in":
            return isinstance(bound, list) and any(_same(value, one) for one in bound)
    if isinstance(value, bool) or isinstance(bound, bool):
        return False
    if isinstance(value, int | float) and isinstance(bound, int | float):
        return {"gt": value > bound, "gte": value >= bound, "lt": value < bound, "lte": value <= bound}[name]
    if isinstance(value, str) and isinstance(bound, str):
        return {"gt": value > bound, "gte": value >= bound, "lt": value < bound, "lte": value <= bound}[name]
    return False


def _check_size(data: Mapping[str, Json]) -> None:
    if len(data) > MOST_CONDITIONS:
        raise InvalidInput(f"data filter has {len(data):,} conditions: use at most {MOST_CONDITIONS}")
    values = sum(_values(wanted) for wanted in data.values())
    if values > MOST_VALUES:
        raise InvalidInput(f"data filter has {values:,} values: use at most {MOST_VALUES}, and ask several times")


def _values(wanted: Json) -> int:
    """How many values a condition compares with."""
    among = wanted.get("in") if isinstance(wanted, dict) else wanted
    others = len(wanted) if isinstance(wanted, dict) else 0
    return others + (len(among) if isinstance(among, list) else 1)


def _check_condition(path: str, wanted: Json) -> None:
    check_storable("data filter", str(path))
    if not isinstance(path, str) or not path or not all(path.split(".")) or '"' in path:
        raise InvalidInput(f"data filter has the path {shown(path)}: use names joined by dots, such as 'job.language'")
    match wanted:
        case None:
            return
        case list() if all(_is_comparable(one) for one in wanted):
            return
        case dict() if wanted and set(wanted) <= set(COMPARISONS):
            one_of = wanted.get("in", [])
            bounds = [bound for name, bound in wanted.items() if name not in ("in", "exists")]
            if (
                all(_is_comparable(bound) for bound in bounds)
                and isinstance(wanted.get("exists", True), bool)
                and isinstance(one_of, list)
                and all(_is_comparable(one) for one in one_of)
            ):
                return
        case _ if _is_comparable(wanted):
            return
    raise InvalidInput(
        f"data filter {path} is {shown(wanted)}: use a value, a list of values, "
        f"or comparisons of {', '.join(COMPARISONS)}"
    )


def _is_comparable(value: Json) -> bool:
    """Whether a store can compare with it. Raises InvalidInput for a text or a number that none can hold."""
    if isinstance(value, str):
        check_storable("data filter", value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(f"data filter has the number {value}: use one of at most 64 bits")
    return isinstance(value, bool | str | int) or (isinstance(value, float) and isfinite(value))
