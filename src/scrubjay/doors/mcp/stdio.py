"""Standard input and output: the client starts this process and speaks with it alone."""

from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from scrubjay.doors.mcp.begun import Heard, Replayed, Unrepeated, heard
from scrubjay.doors.mcp.memory import LazyMemory, opener
from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.model import Where
from scrubjay.settings import Settings
from scrubjay.wiring import counter

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

    from scrubjay.service import Scrubjay


async def run(settings: Settings, where: Where, line: bytes, *, is_greeted: bool) -> None:
    """Serve until the client hangs up. Its first line was read before, and answered if it `is_greeted`."""
    memory = LazyMemory(opener(settings))

    async def memory_of(request: object, *, writes: bool) -> "Scrubjay":  # noqa: ARG001 -- who started us may do both
        return await memory.get()

    server = server_of(Door(memory_of, where=where, shares_files=True, count=counter(settings)), memory.close)
    async with stdio_server() as (reads, writes):
        ours, theirs = _continued(reads, writes, line, is_greeted=is_greeted)
        await server.run(ours, theirs, server.create_initialization_options())


def _continued(
    reads: "ReadStream[Heard]", writes: "WriteStream[SessionMessage]", line: bytes, *, is_greeted: bool
) -> "tuple[ReadStream[Heard], WriteStream[SessionMessage]]":
    """The streams, as if nothing had been read and said before."""
    if not line:
        return reads, writes
    first = heard(line)
    if is_greeted and isinstance(first, SessionMessage) and isinstance(first.message, JSONRPCRequest):
        writes = Unrepeated(first.message.id, writes)
    return Replayed(first, reads), writes
