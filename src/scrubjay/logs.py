"""Events for operators: structured, on the standard library's loggers, so that the application decides what it sees.

Never the content of a memory, only ids, counts and reasons.
"""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

FIELDS: Final = "scrubjay_fields"
"""The attribute of a log record that holds the event with its details, for those who write them one by one."""

_Event: TypeAlias = MutableMapping[str, Any]


class Logger:
    """Writes events with details. The library that does so takes a while to load, and waits for the first event."""

    def __init__(self, name: str) -> None:
        self._heard = logging.getLogger(name)

    def info(self, event: str, **details: object) -> None:
        """Say what was done."""
        if self._heard.isEnabledFor(logging.INFO):
            self._written.info(event, **details)

    def warning(self, event: str, **details: object) -> None:
        """Say what went wrong and was got over."""
        if self._heard.isEnabledFor(logging.WARNING):
            self._written.warning(event, **details)

    def error(self, event: str, **details: object) -> None:
        """Say what went wrong and is so still."""
        if self._heard.isEnabledFor(logging.ERROR):
            self._written.error(event, **details)

    @cached_property
    def _written(self) -> "BoundLogger":
        import structlog  # noqa: PLC0415 -- see above

        logger = structlog.wrap_logger(
            self._heard,
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[structlog.contextvars.merge_contextvars, trace_without_messages, _with_fields],
        )
        return cast("BoundLogger", logger)


def logger(name: str) -> Logger:
    """A logger of that name below `scrubjay`. It changes nothing about how the application logs."""
    return Logger(f"scrubjay.{name}")


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
    from structlog.processors import KeyValueRenderer  # noqa: PLC0415 -- loaded by now

    return (str(KeyValueRenderer(key_order=["event"])(None, "", dict(event))),), {"extra": {FIELDS: dict(event)}}
