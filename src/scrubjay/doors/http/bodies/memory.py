"""What the core verbs are told and asked."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from scrubjay import model
from scrubjay.doors.http.bodies.body import (
    Asked,
    Body,
    Data,
    DataFilter,
    Forgetting,
    Moment,
    Narrow,
    Paged,
    Place,
    Seconds,
    Within,
    Words,
    one_or_many,
    shaped,
)
from scrubjay.model.context import Form, Section
from scrubjay.model.query import MOST_KINDS
from scrubjay.model.work import Fading, Policy, Step


class Telling(Place):
    """One thing to remember."""

    model_config = shaped(
        {"content": "Prefers tabs over spaces", "user": "u-42", "kind": "preference", "key": "pref:indent"}
    )

    content: str = Field(description="What to remember, up to a million characters.")
    id: str | None = Field(default=None, description="Your own id: telling it again with the same id is one memory.")
    kind: str = Field(
        default=model.DEFAULT_KIND, description="Such as fact, preference, instruction, rule, message, event."
    )
    key: str | None = Field(
        default=None, description="One current value per key and place: a new one replaces the old one."
    )
    data: Data | None = Field(default=None, description="Anything else that belongs to it, as JSON.")
    importance: float = Field(default=0.5, description="From 0 to 1.")
    trust: str = Field(default=model.Trust.TOLD, description=f"One of {', '.join(model.Trust)}.")
    source: str | None = Field(default=None, description="Where it comes from: a task, a file, a URL.")
    author: str | None = Field(default=None, description="Who said or wrote it.")
    reason: str | None = Field(default=None, description="Why it is so, or why it was written down.")
    derived_from: Words = Field(default=[], description="Words of the memories that this one was made from.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds in the world; now, if left out.")
    valid_to: Moment | None = Field(default=None, description="Until when it holds.")
    expires_at: Moment | None = Field(default=None, description="From when on it is not wanted any more.")
    encrypt: bool = Field(default=False, description="Store it encrypted; the server has to have a key.")


Tellings: Any = one_or_many(Telling)
"""One thing to remember, or a list of them."""


class Changes(Body):
    """What to change. Importance and expiry change in place; anything else makes a new version."""

    model_config = shaped({"content": "Prefers tabs of width 4", "reason": "asked"})

    content: str | None = None
    kind: str | None = None
    key: str | None = None
    data: Data | None = None
    importance: float | None = None
    expires_at: Moment | None = Field(default=None, description="From when on it is not wanted any more; null: never.")
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    source: str | None = None
    author: str | None = None
    reason: str | None = None


class Recall(Asked, DataFilter, Narrow):
    """A question."""

    model_config = shaped({"query": "how should I indent?", "user": "u-42"})


class Shape(Place):
    """How contexts should be in a place. What is left out stays open."""

    model_config = shaped({"agent": "reviewer", "budget": 400, "sections": ["facts", "tasks"], "as": "xml"})

    budget: int | None = Field(default=None, description="Tokens that the text may take: 1,000 unless kept otherwise.")
    sections: Annotated[list[Section], Field(max_length=MOST_KINDS)] | None = Field(
        default=None, description="The memories it is made of; all, if left out."
    )
    as_: Form | None = Field(default=None, alias="as", description="How it is written; Markdown, if left out.")


class ContextRequest(Shape, DataFilter, Narrow):
    """What an agent is about to do, and how much it can read."""

    model_config = shaped({"query": "set up the formatter", "user": "u-42", "budget": 400})

    query: str = Field(default="", description="What the agent is about to do, in words.")
    limit: int = Field(default=30, description="Memories to choose from beside those that always hold.")


class Counted(Within, Narrow):
    """Which memories, inside a place."""


class Listing(Counted, Paged):
    """Which page of which memories."""


class Export(Counted):
    """What to export. All versions, unless `history` is false."""

    history: bool = Field(default=True, description="Also what is no longer believed or no longer holds.")


class Import(Place):
    """Into which place, and what to do with what contradicts something."""

    mend: bool = Field(
        default=False, description="Let what was told later take the place of what it contradicts, instead of a 409."
    )


class Around(Place):
    """How much of what was said beside it."""

    before: int = Field(default=2, description="From 0 to 1,000.")
    after: int = Field(default=2, description="From 0 to 1,000.")


class History(Place):
    """Whose versions."""

    key: str = Field(description="The key that they have.")


class ForgetMany(Forgetting):
    """What to forget: ids, a key, or everything in the place. Just one of them."""

    model_config = shaped({"key": "pref:indent", "user": "u-42", "reason": "asked to"})

    id: Words | None = Field(default=None, description="The ids of several memories.")
    key: str | None = Field(default=None, description="The key of one.")
    everything: bool = Field(default=False, description="All that lies in the place.")


class FadingRule(Body):
    """When records of a namespace are forgotten."""

    after: Seconds = Field(description="Those that are older than so many seconds …")
    below: float = Field(default=0.2, description="… and less relevant than this, from 0 to 1.")


class Rules(Body):
    """How long memories are kept as they are. What is null does not happen. Nothing here deletes a row."""

    half_life: Seconds | None = Field(
        default=90 * 86_400, description="Seconds without use in which importance falls to half; 90 days."
    )
    archive_after: Seconds | None = Field(
        default=None, description="Seconds after which episodes move into files, once they are distilled."
    )
    prune_after: Seconds | None = Field(
        default=None, description="Seconds after which is forgotten what was neither told nor used …"
    )
    prune_below: float = Field(default=0.2, description="… if its importance is below this, from 0 to 1.")
    most_memories: int | None = Field(default=None, description="Of one place: a user's project with its sessions.")
    most_bytes: int | None = Field(default=None, description="The same, for the bytes that its texts take.")
    namespaces: dict[str, Annotated[FadingRule, AfterValidator(lambda given: Fading(**given.keywords()))]] = Field(
        default={}, max_length=1_000, description="How the records of agents fade, by the name of the namespace."
    )


class Consolidation(Place):
    """What to consolidate."""

    model_config = shaped({"steps": ["drain", "distill"], "user": "u-42", "dry_run": True})

    steps: Annotated[list[Step], Field(max_length=MOST_KINDS)] | None = Field(
        default=None, description="Only these steps; all, if left out."
    )
    dry_run: bool = Field(default=False, description="Change nothing, and say what would be done.")
    policy: Annotated[Rules, AfterValidator(lambda given: Policy(**given.keywords()))] | None = Field(
        default=None, description="The rules for this once; those of the server, if left out."
    )
