"""A client of the tools, and how tests ask it."""

from contextlib import asynccontextmanager

from mcp import Client

from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.models.tokens import WordPiece
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

HERE = {"user": "anna", "project": "shop"}


@asynccontextmanager
async def serving(
    home, *, where=HERE, shares_files=True, mode="auto", embedder=None, users=(), projects=(), count=None
):
    """A client of the tools, and the memory behind them. With `users` or `projects`, the client is bound to these.

    `count` counts tokens instead of WordPiece.
    """
    async with wire(read_settings(home=home, background=False), embedder=embedder or ToyEmbedder()) as jay:

        async def memory_of(request, *, writes):
            return jay.narrowed(users=users, projects=projects) if users or projects else jay

        async def close():
            pass

        count = count or WordPiece().count
        server = server_of(Door(memory_of, where=where, shares_files=shares_files, count=count), close)
        async with Client(server, mode=mode) as client:
            yield client, jay


async def call(client, tool, **arguments):
    """The text and the structure of an answer that is no error."""
    answer = await client.call_tool(tool, arguments)
    [block] = answer.content
    assert not answer.is_error, block.text
    return block.text, answer.structured_content


async def refusal(client, tool, **arguments) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text
