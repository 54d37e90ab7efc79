"""The HTTP door: the verbs of the library under /v1. It translates and holds no logic."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from ipaddress import ip_address

from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.settings import Settings
from scrubjay.wiring import wire


def serve(settings: Settings) -> None:
    """Serve until a signal says stop; requests under way are finished first.

    Raises Misconfigured when others can reach the address and there is no key yet, the port is taken, or the extra is
    missing; and whatever keeps the store from opening, unless it is a server that may come back.
    """
    with listening(settings) as (listener, wants_keys):
        from scrubjay.doors.http.server import run  # noqa: PLC0415 -- loaded just now

        with suppress(KeyboardInterrupt):
            run(settings, listener, wants_keys=wants_keys)


@contextmanager
def listening(settings: Settings) -> Iterator[tuple[socket.socket, bool]]:
    """The socket to serve on, and whether requests need a key. Raises what `serve` raises."""
    try:
        from scrubjay.doors.http.opening import may_come_back  # noqa: PLC0415 -- with the next one

        import_module("scrubjay.doors.http.server")  # FastAPI is an extra: that it is missing is said before all else
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"the HTTP server needs {error.name}, which is not installed: pip install 'scrubjay[server]'"
        ) from error
    with _listener(settings) as listener:
        # Opened once before, so that a store that cannot be opened is one clear error and not a server's traceback.
        wants_keys = True
        try:
            wants_keys = asyncio.run(_open_once(settings))
        except StoreUnavailable as error:
            # A database on a server may be back at any moment: until then, requests are answered with a 503.
            if not may_come_back(settings, error):
                raise
        if not wants_keys and not is_loopback(settings.host):
            raise Misconfigured(
                f"SCRUBJAY_HOST is {settings.host!r}, which others can reach, and there is no key yet: make one with "
                "`scrubjay keys create NAME`, or listen on 127.0.0.1"
            )
        yield listener, wants_keys


def is_loopback(host: str) -> bool:
    """Whether this name or address can only be reached from the same machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


async def _open_once(settings: Settings) -> bool:
    """Open the memory and close it again; say whether it asks for keys."""
    async with wire(settings) as jay:
        return await jay.access.wants_keys()


def _listener(settings: Settings) -> socket.socket:
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches delayed sending off only where the protocol is named, and answers then take 40 ms less.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen()
    except OSError as error:
        listener.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise Misconfigured(
                f"SCRUBJAY_HOST is {host!r}: cannot listen there ({error.strerror}). "
                "Use a name or an address of this machine, such as 127.0.0.1; 0.0.0.0 is all of them"
            ) from error
        raise Misconfigured(
            f"SCRUBJAY_PORT is {port}: cannot listen on {host}:{port} ({error.strerror}). "
            "Stop what uses it, or choose another port; 0 picks a free one"
        ) from error
    return listener
