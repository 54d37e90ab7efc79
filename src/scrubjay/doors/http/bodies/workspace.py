"""What workspace memory is told and asked."""

from typing import Any

from pydantic import Field, JsonValue

from scrubjay import model
from scrubjay.doors.http.bodies.body import (
    MOST_AT_ONCE,
    Body,
    Data,
    DataFilter,
    Moment,
    Narrow,
    Place,
    Seconds,
    Words,
    shaped,
)
from scrubjay.model.workspace import CompletionStatus


class WorkspaceSearch(Place):
    """Which completed jobs."""

    repo: str | None = Field(default=None, description="Of the repository at this path; of all, if left out.")
    language: str | None = None
    q: str = Field(default="", description="What is looked for, in words. An empty one finds the newest.")
    limit: int = Field(default=5, description="From 1 to 200.")
    model: str | None = Field(default=None, description="Done by this language model.")
    mode: str | None = Field(default=None, description="Done this way, such as `single` or `duel`.")
    status: CompletionStatus = Field(default="succeeded", description="`rejected` finds what was not chosen.")
    since: Moment | None = None
    until: Moment | None = None

    def keywords(self) -> dict[str, Any]:
        """What was given, under the names that the library has for it."""
        names = {"repo": "repo_path", "q": "query"}
        return {names.get(name, name): value for name, value in super().keywords().items()}


class File(Body):
    """A file that a job made or changed, with what is in it."""

    path: str = Field(description="Relative to the repository.")
    content: str = Field(description="The text. The server never reads a file by its name for you.")
    language: str | None = None


class CompletedJob(Place):
    """A job that is done."""

    model_config = shaped(
        {
            "goal": "Customers are logged out right after they log in",
            "repo_path": "/srv/shop",
            "task_id": "SHOP-17",
            "summary": "The session cookie was dropped by the redirect",
            "files": [{"path": "shop/session.py", "content": "SESSION = 'kept'\n"}],
            "tests": {"passed": 41, "failed": 0},
            "include_globs": ["shop/**/*.py"],
        }
    )

    goal: str = Field(description="What was asked for.")
    repo_path: str = Field(description="The repository. It need not be on the server.")
    task_id: str | None = Field(default=None, description="Telling it again under the same id corrects it.")
    language: str | None = None
    model: str | None = None
    mode: str | None = Field(default=None, description="How it was done, such as `single` or `duel`.")
    status: CompletionStatus = "succeeded"
    files: list[File] = Field(default=[], max_length=MOST_AT_ONCE)
    artifact: str | None = Field(default=None, description="The path of a file or folder that it left behind.")
    zip: str | None = Field(default=None, description="The path of an archive that it left behind.")
    summary: str | None = None
    tests: JsonValue = Field(default=None, description="How its tests went.")
    include_globs: Words = Field(default=[], description="Patterns of the files that it was given, as `src/**/*.py`.")
    session_id: str | None = Field(default=None, description="The session that it was done in.")
    at: Moment | None = Field(default=None, description="When it was done; now, if left out.")


class RelevantFilesRequest(Place):
    """A task at hand."""

    task_description: str
    limit: int = Field(default=10, description="From 1 to 200.")


class CodeSearch(Place):
    """A question to code."""

    model_config = shaped({"query": "where is the session cookie set?", "project": "shop", "limit": 5})

    query: str
    limit: int = Field(default=10, description="From 1 to 1,000.")
    language: str | None = None


class CodeRecall(DataFilter, Narrow):
    """A question whose answers may cite code."""

    model_config = shaped({"query": "what do we know about the session cookie?", "project": "shop"})

    query: str
    limit: int = Field(default=10, description="From 1 to 1,000.")


class Citing(Place):
    """Something about code, and which code."""

    model_config = shaped(
        {"content": "The session cookie is set here", "cites": ["shop/session.py#session_cookie"], "project": "shop"}
    )

    content: str
    cites: Words = Field(description="Paths, `path:10-20` or `path#symbol`, in a repository on the server.")
    repo_path: str | None = Field(default=None, description="The repository; left out, the one that the place holds.")
    id: str | None = None
    kind: str = model.DEFAULT_KIND
    key: str | None = None
    data: Data | None = None
    importance: float = 0.5
    trust: str = model.Trust.TOLD
    source: str | None = None
    author: str | None = None
    reason: str | None = None
    derived_from: Words = Field(default=[])
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    expires_at: Moment | None = None
    encrypt: bool = Field(default=False, description="Store it encrypted; the server has to have a key.")


class Ingesting(Place):
    """Which repository on the server to read."""

    model_config = shaped({"path": "/srv/shop", "project": "shop"})

    path: str = Field(description="A folder on the server.")
    history: int = Field(default=1_000, description="Commits to read, the newest first.")
    since: str | None = Field(default=None, description="Read only what differs from this commit.")


class Backfilling(Place):
    """Where on the server the artifacts of jobs lie."""

    model_config = shaped({"directory": "/srv/artifacts", "repo_path": "/srv/shop"})

    directory: str = Field(description="A folder on the server.")
    repo_path: str | None = Field(default=None, description="The repository they belong to; the folder, if left out.")


class Seeding(Place):
    """Where to put sample jobs."""

    model_config = shaped({"user": "somebody-who-tries-things-out"})

    repo_path: str | None = None


class Repository(Place):
    """Which repository."""

    repo_path: str | None = Field(default=None, description="All, if left out.")


class Pruning(Repository):
    """What is too old, or too much."""

    model_config = shaped({"repo_path": "/srv/shop", "keep_for": 7776000, "dry_run": True})

    keep_for: Seconds | None = Field(
        default=None, description="Seconds that a job is kept; as configured, if left out."
    )
    most_bytes: int | None = Field(default=None, description="Of one repository; as configured, if left out.")
    dry_run: bool = Field(default=False, description="Delete nothing, and say what would be.")
