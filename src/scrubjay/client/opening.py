"""Opening the memory of a server, with `await` and without."""

from typing import cast

from scrubjay.client.connection import Connection
from scrubjay.client.service import RemoteScrubjay
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay

PATIENCE = 60.0
"""Seconds that one request may take."""


def connect(url: str, *, key: str | None = None, timeout: float = PATIENCE) -> SyncScrubjay:
    """Connect to a server: the same verbs and values as `scrubjay.open()`, and the same type.

    `timeout` is in seconds, for each try of each request. Raises InvalidInput for a URL that is none, Unauthenticated
    when the server does not take the key, and Unavailable when no server is there.
    """
    return SyncScrubjay(cast("Scrubjay", connect_async(url, key=key, timeout=timeout))).start()


def connect_async(url: str, *, key: str | None = None, timeout: float = PATIENCE) -> RemoteScrubjay:
    """Connect to a server with `async with`: the same verbs and values as `scrubjay.open_async()`.

    What is said of `connect` holds when it is started.
    """
    return RemoteScrubjay(Connection(url, key=key, timeout=timeout))
