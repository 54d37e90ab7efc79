"""Narrow: the keywords of a verb become the filter that every store applies."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, cast

from scrubjay.errors import InvalidInput
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Json, Reach, Where, scope_of
from scrubjay.model.checks import check_flag, check_several, in_utc, shown
from scrubjay.model.remedies import instead


class Narrow(Where, total=False):
    """Which memories may answer: their place, and any of these."""

    kinds: Sequence[str]
    key: str | None
    key_prefix: str | None
    data: Mapping[str, Json] | None
    since: datetime | None
    until: datetime | None
    as_of: datetime | AsOf | None
    least_importance: float
    history: bool


_NAMES: Final = frozenset(Narrow.__annotations__) | set(PLACE_NAMES)


def filter_of(tenant: str, narrow: Narrow, *, reach: Reach, bound: str | None = None) -> Filter:
    """The filter that these keywords spell. A keyword that means nothing is refused, never ignored."""
    if all(name in PLACE_NAMES and isinstance(value, str) for name, value in narrow.items()):
        return _of_place(tenant, reach, tuple(narrow.items()), bound)
    for name, value in narrow.items():
        if name not in _NAMES:
            names = instead(name, sorted(_NAMES))
            raise InvalidInput(
                f"{name}={shown(value)} is not a known option: {names}, beside what the verb itself takes"
            )
    return Filter(
        scope=scope_of(tenant, places(narrow), bound=bound),
        reach=reach,
        kinds=_kinds(narrow.get("kinds") or ()),
        key=narrow.get("key"),
        key_prefix=narrow.get("key_prefix"),
        data=_data(narrow.get("data") or {}),
        since=in_utc("since", narrow.get("since")),
        until=in_utc("until", narrow.get("until")),
        as_of=_as_of(narrow.get("as_of")),
        least_importance=narrow.get("least_importance", 0.0),
        history=_flag("history", narrow.get("history", False)),
    )


@lru_cache(maxsize=1_000)
def _of_place(tenant: str, reach: Reach, where: tuple[tuple[str, str], ...], bound: str | None) -> Filter:
    """The filter for a place and nothing more, which is what most ask for, again and again."""
    return Filter(scope=scope_of(tenant, cast("Where", dict(where)), bound=bound), reach=reach)


def places(given: Mapping[str, object]) -> Where:
    """The keywords among these that name a place."""
    return cast("Where", {name: value for name, value in given.items() if name in PLACE_NAMES})


def _flag(field: str, value: bool) -> bool:  # noqa: FBT001 -- it is the value that is checked
    check_flag(field, value)
    return value


def _kinds(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    check_several("kinds", value)
    return tuple(value)


def _data(value: Mapping[str, Json]) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"data is {shown(value)}: use a dict of paths and what is wanted there")
    return dict(value)


def _as_of(value: datetime | AsOf | None) -> AsOf:
    """One moment means both: what we believed then about how things were then."""
    if value is None:
        return AsOf()
    if isinstance(value, AsOf):
        return value
    moment = in_utc("as_of", value)
    return AsOf(known_at=moment, valid_at=moment)
