"""The source trees that the past tasks are about: released wheels, fetched with pip, each with the day it was built.

    python benchmarks/workspace/repositories.py FOLDER     # about 60 MB to fetch

A question may only see a release from before it was asked, so that no tree holds its answer. A wheel has the package
itself and not its tests or documents; the tasks are about the package, nearly always.
"""

import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

RELEASES = {
    "astropy/astropy": ("astropy", "3.1.2 4.0 4.2 5.0 5.2 5.3", ""),
    "mwaskom/seaborn": ("seaborn", "0.12.2", ""),
    "psf/requests": ("requests", "2.2.1 2.5.0 2.7.0 2.9.0 2.18.0 2.26.0", ""),
    "pydata/xarray": ("xarray", "0.14.1 0.16.0 0.17.0 0.20.0 2022.6.0 2022.11.0", ""),
    "pylint-dev/pylint": ("pylint", "2.12.2 2.13.0 2.14.0 2.15.0 2.17.0", ""),
    "pytest-dev/pytest": ("pytest", "5.2.1 5.4.0 6.0.0 6.2.0 7.0.0 7.2.0 7.4.0", "src/"),
}
"""Of each repository: the name of its package, releases, and the folder that its wheel leaves out."""

PYTHONS = ("3.11", "3.9", "3.8", "3.7", "2.7")
"""A wheel with compiled parts is for one version; its Python files are the same in all."""


PLATFORMS = ("manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "any")


def fetch(folder: Path) -> None:
    for group, (package, versions, prefix) in RELEASES.items():
        for version in versions.split():
            _fetch(folder / group.replace("/", "__"), package, version, prefix)


def _fetch(folder: Path, package: str, version: str, prefix: str) -> None:
    if (folder / f"{package}-{version}.done").exists():
        return
    wheels = folder / "wheels"
    for python in PYTHONS:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
                *("--dest", wheels, "--python-version", python),
                *(part for platform in PLATFORMS for part in ("--platform", platform)),
                f"{package}=={version}",
            ],
            check=False,
            capture_output=True,
        )
        if done.returncode == 0:
            break
    else:
        print(f"{package} {version}: no wheel")
        return
    wheel = next(path for path in wheels.iterdir() if path.name.lower().startswith(f"{package}-{version}-"))
    with zipfile.ZipFile(wheel) as opened:
        built = max(date(*entry.date_time[:3]) for entry in opened.infolist() if entry.date_time[0] > 1980)
        tree = folder / built.isoformat()
        for entry in opened.infolist():
            if entry.filename.endswith(".py"):
                path = tree / prefix / entry.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(opened.read(entry))
    (folder / f"{package}-{version}.done").touch()
    print(f"{package} {version}: {built}")


def trees(folder: Path, group: str) -> list[tuple[str, Path]]:
    """The source trees of a repository, oldest first, each with the day it was built."""
    found = sorted(path for path in (folder / group.replace("/", "__")).iterdir() if path.name[:1].isdigit())
    return [(path.name, path) for path in found if path.is_dir()]


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
