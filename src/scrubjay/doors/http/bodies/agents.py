"""What the memory of agents is told and asked."""

from typing import Literal

from pydantic import Field, JsonValue

from scrubjay.doors.http.bodies.body import Body, Data, Place, Words, shaped
from scrubjay.model.agents import ActionOutcome, AgentStatus, CycleStatus, RecordKind


class Home(Body):
    """Where an agent lives, but for its name."""

    user: str | None = Field(default=None, description="The user it lives with.")
    project: str | None = Field(default=None, description="The project it lives in.")
    workflow: str | None = Field(default=None, description="The workflow it is part of.")


class Directing(Home):
    """What an agent is to do."""

    directives: str | None = Field(default=None, description="What it is to do, and how.")
    configuration: Data | None = Field(default=None, description="What it overrides of its runtime's configuration.")


class Creating(Directing):
    """A new agent."""

    model_config = shaped({"agent": "deployer", "directives": "Deploy what is merged", "project": "shop"})

    agent: str = Field(description="Its name.")


class Updating(Directing):
    """What to change."""

    model_config = shaped({"directives": "Deploy on Mondays", "project": "shop"})

    status: AgentStatus | None = Field(default=None, description="`archived`, or `active` again.")
    expected: int | None = Field(default=None, description="Only when it still has this version.")


class Archiving(Home):
    """Which one."""

    model_config = shaped({"project": "shop"})


class AgentListing(Place):
    """Which agents."""

    archived: bool = Field(default=False, description="Also those that act no more.")
    limit: int = Field(default=100, description="From 1 to 10,000.")
    after: str | None = Field(default=None, description="The `next` of the page before.")


class Beginning(Home):
    """A new cycle."""

    model_config = shaped({"goal": "Deploy release 7", "project": "shop"})

    goal: str | None = None
    index: int | None = Field(default=None, description="Only when this is the next one.")


class CycleEnding(Home):
    """How the open cycle ended."""

    model_config = shaped({"state": {"release": 7}, "summary": "Deployed", "project": "shop"})

    state: Data | None = Field(default=None, description="The state that the agent is in; as it was, if left out.")
    summary: str | None = None
    status: CycleStatus = "completed"
    cycle: int | None = Field(default=None, description="Only when this is the open one.")


class CycleListing(Home):
    """Which cycles."""

    limit: int = Field(default=100, description="From 1 to 10,000.")
    order: Literal["newest", "oldest"] = "newest"
    after: int | None = Field(default=None, description="The `next` of the page before.")


class At(Home):
    """Where in the life of an agent; left out, where it is now."""

    cycle: int | None = Field(default=None, description="Which cycle: it has to be the one that is open.")
    step: int | None = Field(default=None, description="Which step of it.")


class Proposing(At):
    """An action, before it is taken."""

    model_config = shaped(
        {"tool": "deploy", "arguments": {"release": 7}, "reasoning": "It is merged", "project": "shop"}
    )

    tool: str
    arguments: Data | None = None
    reasoning: str | None = None
    plan: JsonValue = None
    thoughts: JsonValue = None


class Resulting(At):
    """What came of an action."""

    model_config = shaped({"outcome": "succeeded", "output": {"seconds": 41}, "project": "shop"})

    outcome: ActionOutcome = "succeeded"
    output: JsonValue = None
    error: JsonValue = None
    artifacts: Words = Field(default=[], description="Paths of what was made or changed.")


class Recording(Home):
    """Something that an agent records of its own."""

    model_config = shaped({"kind": "reflection", "content": "Deploying on Mondays is calmer", "project": "shop"})

    kind: RecordKind
    content: str
    namespaces: Words = Field(default=[], description="Where it is to be found, such as `long-term`.")
    cycle: int | None = Field(default=None, description="The cycle it belongs to; the newest, if left out.")
    data: Data | None = None
    importance: float = Field(default=0.5, description="From 0 to 1.")
    id: str | None = Field(default=None, description="Your own id for it.")


class AgentRecall(Home):
    """What an agent is about to do."""

    model_config = shaped({"query": "when to deploy?", "budget": 400, "project": "shop"})

    query: str
    namespaces: Words = Field(default=[], description="Only what is recorded under these; all, if left out.")
    budget: int = Field(default=1_000, description="Tokens that the text may take.")
    limit: int = Field(default=20, description="Memories to choose from.")
    recent: int = Field(default=5, description="Of the most recent results.")


class Forking(Directing):
    """Another agent with the same past."""

    model_config = shaped({"to": "careful-deployer", "at": 0, "project": "shop"})

    to: str = Field(description="The name of the new one.")
    at: int | None = Field(default=None, description="The last cycle that they share; the last ended, if left out.")


class Diffing(Home):
    """Which two cycles."""

    before: int
    after: int
    other: str | None = Field(default=None, description="The agent that `after` is a cycle of, if it is another one.")


class Snapping(Home):
    """A folder on the server."""

    model_config = shaped({"path": "/srv/agents/deployer", "project": "shop"})

    path: str = Field(description="A folder on the server.")
    ignore: Words | None = Field(default=None, description="Names or patterns that are left out.")


class FilesRestoring(Home):
    """Where on the server to put files back."""

    model_config = shaped({"to": "/srv/agents/deployer", "project": "shop"})

    to: str = Field(description="A folder on the server.")
    snapshot: int | None = Field(default=None, description="The newest, if left out.")


class SnapshotListing(Home):
    """How many."""

    limit: int = Field(default=100, description="From 1 to 1,000.")


class Which(Home):
    """Which snapshot."""

    snapshot: int | None = Field(default=None, description="The newest, if left out.")


class Changes(Home):
    """Between which snapshots."""

    before: int | None = None
    after: int | None = None
