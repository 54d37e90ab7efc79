"""Everything that Scrubjay raises, as one tree. The docstring is the default message and says what to do.

ScrubjayError
├── InvalidInput          a value that was given is wrong                          400
│   ├── Unsupported       a file or a stream in a format this version cannot read  400
│   └── AnotherRequest    an Idempotency-Key that came with another request before 422
├── Unauthenticated       no key, or one that is not valid                         401
├── Forbidden             the key may not do this                                  403
├── NotFound              no such memory in this scope                             404
├── Conflict              what was asked contradicts what is stored                409
│   ├── IdTaken           the id names another memory already                      409
│   └── UnderWay          the same request is being worked on, or was answered     409
├── PreconditionFailed    it is not what If-Match says any more                    412
├── TooManyRequests       the key has used up what it may ask for                  429
├── Misconfigured         a setting or a missing extra                             500
│   └── KeyMissing        what is stored is encrypted with a key that is not here  500
└── Unavailable           a store or a model cannot answer now                     503
    ├── StoreUnavailable  the database                                             503
    │   ├── SchemaOutdated   older than this version                               503
    │   ├── SchemaTooNew     newer than this version                               503
    │   └── StoreDamaged     its integrity check failed                            503
    ├── EmbedderUnavailable  the embedding model                                   503
    ├── ChatUnavailable      the language model                                    503
    ├── RerankerUnavailable  the model that reads question and memory together     503
    ├── Overloaded           a request that would have had to wait for too long    503
    ├── TookTooLong          a request that was given up                           503
    └── Closed            the memory is not open                                   503
"""

import inspect
from collections.abc import Mapping
from uuid import UUID


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


class AnotherRequest(InvalidInput):
    """This Idempotency-Key came with another request before. Use a new key for every new request."""

    status = 422


class Unauthenticated(ScrubjayError):
    """A key is needed. Send `Authorization: Bearer sj_…`; `scrubjay keys create` makes one."""

    status = 401


class Forbidden(ScrubjayError):
    """This key may not do that. Use one with the right for it; `scrubjay keys list` shows what each may do."""

    status = 403


class NotFound(ScrubjayError, LookupError):
    """There is no such memory in this scope. Check the id, and the user, project or session it belongs to."""

    status = 404


class Conflict(ScrubjayError):
    """What was asked contradicts what is stored. Read it again, then decide."""

    status = 409

    def __init__(self, message: str | None = None, *, rivals: Mapping[UUID, UUID] | None = None) -> None:
        super().__init__(message)
        self.rivals: Mapping[UUID, UUID] = rivals or {}
        """Memories that were given and cannot be believed beside one that is: their ids, each with that one's."""


class IdTaken(Conflict):
    """This id names another memory already. Use `update` to change it, or another id."""


class UnderWay(Conflict):
    """A request with this Idempotency-Key is being worked on. Wait a moment, then send it again."""


class PreconditionFailed(ScrubjayError):
    """It was changed since you read it. Read it again, then decide."""

    status = 412


class TooManyRequests(ScrubjayError):
    """This key has used up what it may ask for. Wait as long as Retry-After says, then go on."""

    status = 429


class Misconfigured(ScrubjayError):
    """A setting is wrong. Run `scrubjay config` to see all of them and where they come from."""


class KeyMissing(Misconfigured):
    """What is stored is encrypted, and its key is not here. Set SCRUBJAY_ENCRYPTION_KEY, or its _FILE."""


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


class RerankerUnavailable(Unavailable):
    """The reranker cannot answer. Recall answers without it, in the order it has by itself."""


class Overloaded(Unavailable):
    """The service is asked for more than it can do now. Wait as long as Retry-After says, then try again."""


class TookTooLong(Unavailable):
    """The request took too long and was given up. Ask for less at once, or raise SCRUBJAY_REQUEST_SECONDS."""


class Closed(Unavailable):
    """This memory is not open: it was closed, or never entered with `async with`. Open it, then go on."""
