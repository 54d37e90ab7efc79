"""LangGraph's store on Scrubjay: every item is a memory, found by meaning and by words, and forgotten in its time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Unpack

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)

from scrubjay.adapters.bridge import Bridge
from scrubjay.errors import InvalidInput
from scrubjay.memories.frameworks.items import Item as Stored
from scrubjay.memories.frameworks.items import Items, Namespace, Put
from scrubjay.model import Json, Where
from scrubjay.model.checks import shown
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay

_WHOLE: Final = "$"
_OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


class ScrubjayStore(BaseStore):
    """Keeps the items of LangGraph's store in a Scrubjay memory. Every method has both forms.

    Text is found by the memory's own model, and by its words: there is nothing to configure but `fields`, the paths of
    what is read of a value when `put` does not say so (the whole of it without). The scope is given once, as keywords:
    items of another user, project, agent, session or workflow are another store's.
    """

    supports_ttl = True

    def __init__(
        self,
        jay: Scrubjay | SyncScrubjay,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        **where: Unpack[Where],
    ) -> None:
        super().__init__()
        if isinstance(fields, str):
            raise InvalidInput(f"fields is {fields!r}: give a list of paths, such as [{fields!r}]")
        self.ttl_config = ttl
        self._fields = tuple(fields) if fields is not None else (_WHOLE,)
        self._bridge = Bridge(jay)
        self._items = Items(self._bridge.jay, **where)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all of these, and return their results in their order. Reads come before writes; of writes all or none."""
        return await self._bridge.awaited(partial(self._batch, list(ops)))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """See `abatch`."""
        return self._bridge.blocking(partial(self._batch, list(ops)))

    async def _batch(self, ops: list[Op]) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        puts = [self._put(op) for op in ops if isinstance(op, PutOp)]
        results = [await self._read(op) for op in ops]
        if puts:
            await self._items.put(puts)
        return results

    async def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = await self._items.get((op.namespace, op.key))
                if found is not None and op.refresh_ttl:
                    await self._items.renew([found])
                return _item(found) if found is not None else None
            case SearchOp():
                return await self._search(op)
            case ListNamespacesOp():
                return await self._namespaces(op)
            case PutOp():
                return None
        raise InvalidInput(f"an operation is {shown(op)}: use GetOp, SearchOp, PutOp or ListNamespacesOp")

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.filter or {}
        _check_filter(wanted)
        found = await self._items.search(
            tuple(op.namespace_prefix),
            op.query or "",
            data=dict(_decidable(wanted)),
            passes=partial(_passes, wanted=wanted),
            limit=op.limit,
            offset=op.offset,
        )
        if op.refresh_ttl:
            await self._items.renew(found)
        return [_search_item(item) for item in found]

    async def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = await self._items.namespaces(_common(conditions))
        matching = {one for one in found if all(_matches(one, condition) for condition in conditions)}
        cut = {one[: op.max_depth] for one in matching} if op.max_depth is not None else matching
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _put(self, op: PutOp) -> Put:
        path = (tuple(op.namespace), op.key)
        if op.value is None:
            return Put(path=path, value=None)
        if not isinstance(op.value, Mapping):
            raise InvalidInput(f"value is {shown(op.value)}: use a dict of JSON values, or None to delete the item")
        if op.ttl is not None and op.ttl <= 0:
            raise InvalidInput(f"ttl is {op.ttl}: use minutes above zero, or None for an item that stays")
        return Put(path=path, value=dict(op.value), text=self._text(op), minutes=op.ttl)

    def _text(self, op: PutOp) -> str:
        """What the item is found by."""
        if op.index is False:
            return ""
        paths = self._fields if op.index is None else op.index
        texts = [
            text
            for path in paths
            for text in ([_readable(op.value)] if path == _WHOLE else get_text_at_path(op.value, path))
        ]
        return "\n".join(texts)


def _readable(value: object) -> str:
    """All that a value says, a line for each field; a value of one field says only that."""
    leaves = list(_leaves(value, ""))
    if len(leaves) == 1:
        return leaves[0][1]
    return "\n".join(f"{path}: {text}" for path, text in leaves)


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for name, one in value.items():
                yield from _leaves(one, f"{path}.{name}" if path else str(name))
        case list() | tuple():
            for one in value:
                yield from _leaves(one, path)
        case None:
            return
        case _:
            yield path, str(value)


def _item(stored: Stored) -> Item:
    namespace, key = stored.path
    return Item(
        namespace=namespace,
        key=key,
        value=stored.value,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )


def _search_item(stored: Stored) -> SearchItem:
    namespace, key = stored.path
    return SearchItem(
        namespace=namespace,
        key=key,
        value=stored.value,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        score=stored.score,
    )


# Namespaces


def _common(conditions: Sequence[MatchCondition]) -> Namespace:
    """The longest beginning that every namespace has that meets the conditions."""
    longest: Namespace = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            plain = path[: path.index("*")] if "*" in path else path
            longest = max(longest, plain, key=len)
    return longest


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"match_type is {shown(condition.match_type)}: use prefix or suffix")
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


# Filters


def _check_filter(wanted: Mapping[str, Any]) -> None:
    for name, condition in wanted.items():
        if isinstance(condition, Mapping):
            unknown = [one for one in condition if str(one).startswith("$") and one not in _OPERATORS]
            if unknown:
                raise InvalidInput(f"filter {name} has the operator {unknown[0]}: use one of {', '.join(_OPERATORS)}")
            _check_filter(condition)


def _decidable(wanted: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """The conditions that the store itself can decide, in its own words; the others are decided here."""
    for name, condition in wanted.items():
        if not name or "." in name or '"' in name or "\0" in name:
            continue
        if isinstance(condition, str) and "\0" not in condition:
            yield name, condition
        elif isinstance(condition, Mapping) and condition:
            bounds = {str(one).removeprefix("$"): bound for one, bound in condition.items()}
            ordered = bounds.keys() <= {"gt", "gte", "lt", "lte"}
            if ordered and all(_is_number(bound) and abs(bound) < 2**53 for bound in bounds.values()):
                yield name, bounds


def _passes(value: object, wanted: object) -> bool:
    """Whether a value is as wanted: equal, or as the operators say. Of an object, only the fields that are named."""
    match wanted:
        case Mapping():
            if any(str(name).startswith("$") for name in wanted):
                return all(_compares(value, str(name), bound) for name, bound in wanted.items())
            return isinstance(value, dict) and all(_passes(value.get(name), one) for name, one in wanted.items())
        case list() | tuple():
            if not isinstance(value, list) or len(value) != len(wanted):
                return False
            return all(_passes(one, other) for one, other in zip(value, wanted, strict=True))
    return _same(value, wanted)


def _compares(value: object, operator: str, bound: Any) -> bool:  # noqa: ANN401 -- a bound is any JSON value
    match operator:
        case "$eq":
            return _same(value, bound)
        case "$ne":
            return not _same(value, bound)
    both_numbers = _is_number(value) and _is_number(bound)
    if not both_numbers and not (isinstance(value, str) and isinstance(bound, str)):
        return False
    ordered: dict[str, Callable[[Any, Any], bool]] = {
        "$gt": lambda one, other: one > other,
        "$gte": lambda one, other: one >= other,
        "$lt": lambda one, other: one < other,
        "$lte": lambda one, other: one <= other,
    }
    return operator in ordered and ordered[operator](value, bound)


def _same(value: object, wanted: object) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
