"""Which Python and which libraries are here, and whether each is as new as it has to be."""

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from scrubjay import __version__
from scrubjay.model import Finding

LEAST_PYTHON: Final = (3, 11)

_REQUIREMENT: Final = re.compile(r"^(?P<name>[\w.-]+)(\[[^\]]*\])?(?P<limits>[^;]*)(;(?P<condition>.*))?$")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_LEAST: Final = re.compile(r">=\s*([\d.]+)")


def versions(extras: tuple[str, ...] = ()) -> list[Finding]:
    """One finding for all that is as it should be, and one for each library that is too old or not there.

    `extras` are those that the settings ask for, such as `postgres`.
    """
    named = [f"Scrubjay {__version__}", f"Python {platform.python_version()} on {sys.platform}"]
    faults = []
    if sys.version_info < LEAST_PYTHON:
        faults.append(_old("Python", platform.python_version(), ".".join(map(str, LEAST_PYTHON)), ""))
    for package, least, extra in _wanted(extras):
        what = f"scrubjay[{extra}]" if extra else package
        try:
            found = version(package)
        except PackageNotFoundError:
            faults.append(Finding(about="versions", said=f"{package} is missing", remedy=f"pip install '{what}'"))
            continue
        if _numbers(found) < _numbers(least):
            faults.append(_old(package, found, least, what))
        else:
            named.append(f"{package} {found}")
    return [Finding(about="versions", said=", ".join(named)), *faults]


def _wanted(extras: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Each library with its least version, and the extra that it belongs to; as the package itself declares them."""
    try:
        declared = requires("scrubjay") or []
    except PackageNotFoundError:
        declared = []  # It runs from its source and was never installed, so nothing is declared.
    for line in declared:
        parts = _REQUIREMENT.match(line)
        if parts is None or parts["name"] == "scrubjay":
            continue
        extra = _EXTRA.search(parts["condition"] or "")
        if extra is None or extra[1] in extras:
            least = _LEAST.search(parts["limits"])
            yield parts["name"], least[1] if least else "0", extra[1] if extra else ""


def _old(name: str, found: str, least: str, what: str) -> Finding:
    remedy = f"pip install --upgrade '{what}'" if what else f"use {name} {least} or newer"
    return Finding(about="versions", said=f"{name} {found} is older than {least}", remedy=remedy)


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: what comes after a letter is older or newer by less than one of them."""
    numbers = []
    for part in text.split("."):
        digits = re.match(r"\d+", part)
        if digits is None:
            break
        numbers.append(int(digits[0]))
        if digits[0] != part:
            break
    return tuple(numbers)
