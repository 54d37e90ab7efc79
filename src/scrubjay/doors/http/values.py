"""The values of the library as answers: the same fields under the same names, described by their own docstrings.

`answer` turns the type that a verb returns into a model for the OpenAPI document, and `plain` turns what it returned
into what that model holds. Nothing is written down twice, so a field that a value gains is in the answer, too.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, create_model

from scrubjay import model
from scrubjay.doors.http import answers
from scrubjay.model.agent_answers import CycleDiff, Resumption
from scrubjay.model.citations import CheckedCitation, Citation
from scrubjay.model.code import CodeHit, IngestReport
from scrubjay.model.episodes import Episode, RecentContext
from scrubjay.model.facts import BoostedFact, Fact, FactContext
from scrubjay.model.patterns import Family, Indicator, Prediction, TaskPattern
from scrubjay.model.similar import Credit, SimilarTask
from scrubjay.model.work import Trouble
from scrubjay.model.workspace_answers import Backfilled, Pruned, WorkspaceHit, WorkspaceStats

BY_HAND: Final[dict[type, Any]] = {
    model.Memory: answers.Memory,
    model.Remembered: answers.Remembered,
    Citation: answers.Citation,
    CheckedCitation: answers.CheckedCitation,
    model.Hit: answers.Hit,
    model.Hits: answers.Hits,
    model.ContextItem: answers.ContextItem,
    model.Context: answers.Context,
    model.ForgetReceipt: answers.ForgetReceipt,
    model.Scope: answers.Scope,
}
"""The values that every memory answers with: what is empty is left out of these."""

ALSO: Final[dict[type, tuple[str, ...]]] = {
    BoostedFact: ("was_clamped", "explanation"),
    Backfilled: ("found",),
    CodeHit: ("state", "warning"),
    CycleDiff: ("steps",),
    Credit: ("reused_count",),
    Episode: ("at", "role"),
    Fact: ("type", "level", "execution", "is_deleted"),
    FactContext: ("categories",),
    Family: ("success_rate",),
    Indicator: ("rate", "other_rate", "evidence"),
    IngestReport: ("touched",),
    Prediction: ("has_basis",),
    Pruned: ("bytes",),
    RecentContext: ("text",),
    Resumption: ("waiting", "proposal"),
    SimilarTask: ("reused_count", "similarity_score"),
    TaskPattern: ("pattern_id", "confidence_score", "success_rate"),
    Trouble: ("id",),
    WorkspaceHit: ("is_advice",),
    WorkspaceStats: ("completions", "bytes"),
}
"""What a value works out, and a reader of JSON could not, or not easily."""

NOT_TOLD: Final = frozenset({"tenant", "body"})
"""The tenant is the key's, and what is kept of something that failed is for whoever runs the installation."""


def answer(kind: Any) -> Any:  # noqa: ANN401 -- a type, as `typing` writes it
    """The type of an answer that holds this type of the library: of a dataclass, a model with its fields."""
    if kind in BY_HAND:
        return BY_HAND[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return _model(kind)
    if kind is timedelta:
        return float
    if isinstance(kind, type) and issubclass(kind, Path):
        return str
    return _composed(kind)


def _composed(kind: Any) -> Any:  # noqa: ANN401 -- see `answer`
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [answer(one) for one in inner]
        return JsonValue if dict[str, JsonValue] in kinds else Union[tuple(kinds)]  # noqa: UP007 -- of as many as there are
    if origin is Literal or origin is None:
        return kind
    if issubclass(origin, Mapping):
        return dict[str, answer(inner[1])]  # type: ignore[misc]  # a type that is known when it runs
    if issubclass(origin, Sequence | AbstractSet):
        return list[answer(inner[0])]  # type: ignore[misc]  # the same
    return kind


@cache
def _model(kind: type) -> type[BaseModel]:
    notes, hints = _notes(kind), get_type_hints(kind, localns={"Json": JsonValue})
    given: dict[str, Any] = {
        one.name: _field(one.name, answer(hints[one.name]), notes.get(one.name))
        for one in fields(kind)
        if one.name not in NOT_TOLD
    }
    for name in ALSO.get(kind, ()):
        getter = getattr(kind, name).fget
        found = get_type_hints(getter, localns={"Json": JsonValue})["return"]
        given[name] = _field(name, answer(found), inspect.getdoc(getter))
    return create_model(
        kind.__name__,
        __config__=ConfigDict(extra="forbid", populate_by_name=True),
        __doc__=inspect.getdoc(kind),
        **{_spoken(name): field for name, field in given.items()},
    )


def _field(name: str, kind: Any, note: str | None) -> tuple[Any, Any]:  # noqa: ANN401 -- see `answer`
    may_miss = NoneType in get_args(kind)
    return kind, Field(default=None if may_miss else ..., description=note, title=_spoken(name))


def _spoken(name: str) -> str:
    """The name as JSON has it: Python wants `as_`, since `as` is a word of its own."""
    return name.rstrip("_")


def _notes(kind: type) -> dict[str, str]:
    """What stands below each field in the source of a class, by the name of the field."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        body = _classes(base.__module__).get(base.__name__, [])
        for statement, below in pairwise(body):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as note)):
                    found[name] = inspect.cleandoc(note)
    return found


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}  # Installed without sources: the fields have names, and no descriptions.
    return {one.name: one.body for one in ast.parse(source).body if isinstance(one, ast.ClassDef)}


def plain(value: Any) -> Any:  # noqa: ANN401 -- whatever a verb returns
    """What a verb returned, as its answer holds it."""
    if (by_hand := BY_HAND.get(type(value))) is not None:
        return by_hand.of(value)
    if is_dataclass(kind := type(value)):
        return {_spoken(name): plain(getattr(value, name)) for name in _told(kind)}
    match value:
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case str() | bytes():
            return value
        case Sequence() | AbstractSet():
            return [plain(one) for one in value]
        case timedelta():
            return value.total_seconds()
        case Path():
            return str(value)
    return value


_ANY: Final[TypeAdapter[Any]] = TypeAdapter(Any)

_AT_ONCE: Final = 20
"""Things of a list that are written in one go: nobody else computes meanwhile."""


def written(adapter: TypeAdapter[Any], value: Any) -> bytes:  # noqa: ANN401 -- whatever a verb returns
    """What a verb returned as JSON, checked as FastAPI checks what it writes by itself, and written piece by piece."""
    return b"".join(_pieces(adapter.validate_python(plain(value), from_attributes=True)))


def _pieces(value: Any) -> Iterator[bytes]:  # noqa: ANN401 -- see `written`
    match value:
        case BaseModel():
            names = [name for name in type(value).model_fields if name in value.model_fields_set]
            for place, name in enumerate(names):
                spoken = type(value).model_fields[name].alias or name
                yield b"%s%s:" % (b"," if place else b"{", _ANY.dump_json(spoken))
                yield from _pieces(getattr(value, name))
            yield b"}" if names else b"{}"
        case list() if len(value) > _AT_ONCE:
            for start in range(0, len(value), _AT_ONCE):
                some = _ANY.dump_json(value[start : start + _AT_ONCE], exclude_unset=True, by_alias=True)
                yield (b"," if start else b"[") + some[1:-1]
            yield b"]"
        case _:
            yield _ANY.dump_json(value, exclude_unset=True, by_alias=True)


@cache
def _told(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 -- a dataclass
    own = (one.name for one in fields(kind) if one.name not in NOT_TOLD)
    return (*own, *ALSO.get(kind, ()))
