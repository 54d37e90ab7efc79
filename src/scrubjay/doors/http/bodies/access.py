"""What is asked of keys and of the audit log."""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from scrubjay.doors.http.bodies.body import Body, Moment, Words, shaped
from scrubjay.model.access import Right
from scrubjay.model.query import MOST_KINDS


class KeyToMake(Body):
    """A key to make."""

    model_config = shaped({"name": "ci", "rights": ["read"], "projects": ["shop"]})

    name: str = Field(description="What to call it.", examples=["ci"])
    rights: list[Right] = Field(
        default=["read", "write"],
        max_length=MOST_KINDS,
        description="Any of `read`, `write` and `admin`, which means both and the keys.",
    )
    users: Words = Field(default=[], description="Bind it to these users.")
    projects: Words = Field(default=[], description="Bind it to these projects.")
    agents: Words = Field(default=[], description="Bind it to these agents.")
    expires_at: Moment | None = Field(default=None, description="When it ends; never, if left out.")


class Rotation(Body):
    """How to replace a key."""

    model_config = shaped({"grace": 3600})

    grace: Annotated[
        float,
        Field(ge=0, le=365 * 86_400, description="Seconds for which the old key is good still."),
        AfterValidator(lambda given: timedelta(seconds=given)),
    ] = 0


class Logged(Body):
    """Which entries of the log."""

    limit: int = Field(default=100, description="From 1 to 10,000.")
    before: int | None = Field(default=None, description="The number of the last entry of the page before.")
    since: Moment | None = Field(default=None, description="Only what was done from here on.")
