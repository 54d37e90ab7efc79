"""Where the tools work unless a call says otherwise: as the server was started."""

from pathlib import Path

from scrubjay.doors.here import HERE, project_of
from scrubjay.model import Scope, Where


def defaults_of(given: Where, folder: Path) -> Where:
    """The place, with `.` as the project replaced by the name of the repository that the folder lies in.

    Raises InvalidInput for a name that no place can have.
    """
    where: Where = {**given, "project": project_of(folder)} if given.get("project") == HERE else given
    Scope(**where)
    return where
