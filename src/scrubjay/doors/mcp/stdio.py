"""Standard input and output: the client starts this process and speaks with it alone."""

from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server

from scrubjay.doors.mcp.memory import LazyMemory, opener
from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.model import Where
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.service import Scrubjay


async def run(settings: Settings, where: Where) -> None:
    """Serve until the client hangs up."""
    memory = LazyMemory(opener(settings))

    async def memory_of(request: object, *, writes: bool) -> "Scrubjay":  # noqa: ARG001 -- who started us may do both
        return await memory.get()

    server = server_of(Door(memory_of, where=where, shares_files=True), memory.close)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())
