"""Body: what every request carries is one, and what many of them have: a place, a filter, a moment, a page."""

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    Strict,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema

from scrubjay import model
from scrubjay.errors import InvalidInput
from scrubjay.model.checks import in_utc, shown, written_out
from scrubjay.model.query import MOST_KINDS

Moment: TypeAlias = Annotated[
    AwareDatetime,
    Strict(strict=False),  # JSON has no moments: they are written as text.
    BeforeValidator(written_out),
    AfterValidator(lambda given: in_utc("the moment", given)),
    Field(examples=["2026-03-01T12:00:00Z"]),
]

LONGEST_SECONDS: Final = 10 * 365 * 86_400
"""Ten years, as long as anything is let live."""

Seconds: TypeAlias = Annotated[
    float,
    Field(gt=0, le=LONGEST_SECONDS, examples=[3600]),
    AfterValidator(lambda given: timedelta(seconds=given)),
]
"""A stretch of time, given as a number of seconds."""

Data: TypeAlias = dict[str, JsonValue]

MOST_NAMES: Final = 1_000
"""Names in one object. No object takes as many, and of those that are not known each would be a fault of its own."""

MOST_AT_ONCE: Final = 10_000
"""Things that one request tells, and items of any other list in it but one of kinds. All are checked before any is
stored, and everybody else waits meanwhile."""


Kinds: TypeAlias = Annotated[list[str], Field(max_length=MOST_KINDS)]
Values: TypeAlias = Annotated[list[JsonValue], Field(max_length=MOST_AT_ONCE)]
ToolCalls: TypeAlias = Annotated[list[Data], Field(max_length=MOST_AT_ONCE)]
Words: TypeAlias = Annotated[list[str], Field(max_length=MOST_AT_ONCE)]


def shaped(example: dict[str, Any]) -> ConfigDict:
    """A body that refuses names it does not know, and an example of it."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


def _end_early(schema: object) -> None:
    """Let every list end at its first item that is wrong: one of millions took gigabytes to tell of all of them."""
    match schema:
        case dict():
            if schema.get("type") == "list":
                schema["fail_fast"] = True
            for part in schema.values():
                _end_early(part)
        case list() | tuple():
            for part in schema:
                _end_early(part)


class Body(BaseModel):
    """Something that a request carries: in its body, or in its query.

    In a body, a number is a number and a text is a text: nothing is taken for what it only looks like. A null is the
    same as a field left out, but where null is a value: `half_life` and `expires_at`.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        if len(given) > MOST_NAMES:
            raise InvalidInput(f"an object has {len(given):,} names: there are {len(cls.model_fields)}, see /docs")
        return {name: value for name, value in given.items() if value is not None or name not in _left_out(cls)}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 -- pydantic's own signature
        schema = handler(source)
        _end_early(schema)
        return schema

    def keywords(self) -> dict[str, Any]:
        """What was given, as the keywords of the verb; what was left out is the verb's to decide."""
        return {name: _given(getattr(self, name)) for name in type(self).model_fields if name in self.model_fields_set}


@cache
def _left_out(kind: type[Body]) -> frozenset[str]:
    """The fields of a body for which null means that they are left out: they have a default, and cannot be null."""
    return frozenset(
        field.alias or name
        for name, field in kind.model_fields.items()
        if not field.is_required() and NoneType not in get_args(field.annotation)
    )


def _given(value: object) -> object:
    match value:
        case Body():
            return value.keywords()
        case list():
            return [_given(one) for one in value]
    return value


class Place(Body):
    """Where: any of these. What is left out is open. The tenant is never part of a request."""

    user: str | None = Field(default=None, description="Only for this user.", examples=["u-42"])
    project: str | None = Field(default=None, description="Only in this project.")
    agent: str | None = Field(default=None, description="Only for this agent.")
    session: str | None = Field(default=None, description="Only in this session.")
    workflow: str | None = Field(default=None, description="Only in this workflow.")

    def where(self) -> model.Where:
        """The place alone, as the keywords of a verb."""
        given = self.keywords()
        return cast("model.Where", {name: given[name] for name in model.PLACE_NAMES if name in given})


class AsOf(Body):
    """A point in both times. What is left out is now."""

    known_at: Moment | None = Field(default=None, description="What we believed at this moment …")
    valid_at: Moment | None = Field(default=None, description="… to hold at this one.")


