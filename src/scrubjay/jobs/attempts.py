"""The one place in which work may fail in any way at all: it is logged, told to whoever asked, and the rest goes on."""

from collections.abc import Awaitable, Callable

from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.ports import Purged

log = logger("jobs")


async def attempted(work: Callable[[], Awaitable[object]], **about: str) -> str:
    """Do the work; return what went wrong, in one sentence, and an empty text when nothing did.

    A part that is away is nobody's fault, nor is a purge meanwhile: Unavailable and Purged are raised.
    """
    try:
        await work()
    except (Unavailable, Purged):
        raise
    except Exception as error:
        log.warning("work failed", **about, exc_info=True)
        return f"{type(error).__name__}: {error}"
    return ""
