"""Where the tools work: where a call says, and else as the server was started."""

from pathlib import Path

from scrubjay.doors.here import HERE, project_of
from scrubjay.errors import InvalidInput
from scrubjay.model import Scope, Where


def defaults_of(given: Where, folder: Path) -> Where:
    """The place, with `.` as the project replaced by the name of the repository that the folder lies in.

    Raises InvalidInput for a name that no place can have.
    """
    where = named(given, folder)
    Scope(**where)
    return where


def named(given: Where, folder: Path | None) -> Where:
    """The same for a call. A caller somewhere else stands in no folder of ours: without one, `.` is InvalidInput."""
    if given.get("project") != HERE:
        return given
    if folder is None:
        raise InvalidInput(
            f"project is {HERE!r}: over HTTP nobody knows which repository you are in. Give its name, the one that "
            "`scrubjay workspace ingest` printed, or leave it out for the project that the server was started with"
        )
    return {**given, "project": project_of(folder)}
