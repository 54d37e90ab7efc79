"""What working memory and episodes are told and asked."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from scrubjay import model
from scrubjay.doors.http.bodies.body import (
    MOST_AT_ONCE,
    Asked,
    Body,
    Data,
    DataFilter,
    Moment,
    Narrow,
    Paged,
    Place,
    Seconds,
    ToolCalls,
    Within,
    Words,
    one_or_many,
    shaped,
)
from scrubjay.model.episodes import MOST_TURNS, EpisodeKind
from scrubjay.model.working import Source


class InSession(Body):
    """Which session."""

    session: str = Field(description="The session.", examples=["s-1"])
    user: str | None = Field(default=None, description="Whose it is.")
    project: str | None = Field(default=None, description="The project it is in.")
    agent: str | None = Field(default=None, description="The agent it is with.")
    workflow: str | None = Field(default=None, description="The workflow it is part of.")


class Said(Body):
    """One message, as chat models take it."""

    id: str | None = Field(default=None, description="Your own id: saying it again is one message.")
    role: str | None = Field(default=None, description="Such as user, assistant, system or tool.")
    content: str | None = None
    name: str | None = None
    tool_calls: ToolCalls | None = None
    tool_call_id: str | None = None
    at: Moment | None = None


class Saying(InSession):
    """What was said in a session: one message, or several."""

    model_config = shaped(
        {"session": "s-1", "user": "u-42", "messages": [{"role": "user", "content": "Deploy the shop, please"}]}
    )

    messages: str | Said | Annotated[list[str | Said], Field(max_length=MOST_AT_ONCE)]
    role: str = Field(default="user", description="Who said it, where a message does not say so.")
    name: str | None = None
    ttl: Seconds | None = Field(default=None, description="Seconds that the session lives from now on.")


class RecentMessages(InSession):
    """How much of a session."""

    limit: int | None = Field(default=None, description="Messages, from 1 to 10,000; 50 without a budget.")
    budget: int | None = Field(default=None, description="Tokens that they may take together.")
    source: Source | None = Field(default=None, description="Where they are read.")


class Scratching(InSession):
    """A value for the scratchpad of a session."""

    model_config = shaped({"session": "s-1", "user": "u-42", "name": "plan", "value": ["migrate", "deploy"]})

    name: str
    value: JsonValue
    expect: str | None = Field(
        default=None, description="Only when the value that is there has this version; empty: only when there is none."
    )
    ttl: Seconds | None = Field(default=None, description="Seconds that the session lives from now on.")


class Named(InSession):
    """Which value."""

    name: str


class Taken(Named):
    """Which value, in which version."""

    expect: str | None = Field(default=None, description="Only when the value that is there has this version.")


class Extending(InSession):
    """How long a session lives."""

    model_config = shaped({"session": "s-1", "user": "u-42", "ttl": 3600})

    ttl: Seconds | None = Field(default=None, description="Seconds from now on.")


class SessionEnding(InSession):
    """Which session is over."""

    model_config = shaped({"session": "s-1", "user": "u-42"})


class Sessions(Place):
    """Which sessions."""

    limit: int = Field(default=100, description="From 1 to 10,000.")


class Turn(Body):
    """One turn of a negotiation."""

    by: str
    said: str
    at: Moment | None = None


class EpisodeTelling(Place):
    """Something that happened."""

    model_config = shaped({"content": "The deployment took 12 minutes", "kind": "observation", "session": "s-1"})

    content: str = ""
    kind: EpisodeKind | None = Field(default=None, description="A message, unless it says otherwise or has parties.")
    id: str | None = Field(default=None, description="Your own id: telling it again is one episode.")
    at: Moment | None = Field(default=None, description="When it happened; now, if left out.")
    role: str | None = Field(default=None, description="Of a message: who spoke; user, if left out.")
    author: str | None = None
    tool_calls: ToolCalls | None = None
    tool_call_id: str | None = None
    parties: Words | None = Field(default=None, description="Of a negotiation: who negotiates.")
    turns: list[Turn] | None = Field(
        default=None, max_length=MOST_TURNS, description="Of a negotiation: who said what."
    )
    outcome: str | None = Field(default=None, description="Of a negotiation, a plan or a result: how it ended.")
    data: Data | None = None
    importance: float = Field(default=0.5, description="From 0 to 1.")
    trust: str | None = Field(default=None, description=f"One of {', '.join(model.Trust)}.")
    source: str | None = None
    derived_from: Words = Field(default=[])
    expires_at: Moment | None = None


EpisodeTellings: Any = one_or_many(EpisodeTelling)
"""One episode, or a list of them."""


class Timeline(Within, Narrow, Paged):
    """Which page of what happened."""

    order: Literal["newest", "oldest"] = "oldest"


class EpisodeRecall(Asked, DataFilter, Narrow):
    """A question to what happened."""

    model_config = shaped({"query": "how long did the deployment take?", "user": "u-42", "around": 1})

    around: int = Field(default=0, description="Episodes to give before and after each, from 0 to 100.")


class RecentContextRequest(InSession):
    """Which session, and how much of it."""

    budget: int = Field(default=1_000, description="Tokens that it may take when it is written.")
    source: Source | None = Field(default=None, description="Where it is read.")
