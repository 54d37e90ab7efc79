"""Here: what `.` means as a project, where somebody stands in a folder."""

from pathlib import Path
from typing import Final

HERE: Final = "."
"""Given as the project: the repository that the working directory lies in."""


def project_of(folder: Path) -> str:
    """The name under which `workspace.ingest` keeps the repository of a folder: that of its first working tree.

    A folder in no repository has its own name.
    """
    from scrubjay import wiring  # noqa: PLC0415 -- for those who stand in a repository

    return wiring.repository_of(folder).project
