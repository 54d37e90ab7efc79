"""What the server logs: one JSON object per line on stderr, ready for whatever collects it."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

import structlog

from scrubjay.logs import FIELDS, trace_without_messages


class JsonLines(logging.Formatter):
    """Writes what the library says in its parts, and what others say as one text."""

    def format(self, record: logging.LogRecord) -> str:
        """One object on one line. A traceback has frames and kinds of errors, and neither values nor messages."""
        said: dict[str, Any] = dict(getattr(record, FIELDS, None) or {"event": record.getMessage()})
        if record.exc_info:
            said = dict(trace_without_messages(None, "", {**said, "exc_info": record.exc_info}))
        at = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        first = {
            "timestamp": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": said.pop("event", ""),
        }
        return json.dumps(first | said, default=str)


def log_as_json(level: str = "info") -> None:
    """Log from this level on; what other libraries say, from warning on."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            trace_without_messages,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.root.handlers = [handler]
    logging.root.setLevel(logging.WARNING)
    ours = logging.getLogger("scrubjay")
    ours.setLevel(level.upper())
    ours.handlers = []  # A command may have begun by writing lines for people.
