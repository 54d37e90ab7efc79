"""What is told of a fact, and which facts are asked for: the keywords of the verbs, turned into those of the core."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, TypedDict, cast
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model import PLACE_NAMES, AsOf, Json, Scope, Trust, Where
from scrubjay.model.checks import check_name, check_several, shown
from scrubjay.model.facts import FACT_KINDS, FactType, Level, execution_source
from scrubjay.model.remedies import instead
from scrubjay.read.narrow import Narrow
from scrubjay.write.prepare import Telling

PREFERENCE: Final = "pref:"
FACT: Final = "fact:"
SKILL: Final = "skill:"
"""What the keys of the typed shortcuts begin with."""


class Elsewhere(TypedDict, total=False):
    """The part of a scope that is named neither by a user nor by a project."""

    agent: str | None
    session: str | None
    workflow: str | None


class OfUser(Elsewhere, total=False):
    """A scope, but for the user."""

    project: str | None


class OfProject(Elsewhere, total=False):
    """A scope, but for the project."""

    user: str | None


class FactDetails(TypedDict, total=False):
    """What may be told about a fact beside its content, its key and its place. All of it is optional."""

    type: FactType | str
    """PROJECT_FACT unless you say otherwise."""
    level: Level | str | None
    """How far it reaches. The scope says so already; with a level, a scope that lacks its id is refused."""
    id: UUID | str | None
    data: Mapping[str, Json] | None
    importance: float
    trust: Trust | str
    execution: str | None
    """The id of the execution that it was learned in."""
    source: str | None
    """Or where else it comes from."""
    author: str | None
    reason: str | None
    derived_from: Sequence[UUID | str]
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    encrypt: bool
    """Store it encrypted, whatever SCRUBJAY_ENCRYPT says."""


class FactTold(FactDetails, Where, total=False):
    """What `store` takes beside the content."""

    key: str | None


class SkillTold(FactDetails, Where, total=False):
    """What `store_skill` takes beside the key and the content."""


class UserTold(FactDetails, OfUser, total=False):
    """What `store_user_preference` takes beside the user, the key and the content."""


class ProjectTold(FactDetails, OfProject, total=False):
    """What `store_project_fact` takes beside the project, the key and the content."""


class FactTelling(FactTold, total=False):
    """One fact of several: its content, and its details."""

    content: str


class FactFilter(TypedDict, total=False):
    """Which facts may answer, wherever they are."""

    types: Sequence[FactType | str] | FactType | str
    key_prefix: str | None
    data: Mapping[str, Json] | None
    since: datetime | None
    until: datetime | None
    as_of: datetime | AsOf | None
    least_importance: float
    history: bool


class FactNarrow(FactFilter, Where, total=False):
    """Which facts may answer: their place, and any of these."""

    key: str | None


class PromptNarrow(FactFilter, Elsewhere, total=False):
    """The same, where user and project are named already."""


FactTellings: TypeAlias = "Iterable[str | FactTelling]"

_NAMES: Final = frozenset(FactTold.__annotations__) | {"content", *PLACE_NAMES}


def telling_of(item: str | FactTelling) -> Telling:
    """The fact as the core takes it. A word that means nothing is refused, never ignored."""
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, Mapping):
        raise InvalidInput(f"an item is {shown(item)}: give a text, or a dict with at least `content`")
    told: dict[str, Any] = dict(item)
    for name, value in told.items():
        if name not in _NAMES:
            raise InvalidInput(f"{name}={shown(value)} is not something a fact has: {instead(name, sorted(_NAMES))}")
    told.pop("level", None)
    told["kind"] = FactType.of(told.pop("type", None) or FactType.PROJECT_FACT).value
    execution = told.pop("execution", None)
    if execution is not None:
        check_name("execution", execution)
        if told.get("source") is not None:
            raise InvalidInput(f"execution is {shown(execution)} and source is {shown(told['source'])}: give one")
        told["source"] = execution_source(execution)
    return cast("Telling", told)


def check_level(item: str | FactTelling, scope: Scope) -> None:
    """Refuse a scope that does not fit the level that was told."""
    level = None if isinstance(item, str) else item.get("level")
    if level is not None:
        Level.of(level).check(scope)


def keyed(prefix: str, key: str) -> str:
    """The key with its prefix, which need not be told."""
    if key is None:
        raise InvalidInput("key is None: name one")
    check_name("key", key)
    return key if key.startswith(prefix) else f"{prefix}{key}"


def narrow_of(asked: Mapping[str, Any]) -> Narrow:
    """The same as the core takes it: the kinds of these types, or of all."""
    given: dict[str, Any] = dict(asked)
    types = given.pop("types", None) or ()
    if isinstance(types, str):
        types = (types,)
    check_several("types", types)
    given["kinds"] = tuple(FactType.of(one).value for one in types) or FACT_KINDS
    return cast("Narrow", given)
