"""The HTTP door: the verbs of the library under /v1. It translates and holds no logic."""

import asyncio
import socket
from contextlib import suppress
from ipaddress import ip_address

from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.settings import Settings
from scrubjay.wiring import wire


def serve(settings: Settings) -> None:
    """Serve until a signal says stop; requests under way are finished first.

    Raises Misconfigured when the address is not this machine's own, the port is taken, or the extra is missing; and
    whatever keeps the store from opening, unless it is a server that may come back.
    """
    try:
        from scrubjay.doors.http.opening import may_come_back  # noqa: PLC0415 -- with the next one
        from scrubjay.doors.http.server import run  # noqa: PLC0415 -- FastAPI is an extra
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"the HTTP server needs {error.name}, which is not installed: pip install 'scrubjay[server]'"
        ) from error
    with _listener(settings) as listener:
        # Opened once before, so that a store that cannot be opened is one clear error and not a server's traceback.
        try:
            asyncio.run(_open_once(settings))
        except StoreUnavailable as error:
            # A database on a server may be back at any moment: until then, requests are answered with a 503.
            if not may_come_back(settings, error):
                raise
        with suppress(KeyboardInterrupt):
            run(settings, listener)


def is_loopback(host: str) -> bool:
    """Whether this name or address can only be reached from the same machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


async def _open_once(settings: Settings) -> None:
    async with wire(settings):
        pass


def _listener(settings: Settings) -> socket.socket:
    host, port = settings.host, settings.port
    if not is_loopback(host):
        raise Misconfigured(
            f"SCRUBJAY_HOST is {host!r}: this version has no keys, so it only listens on this machine. Use 127.0.0.1"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches delayed sending off only where the protocol is named, and answers then take 40 ms less.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise Misconfigured(
            f"SCRUBJAY_PORT is {port}: cannot listen on {host}:{port} ({error.strerror}). "
            "Stop what uses it, or choose another port; 0 picks a free one"
        ) from error
    return listener
