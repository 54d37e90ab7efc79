"""Events for operators: structured, on the standard library's loggers, so that the application decides what it sees.

Never the content of a memory, only ids, counts and reasons.
"""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, Final, TypeAlias, cast

import structlog

FIELDS: Final = "scrubjay_fields"
"""The attribute of a log record that holds the event with its details, for those who write them one by one."""

_Event: TypeAlias = MutableMapping[str, Any]


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger of that name below `scrubjay`. It changes nothing about how the application logs."""
    return cast(
        "structlog.stdlib.BoundLogger",
        structlog.wrap_logger(
            logging.getLogger(f"scrubjay.{name}"),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.contextvars.merge_contextvars,
                trace_without_messages,
                _with_fields,
            ],
        ),
    )


def trace_without_messages(_: object, __: str, event: _Event) -> _Event:
    """Write where an error came from and its kinds, not what it said: a driver's message may quote what was stored."""
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event["exception"] = "\n".join(_told(error))
    return event


def _told(error: BaseException) -> list[str]:
    """The frames and the kind of an error, after those of what caused it."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    return [*(_told(before) if before is not None else []), *([frames] if frames else []), kind]


def _with_fields(_: object, __: str, event: _Event) -> tuple[tuple[str], dict[str, Any]]:
    """One line of text for every handler, and the same in parts for one that writes JSON."""
    text = structlog.processors.KeyValueRenderer(key_order=["event"])(None, "", dict(event))
    return (str(text),), {"extra": {FIELDS: dict(event)}}
