"""Names of a package that are loaded when they are first used: nobody pays for what they do not use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loading(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names live in these modules, each given by its whole name."""

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