def _point(given: Any) -> Any:  # noqa: ANN401 -- either, as pydantic hands it on
    return model.AsOf(known_at=given.known_at, valid_at=given.valid_at) if isinstance(given, AsOf) else given


When: TypeAlias = Annotated[
    AsOf | Moment | None,
    AfterValidator(_point),
    Field(description="A moment, for both times; or `known_at` and `valid_at`."),
]


def _parsed(given: str) -> Any:  # noqa: ANN401 -- JSON
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"data is {shown(given)}, which is not JSON: {error}") from error


DataText: TypeAlias = Annotated[
    str,
    AfterValidator(_parsed),
    Field(
        description='JSON: dotted path → a value, a list of values, or comparisons, such as `{"port": {"gte": 1024}}`.',
        examples=['{"port": 8080}'],
    ),
]
"""Conditions on what is kept with a memory, for a query string."""


class Filters(Body):
    """Which memories may answer, whatever their kind and place."""

    key_prefix: str | None = Field(default=None, description="Such as `pref:`.")
    since: Moment | None = Field(default=None, description="Held from here on, this moment included …")
    until: Moment | None = Field(default=None, description="… and before here.")
    least_importance: float = Field(default=0.0, description="From 0 to 1.")
    history: bool = Field(default=False, description="Also what is no longer believed or no longer holds.")


class Filtered(Filters, Place):
    """Which memories may answer, whatever their kind."""

    key: str | None = None


class Narrow(Filtered):
    """Which memories may answer."""

    kinds: Kinds = Field(default=[], description="Only these kinds; all, if left out.")


class Asked(Body):
    """How to search."""

    query: str = Field(default="", description="What is looked for, in words. An empty one finds the newest.")
    limit: int = Field(default=10, description="From 1 to 1,000.")
    mode: Literal["hybrid", "meaning", "words"] = "hybrid"
    least_similarity: float | None = Field(
        default=None, description="Leave out what is less alike in meaning, from 0 to 1."
    )
    explain: bool = Field(default=False, description="Also give every number that went into the score.")
    touch: bool = Field(default=True, description="Whether being found counts as being used.")


class DataFilter(Body):
    """Which memories may answer, by what is kept with them and by when."""

    data: Data = Field(
        default={},
        description="Dotted path → a value, a list of values, or comparisons.",
        examples=[{"port": {"gte": 1024}}],
    )
    as_of: When = None


class Within(Body):
    """Which memories, where a query string says it."""

    data: DataText | None = None
    as_of: Moment | None = Field(default=None, description="What we believed then about how things were then.")


class Paged(Body):
    """Which page."""

    limit: int = Field(default=100, description="From 1 to 10,000.")
    order: Literal["newest", "oldest"] = "newest"
    after: str | None = Field(default=None, description="The `next` of the page before.")


class Forgetting(Place):
    """How to forget."""

    purge: bool = Field(default=False, description="Delete it for good, with every version and every trace.")
    reason: str | None = Field(default=None, description="Kept with the closed memory.")


One = TypeVar("One", bound=Body)


class _EndingEarly:
    """Marks a list that is no field of a body. Pydantic's own mark cannot stand in a union."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 -- pydantic's own signature
        schema = handler(source)
        _end_early(schema)
        return schema


def _one_or_many(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


def _not_too_many(value: object) -> object:
    if isinstance(value, list) and len(value) > MOST_AT_ONCE:
        raise InvalidInput(
            f"the body is a list of {len(value):,}: send at most {MOST_AT_ONCE:,} at once, or import them"
        )
    return value


def one_or_many(kind: type[One]) -> Any:  # noqa: ANN401 -- a type, as `typing` writes it
    """The type of a body that is one thing, or a list of them."""
    several = Annotated[list[kind], Field(max_length=MOST_AT_ONCE)]  # type: ignore[valid-type]  # known when it runs
    one, many = Annotated[kind, Tag("one")], Annotated[several, _EndingEarly(), Tag("many")]
    return Annotated[one | many, Discriminator(_one_or_many), BeforeValidator(_not_too_many)]


def each(told: One | list[One]) -> list[Any]:
    """Each of what was told, as the keywords of its verb."""
    return [one.keywords() for one in (told if isinstance(told, list) else [told])]


def alike(told: object, done: Sequence[object]) -> object:
    """What became of it, in the shape in which it was told."""
    return done if isinstance(told, list) else done[0]
