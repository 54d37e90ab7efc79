"""Every verb of every memory, found by reflection, with the names of what it takes."""

import inspect
import typing

from scrubjay.service import Scrubjay

OF_THE_INSTALLATION = {
    *("start", "close", "for_tenant", "check", "examine", "health", "reindex", "rollback", "sweep", "stats"),
    *("narrowed", "for_caller", "access.authenticate", "access.wants_keys", "access.spend"),
    *("work.status", "work.restore_archive", "work.run"),
    *("vectors.status", "vectors.rebuild", "vectors.mirror"),
    *("encryption.status", "encryption.rotate", "encryption.destroy"),
}
"""Verbs of whoever runs it all: they take no scope, and speak of counts and of health."""

_NOT_OF_A_CALLER = {"scoped", "filtered"}

_ELSEWHERE = {"workspace"}
"""What has tests of its own, since its verbs work on files and repositories."""


def verbs_of(jay):
    """Every verb by its dotted name: those of the core, and those of each memory."""
    found = {}
    properties = [name for name, kind in inspect.getmembers(Scrubjay) if isinstance(kind, property)]
    memories = [name for name in properties if name != "tenant" and not name.startswith("_")]
    for prefix, verbs in [
        ("", jay),
        *((f"{name}.", getattr(jay, name)) for name in memories if name not in _ELSEWHERE),
    ]:
        for name, verb in inspect.getmembers(verbs, inspect.ismethod):
            dotted = f"{prefix}{name}"
            if not name.startswith("_") and dotted not in OF_THE_INSTALLATION and name not in _NOT_OF_A_CALLER:
                found[dotted] = verb
    return found


def parameters_of(verb):
    """The names that the verb takes, and those that it needs; keywords of a TypedDict are names, too."""
    names, needed = [], []
    for one in inspect.signature(verb).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            [keywords] = typing.get_args(one.annotation)
            names += [name for base in keywords.__mro__[:-1] for name in getattr(base, "__annotations__", {})]
        else:
            names.append(one.name)
            if one.default is one.empty:
                needed.append(one.name)
    return list(dict.fromkeys(names)), needed
