"""Here: what `.` means as a project, where somebody stands in a folder."""

from pathlib import Path
from typing import Final

HERE: Final = "."
"""Given as the project: the repository that the working directory lies in."""

_GIT: Final = ".git"


def project_of(folder: Path) -> str:
    """The name under which `workspace.ingest` keeps the repository of a folder: that of its first working tree.

    A folder in no repository has its own name.
    """
    here = folder.resolve()
    for place in (here, *here.parents):
        marker = place / _GIT
        if marker.exists():
            # A further working tree has a file there, which names a folder inside the first one's git folder.
            told = marker.read_text(encoding="utf-8").removeprefix("gitdir:").strip() if marker.is_file() else ""
            folders = Path(told).parts
            first = Path(*folders[: folders.index(_GIT)]) if _GIT in folders and "worktrees" in folders else place
            return first.name or "root"
    return here.name or "root"
