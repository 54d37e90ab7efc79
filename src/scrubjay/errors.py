"""Everything that Scrubjay raises, as one tree. The docstring is the default message and says what to do.

ScrubjayError
├── InvalidInput          a value that was given is wrong                          400
│   └── Unsupported       a file or a stream in a format this version cannot read  400
├── NotFound              no such memory in this scope                             404
├── Conflict              what was asked contradicts what is stored                409
│   └── IdTaken           the id names another memory already                      409
├── Misconfigured         a setting or a missing extra                             500
└── Unavailable           a store or a model cannot answer now                     503
    ├── StoreUnavailable  the database                                             503
    │   ├── SchemaOutdated   older than this version                               503
    │   ├── SchemaTooNew     newer than this version                               503
    │   └── StoreDamaged     its integrity check failed                            503
    ├── EmbedderUnavailable  the embedding model                                   503
    ├── ChatUnavailable      the language model                                    503
    └── Closed            the memory was closed already                            503
"""

import inspect


class ScrubjayError(Exception):
    """Something went wrong in Scrubjay."""

    status = 500
    """The HTTP status that says the same."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)))


class InvalidInput(ScrubjayError, ValueError):
    """A value that was given cannot be used."""

    status = 400


class Unsupported(InvalidInput):
    """This file is in a format that this version cannot read. Export it again, or use a newer Scrubjay."""


class NotFound(ScrubjayError, LookupError):
    """There is no such memory in this scope. Check the id, and the user, project or session it belongs to."""

    status = 404


class Conflict(ScrubjayError):
    """What was asked contradicts what is stored. Read it again, then decide."""

    status = 409


class IdTaken(Conflict):
    """This id names another memory already. Use `update` to change it, or another id."""


class Misconfigured(ScrubjayError):
    """A setting is wrong. Run `scrubjay config` to see all of them and where they come from."""


class Unavailable(ScrubjayError):
    """A part of the memory cannot answer now. Try again; `scrubjay doctor` says which part and why."""

    status = 503


class StoreUnavailable(Unavailable):
    """The database cannot be reached. Check that it runs and that SCRUBJAY_RECORDS is right."""


class SchemaOutdated(StoreUnavailable):
    """The database is older than this version. Run `scrubjay migrate`, then start again."""


class SchemaTooNew(StoreUnavailable):
    """The database was written by a newer version. Upgrade Scrubjay; nothing was changed."""


class StoreDamaged(StoreUnavailable):
    """The database file is damaged. Restore a backup, or run `scrubjay doctor` for what can be saved."""


class EmbedderUnavailable(Unavailable):
    """The embedding model cannot answer. Writes are kept and indexed later; recall works by words."""


class ChatUnavailable(Unavailable):
    """The language model cannot answer. Nothing waits for it: summaries are made of what was said, word for word."""


class Closed(Unavailable):
    """This memory was closed. Open it again with `scrubjay.open()`."""
