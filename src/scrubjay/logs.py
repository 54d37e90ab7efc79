"""Events for operators: structured, on the standard library's loggers, so that the application decides what it sees.

Never the content of a memory, only ids, counts and reasons.
"""

import logging
from typing import cast

import structlog


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger of that name below `scrubjay`. It changes nothing about how the application logs."""
    return cast(
        "structlog.stdlib.BoundLogger",
        structlog.wrap_logger(
            logging.getLogger(f"scrubjay.{name}"),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
        ),
    )
