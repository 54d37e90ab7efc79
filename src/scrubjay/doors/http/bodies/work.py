"""What whoever looks after consolidation asks, and who listens to events."""

from pydantic import Field

from scrubjay.doors.http.bodies.body import Body, Place, shaped


class Parked(Body):
    """How many."""

    limit: int = Field(default=100, description="From 1 to 10,000.")


class Retry(Body):
    """What to try again."""

    model_config = shaped({})

    id: str | None = Field(default=None, description="Of one thing that failed; all of them, if left out.")


class ArchiveName(Body):
    """Which archive."""

    model_config = shaped({"file": "20260101-20260131-5f2e.ndjson.gz"})

    file: str = Field(pattern=r"^[^/\\]+$", description="The name of one of the `archives`.")


class Listening(Place):
    """Which events."""

    name: str = Field(default="*", description="Such as `memory.stored` or `memory.*`; all, if left out.")


class Missed(Listening):
    """Which events that are past."""

    after: str = Field(default="", description="The id of the last event that was seen; empty: from the oldest kept.")
    limit: int = Field(default=1_000, description="From 1 to 10,000.")


class Resumed(Listening):
    """Which events, from where on."""

    after: str | None = Field(
        default=None, description="As `Last-Event-ID`, for those who cannot send a header. Empty: from the oldest kept."
    )
