"""The source trees of both sides, each taken as it is when the race begins: what is edited later changes nothing."""

import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from systems import ROOT

PACKAGE = Path("src/scrubjay")


class NoTree(Exception):
    """There is nothing to race. The message says what was named, and what can be."""


def taken(option: str, named: str, folder: Path) -> Path:
    """Copy the `src` of a folder, or of a revision of this repository, into the folder; returns the copy."""
    if (Path(named) / PACKAGE).is_dir():
        copy = folder / "src"
        shutil.copytree(Path(named) / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        return imported(copy)
    archive = ["git", "archive", "--format=tar", named, PACKAGE.as_posix()]
    done = subprocess.run(archive, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NoTree(
            f"{option} is {named!r}: name a revision of this repository, or a folder with {PACKAGE} in it "
            f"({'; '.join(said)})"
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        files.extractall(folder, filter="data")
    return imported(folder / "src")


def imported(source: Path) -> Path:
    """The same, once it is sure that a process which is pointed there imports that and no other."""
    command = [sys.executable, "-c", "import scrubjay; print(scrubjay.__file__)"]
    found = subprocess.run(command, env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=False)
    if source not in Path(found.stdout.strip()).parents:
        raise NoTree(f"{source} is not what is imported: {(found.stdout or found.stderr).strip().splitlines()[-1]}")
    return source
