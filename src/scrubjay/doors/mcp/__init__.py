"""The MCP door: memory as tools for agents, over standard input and output or over HTTP. It holds no logic."""

import asyncio
import gc
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from scrubjay.doors.mcp.greeting import first_line, greet
from scrubjay.doors.mcp.place import defaults_of
from scrubjay.errors import Misconfigured
from scrubjay.model import Where
from scrubjay.settings import Settings


def serve_stdio(settings: Settings, where: Where) -> None:
    """Serve the client that started this process, until it hangs up. Raises Misconfigured when the extra is missing."""
    defaults = defaults_of(where, Path.cwd())
    if find_spec("mcp") is None:
        raise _missing(ModuleNotFoundError(name="mcp"))
    # A client waits for the handshake: it is answered before the library loads, which takes several times as long.
    line = first_line()
    is_greeted = greet(line)
    # Thousands of classes are made while it loads, and none of them is garbage.
    gc.disable()
    try:
        from scrubjay.doors.mcp.stdio import run  # noqa: PLC0415 -- MCP is an extra
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    finally:
        gc.freeze()
        gc.enable()
    asyncio.run(run(settings, defaults, line, is_greeted=is_greeted))


def serve_http(settings: Settings, where: Where) -> None:
    """Serve over streamable HTTP until a signal says stop.

    Raises Misconfigured when the address is not this machine's own and there are no keys, the port is taken, or an
    extra is missing.
    """
    if settings.url:
        raise Misconfigured(f"SCRUBJAY_URL is {settings.url!r}: a server over HTTP has a memory of its own. Unset it")
    defaults = defaults_of(where, Path.cwd())
    from scrubjay.doors.http import listening  # noqa: PLC0415 -- loads the store; a handshake over stdio needs none

    with listening(settings) as (listener, wants_keys):
        try:
            from scrubjay.doors.mcp.streamable import run  # noqa: PLC0415 -- MCP is an extra
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        with suppress(KeyboardInterrupt):
            run(settings, defaults, listener, wants_keys=wants_keys)


def _missing(error: ModuleNotFoundError) -> Misconfigured:
    return Misconfigured(f"the MCP server needs {error.name}, which is not installed: pip install 'scrubjay[mcp]'")
