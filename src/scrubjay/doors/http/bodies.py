"""What requests carry. Types are checked here; what a value may be is checked by the values themselves."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from scrubjay import model
from scrubjay.model.checks import in_utc
from scrubjay.model.context import Form, Section

Moment = Annotated[AwareDatetime, Field(examples=["2026-03-01T12:00:00Z"])]


class Place(BaseModel):
    """Where: any of these. What is left out is open. The tenant is never part of a request."""

    model_config = ConfigDict(extra="forbid")

    user: str | None = Field(default=None, description="Only for this user.", examples=["u-42"])
    project: str | None = Field(default=None, description="Only in this project.")
    agent: str | None = Field(default=None, description="Only for this agent.")
    session: str | None = Field(default=None, description="Only in this session.")
    workflow: str | None = Field(default=None, description="Only in this workflow.")

    def where(self) -> model.Where:
        """The place as the keywords of a verb."""
        return {
            "user": self.user,
            "project": self.project,
            "agent": self.agent,
            "session": self.session,
            "workflow": self.workflow,
        }


class Telling(Place):
    """One thing to remember."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"content": "Prefers tabs over spaces", "user": "u-42", "kind": "preference", "key": "pref:indent"}
            ]
        },
    )

    content: str = Field(description="What to remember, up to a million characters.")
    id: str | None = Field(default=None, description="Your own id: telling it again with the same id is one memory.")
    kind: str = Field(
        default=model.DEFAULT_KIND, description="Such as fact, preference, instruction, rule, message, event."
    )
    key: str | None = Field(
        default=None, description="One current value per key and place: a new one replaces the old one."
    )
    data: dict[str, JsonValue] | None = Field(default=None, description="Anything else that belongs to it, as JSON.")
    importance: float = Field(default=0.5, description="From 0 to 1.")
    trust: str = Field(default=model.Trust.TOLD, description=f"One of {', '.join(model.Trust)}.")
    source: str | None = Field(default=None, description="Where it comes from: a task, a file, a URL.")
    author: str | None = Field(default=None, description="Who said or wrote it.")
    reason: str | None = Field(default=None, description="Why it is so, or why it was written down.")
    derived_from: list[str] = Field(default=[], description="Ids of the memories that this one was made from.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds in the world; now, if left out.")
    valid_to: Moment | None = Field(default=None, description="Until when it holds.")
    expires_at: Moment | None = Field(default=None, description="From when on it is not wanted any more.")


class Changes(BaseModel):
    """What to change. Importance and expiry change in place; anything else makes a new version."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": "Prefers tabs of width 4", "reason": "asked"}]}
    )

    content: str | None = None
    kind: str | None = None
    key: str | None = None
    data: dict[str, JsonValue] | None = None
    importance: float | None = None
    expires_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    source: str | None = None
    author: str | None = None
    reason: str | None = None


class Narrow(Place):
    """Which memories may answer."""

    kinds: list[str] = Field(default=[], description="Only these kinds; all, if left out.")
    key: str | None = None
    key_prefix: str | None = Field(default=None, description="Such as `pref:`.")
    since: Moment | None = Field(default=None, description="Held from here on, this moment included …")
    until: Moment | None = Field(default=None, description="… and before here.")
    least_importance: float = Field(default=0.0, description="From 0 to 1.")
    history: bool = Field(default=False, description="Also what is no longer believed or no longer holds.")


class AsOf(BaseModel):
    """A point in both times. What is left out is now."""

    model_config = ConfigDict(extra="forbid")

    known_at: Moment | None = Field(default=None, description="What we believed at this moment …")
    valid_at: Moment | None = Field(default=None, description="… to hold at this one.")


class Search(Narrow):
    """What `recall` and `context` have in common."""

    query: str = Field(default="", description="What is looked for, in words. An empty one finds the newest.")
    data: dict[str, JsonValue] = Field(
        default={},
        description="Dotted path → a value, a list of values, or comparisons.",
        examples=[{"port": {"gte": 1024}}],
    )
    as_of: AsOf | Moment | None = Field(
        default=None, description="A moment, for both times; or `known_at` and `valid_at`."
    )

    def keywords(self) -> dict[str, Any]:
        """What was given, as the keywords of the verb; `query` goes first there, so it is left out."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "query"}
        if isinstance(self.as_of, AsOf):
            given["as_of"] = model.AsOf(
                known_at=in_utc("known_at", self.as_of.known_at),
                valid_at=in_utc("valid_at", self.as_of.valid_at),
            )
        return given


class Recall(Search):
    """A question."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "how should I indent?", "user": "u-42"}]}
    )

    limit: int = Field(default=10, description="From 1 to 1,000.")
    mode: Literal["hybrid", "meaning", "words"] = "hybrid"
    least_similarity: float | None = Field(
        default=None, description="Leave out what is less alike in meaning, from 0 to 1."
    )
    explain: bool = Field(default=False, description="Also give every number that went into the score.")
    touch: bool = Field(default=True, description="Whether being found counts as being used.")


class ContextRequest(Search):
    """What an agent is about to do, and how much it can read."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "set up the formatter", "user": "u-42", "budget": 400}]},
    )

    budget: int | None = Field(default=None, description="Tokens that the text may take: 1,000 unless kept otherwise.")
    limit: int = Field(default=30, description="Memories to choose from beside those that always hold.")
    sections: list[Section] | None = Field(default=None, description="The memories it is made of; all, if left out.")
    as_: Form | None = Field(default=None, alias="as", description="How it is written; Markdown, if left out.")


class Listing(Narrow):
    """Which page of which memories."""

    as_of: Moment | None = Field(default=None, description="What we believed then about how things were then.")
    limit: int = Field(default=100, description="From 1 to 10,000.")
    order: Literal["newest", "oldest"] = "newest"
    after: str | None = Field(default=None, description="The `next` of the page before.")

    def keywords(self) -> dict[str, Any]:
        """What was given, as the keywords of `list`."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Forgetting(Place):
    """How to forget."""

    purge: bool = Field(default=False, description="Delete it for good, with every version and every trace.")
    reason: str | None = Field(default=None, description="Kept with the closed memory.")


def _one_or_many(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


Tellings = Annotated[
    Annotated[Telling, Tag("one")] | Annotated[list[Telling], Tag("many")], Discriminator(_one_or_many)
]
"""One thing to remember, or a list of them."""
