"""What is told of an episode: the keywords of the verbs, turned into those of the core."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, TypedDict, cast
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.memories.working import telling_of as telling_of_message
from scrubjay.model import EVENT_KINDS, PLACE_NAMES, Json, Trust, Where, new_id
from scrubjay.model.checks import in_utc, shown
from scrubjay.model.episodes import EPISODE_KINDS, NEGOTIATION, EpisodeKind, Negotiation, Turn, negotiation_of
from scrubjay.model.layout import indented
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.model.remedies import instead
from scrubjay.model.working import Message
from scrubjay.write.prepare import Telling


class EpisodeDetails(TypedDict, total=False):
    """What may be told of an episode beside its content. All of it is optional."""

    kind: EpisodeKind
    """`message` unless you say otherwise; with parties, `negotiation`."""
    id: UUID | str | None
    """Your own id for it: telling it again with the same id is one episode."""
    at: datetime | None
    """When it happened; None: now."""
    role: str | None
    """Of a message: `user` unless you say `assistant`, `system`, `tool`, …"""
    author: str | None
    tool_calls: Sequence[dict[str, Json]]
    tool_call_id: str | None
    parties: Sequence[str]
    """Of a negotiation: who negotiates."""
    turns: Sequence[Turn | Mapping[str, Any]]
    """Of a negotiation: who said what, as `{"by": …, "said": …}`, with `at` if it is known."""
    outcome: str | None
    """Of a negotiation, a plan or a result: how it ended."""
    data: Mapping[str, Json] | None
    importance: float
    trust: Trust | str
    source: str | None
    derived_from: Sequence[UUID | str]
    expires_at: datetime | None


class EpisodeTold(EpisodeDetails, Where, total=False):
    """What `store_episode` takes beside the content: details, and the place."""


class EpisodeTelling(EpisodeTold, total=False):
    """One episode, as `store_many` takes it."""

    content: str


Told: TypeAlias = "str | Message | Negotiation | Mapping[str, Any]"
"""A text, a message, a negotiation, or a dict of content and details."""

Tellings: TypeAlias = "Iterable[Told]"

_NAMES: Final = ("content", *EpisodeDetails.__annotations__, *PLACE_NAMES)
_OF_MESSAGES: Final = ("role", "tool_calls", "tool_call_id")
_OF_NEGOTIATIONS: Final = ("parties", "turns")
_AS_GIVEN: Final = ("id", "author", "importance", "trust", "source", "derived_from", "expires_at", *PLACE_NAMES)

# What an agent saw is observed and what it thought is concluded: neither is what somebody told it.
_TRUST: Final = {
    "observation": Trust.OBSERVED,
    "result": Trust.OBSERVED,
    "reflection": Trust.CONCLUDED,
    "plan": Trust.CONCLUDED,
}
_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


def telling_of(told: Told) -> Telling:
    """The episode as the core takes it. A word that means nothing is refused, never ignored."""
    match told:
        case str():
            return _of_fields({"content": told})
        case Message():
            return telling_of_message(told)
        case Negotiation():
            return _of_fields({"parties": told.parties, "turns": told.turns, "outcome": told.outcome})
        case Mapping():
            return _of_fields(told)
    raise InvalidInput(f"an episode is {shown(told)}: give a text, a Message, a Negotiation or a dict with `content`")


def _of_fields(told: Mapping[str, Any]) -> Telling:
    given = {name: value for name, value in told.items() if value is not None}
    for name in given:
        if name not in _NAMES:
            raise InvalidInput(f"{name} is not something an episode has: {instead(name, _NAMES)}")
    kind = given.get("kind", NEGOTIATION if "parties" in given or "turns" in given else MESSAGE_KIND)
    if not isinstance(kind, str) or kind not in EVENT_KINDS:
        raise InvalidInput(f"kind is {shown(kind)}: use one of {', '.join(EPISODE_KINDS)}")
    _refuse(given, _OF_MESSAGES, kind, MESSAGE_KIND)
    _refuse(given, _OF_NEGOTIATIONS, kind, NEGOTIATION)
    content, data, trust = _substance(kind, given)
    more = given.get("data", {})
    if not isinstance(more, Mapping):
        raise InvalidInput(f"data is {shown(more)}: use a dict of JSON values")
    telling = {
        "trust": trust,
        **{name: given[name] for name in _AS_GIVEN if name in given},
        "kind": kind,
        "content": content,
        "data": {**more, **data},
        "valid_from": in_utc("at", given.get("at")),
    }
    return cast("Telling", telling)


def _substance(kind: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Json], Trust]:
    """What an episode of this kind says, what is kept beside it, and how far to follow it."""
    content = given.get("content", "")
    ended: dict[str, Json] = {"outcome": given["outcome"]} if "outcome" in given else {}
    if kind == MESSAGE_KIND:
        # Built as a message, so that every message is checked and read the same, whichever way it came.
        message = Message(
            id=new_id(),
            role=given.get("role", "user"),
            content=content,
            name=given.get("author"),
            tool_calls=_calls(given.get("tool_calls", ())),
            tool_call_id=given.get("tool_call_id"),
            at=_ANY_TIME,
        )
        return message.text, message.data | ended, message.trust
    if kind == NEGOTIATION:
        negotiation = negotiation_of(given)
        text = f"{indented(content)}\n\n{negotiation.text}" if content else negotiation.text
        return text, negotiation.data, Trust.TOLD
    return content, ended, _TRUST.get(kind, Trust.TOLD)


def _calls(given: object) -> tuple[dict[str, Json], ...]:
    return tuple(given) if isinstance(given, list | tuple) else cast("tuple[dict[str, Json], ...]", given)


def _refuse(given: Mapping[str, Any], names: Sequence[str], kind: str, theirs: str) -> None:
    """Refuse details that an episode of another kind has."""
    for name in names:
        if name in given and kind != theirs:
            raise InvalidInput(f"{name} is {shown(given[name])}: a {kind} has none, only a {theirs} does")
