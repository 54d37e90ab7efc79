"""What facts are told and asked."""

from typing import Any

from pydantic import Field

from scrubjay import model
from scrubjay.doors.http.bodies.body import (
    Asked,
    Body,
    Data,
    DataFilter,
    Filtered,
    Filters,
    Kinds,
    Moment,
    Paged,
    Place,
    Within,
    Words,
    one_or_many,
    shaped,
)

TYPES = f"One of {', '.join(one.name for one in model.FactType)}."


class Elsewhere(Body):
    """The part of a place that is named neither by a user nor by a project."""

    agent: str | None = Field(default=None, description="Only for this agent.")
    session: str | None = Field(default=None, description="Only in this session.")
    workflow: str | None = Field(default=None, description="Only in this workflow.")


class Details(Body):
    """What may be told about a fact beside its content and its key."""

    content: str = Field(description="What is true.")
    type: str = Field(default=model.FactType.PROJECT_FACT.name, description=TYPES)
    level: str | None = Field(
        default=None,
        description=f"How far it reaches: {', '.join(model.Level)}. A place that does not fit it is refused.",
    )
    id: str | None = Field(default=None, description="Your own id for it.")
    data: Data | None = Field(default=None, description="Anything else that belongs to it, as JSON.")
    importance: float = Field(default=0.5, description="From 0 to 1.")
    trust: str = Field(default=model.Trust.TOLD, description=f"One of {', '.join(model.Trust)}.")
    execution: str | None = Field(default=None, description="The execution that it was learned in.")
    source: str | None = Field(default=None, description="Or where else it comes from.")
    author: str | None = Field(default=None, description="Who said or wrote it.")
    reason: str | None = Field(default=None, description="Why it is so, or why it was written down.")
    derived_from: Words = Field(default=[], description="Words of the memories that this one was made from.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds in the world; now, if left out.")
    valid_to: Moment | None = Field(default=None, description="Until when it holds.")
    expires_at: Moment | None = Field(default=None, description="From when on it is not wanted any more.")
    encrypt: bool = Field(default=False, description="Store it encrypted; the server has to have a key.")


class FactTelling(Details, Place):
    """One fact."""

    model_config = shaped(
        {"content": "The shop listens on port 8080", "type": "PROJECT_FACT", "key": "fact:port", "project": "shop"}
    )

    key: str | None = Field(default=None, description="Among the current facts of one place there is one for each key.")


FactTellings: Any = one_or_many(FactTelling)
"""One fact, or a list of them."""


class InsertOnly(Body):
    """How to store."""

    insert_only: bool = Field(default=False, description="Replace and merge nothing: what is known is a conflict.")


class Preference(Details, Elsewhere):
    """What a user prefers."""

    model_config = shaped({"user": "u-42", "key": "indent", "content": "Prefers tabs over spaces"})

    user: str
    project: str | None = Field(default=None, description="Only in this project.")
    key: str = Field(description="It begins with `pref:`, which need not be told.")


class ProjectFact(Details, Elsewhere):
    """What is so in a project."""

    model_config = shaped({"project": "shop", "key": "port", "content": "The shop listens on port 8080"})

    project: str
    user: str | None = Field(default=None, description="Only for this user.")
    key: str = Field(description="It begins with `fact:`, which need not be told.")


class Skill(Details, Place):
    """How to do something."""

    model_config = shaped({"key": "deploy", "content": "Push a tag, then watch the pipeline", "project": "shop"})

    key: str = Field(description="It begins with `skill:`, which need not be told.")


class Reading(Place):
    """Where to read."""

    touch: bool = Field(default=True, description="Whether being read counts as being used.")


class ByKey(Reading):
    """Which fact."""

    key: str
    as_of: Moment | None = Field(default=None, description="What we believed then about how things were then.")


class OfUser(Elsewhere):
    """Whose preferences."""

    user: str
    project: str | None = Field(default=None, description="Only in this project.")
    touch: bool = Field(default=True, description="Whether being read counts as being used.")


class OfProject(Elsewhere):
    """Which project's facts."""

    project: str
    user: str | None = Field(default=None, description="Only for this user.")
    touch: bool = Field(default=True, description="Whether being read counts as being used.")


class OfTypes(Body):
    """Which facts may answer."""

    types: Kinds = Field(default=[], description=f"Only these types; all, if left out. {TYPES}")


class FactSearch(Asked, OfTypes, DataFilter, Filtered):
    """A question to facts."""

    model_config = shaped({"query": "which port?", "project": "shop", "types": ["PROJECT_FACT"]})


class Prompt(OfTypes, DataFilter, Filters, Place):
    """For whom, for what, and how much can be read."""

    model_config = shaped({"user": "u-42", "project": "shop", "query": "set up the formatter", "budget": 400})

    query: str = Field(default="", description="What the agent is about to do, in words.")
    budget: int = Field(default=1_000, description="Tokens that the text may take.")
    touch: bool = Field(default=True, description="Whether being written counts as being used.")


class FactListing(OfTypes, Within, Filtered, Paged):
    """Which page of which facts."""


class FactHistory(Place):
    """Whose versions: of a key or of an id, just one of them."""

    key: str | None = None
    id: str | None = None


class Then(Place):
    """What we believed, when, about when."""

    key: str | None = None
    known_at: Moment | None = Field(default=None, description="What we believed at this moment …")
    valid_at: Moment | None = Field(default=None, description="… to hold at this one.")
    types: Kinds = Field(default=[], description=f"Only these types; all, if left out. {TYPES}")


class Importance(Body):
    """How important it is."""

    model_config = shaped({"importance": 0.9})

    importance: float = Field(description="From 0 to 1.")


class Boost(Body):
    """How much more important it is."""

    model_config = shaped({"by": 0.1})

    by: float = Field(default=0.1, description="From -1 to 1.")


class Deleting(Place):
    """Why."""

    reason: str | None = Field(default=None, description="Kept with the closed fact.")


class DeletingByKey(Deleting):
    """Which key, and why."""

    key: str


class Which(Place):
    """Which fact: by its id or by its key, just one of them."""

    model_config = shaped({"key": "fact:port", "project": "shop"})

    id: str | None = None
    key: str | None = None


class FactRestoring(Which):
    """Which fact, and why."""

    reason: str | None = None


class Cleanup(Place):
    """How to clean up."""

    model_config = shaped({"project": "shop"})

    purge: bool = Field(default=False, description="Delete for good what has expired.")


class Verdict(Body):
    """Which side of a contradiction holds."""

    model_config = shaped({"keep": "both", "reason": "one is about the staging server"})

    keep: str = Field(description="The id of the side that holds, or `both`.")
    reason: str | None = None
