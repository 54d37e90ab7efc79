"""What every rule of the house looks at: the files that belong to the project."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NOT_OURS = {"dist", "build", "__pycache__", "node_modules"}


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def tracked(root) -> list[Path]:
    """Every file that is, or would be, committed. Outside a checkout: every file that is not hidden."""
    names = _known_to_git(root)
    if names is None:
        names = [
            path.relative_to(root)
            for path in root.rglob("*")
            if not any(part.startswith(".") or part in NOT_OURS for part in path.relative_to(root).parts)
        ]
    return sorted(root / name for name in names if (root / name).is_file())


@pytest.fixture(scope="session")
def sources(root) -> list[Path]:
    return sorted((root / "src" / "scrubjay").rglob("*.py"))


def _known_to_git(root: Path) -> list[Path] | None:
    """Relative paths, or None where there is no git or no checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return [Path(name) for name in listed.stdout.split("\0") if name]
