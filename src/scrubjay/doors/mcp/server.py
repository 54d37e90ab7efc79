"""The server: tools, resources and prompts in the words of the protocol. The same for every transport."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from scrubjay import __version__
from scrubjay.doors.mcp import greeting, offered
from scrubjay.doors.mcp.faults import MOST_FAULTS, fault
from scrubjay.doors.mcp.place import named
from scrubjay.doors.mcp.schemas import schema_of
from scrubjay.doors.mcp.tools import TOOLS, Caller, Tool
from scrubjay.doors.shown import Showing
from scrubjay.errors import NotFound, ScrubjayError
from scrubjay.model import Where

if TYPE_CHECKING:
    from scrubjay.service import Scrubjay

Context: TypeAlias = ServerRequestContext[Any, Any]


class MemoryOf(Protocol):
    """The memory that a request may use."""

    async def __call__(self, request: object, *, writes: bool) -> "Scrubjay":
        """Return it for an HTTP request, or for None where there is none. Raises what keeps it from being used."""


def in_full(error: ScrubjayError, _request: object) -> str:
    """All that an error says: for whoever started us."""
    return str(error)


def of_everything(_request: object) -> Showing:
    """Everything that a write answers with: for whoever started us."""
    return Showing()


class Door:
    """What answers the requests of the protocol. It translates, and holds no logic.

    `count` says how many tokens a text has. `said` is what an error says to whoever made a request: not everybody may
    know where the stores are. `showing` is what a write shows them of what others told.
    """

    def __init__(
        self,
        memory_of: MemoryOf,
        *,
        where: Where,
        shares_files: bool,
        count: Callable[[str], int],
        said: Callable[[ScrubjayError, object], str] = in_full,
        showing: Callable[[object], Showing] = of_everything,
    ) -> None:
        self._memory_of = memory_of
        self._where = where
        self._shares_files = shares_files
        self._count = count
        self._said = said
        self._showing = showing

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Describe every tool."""
        return types.ListToolsResult(tools=[described(tool) for tool in TOOLS.values()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call one. What goes wrong is an answer that the model can read and act on: the field, the value, the remedy.

        Raises MCPError when there is no such tool.
        """
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}: use {', '.join(TOOLS)}")
        # Some clients name every argument and give null for those that the model left out.
        given = {name: value for name, value in (params.arguments or {}).items() if value is not None}
        try:
            told = tool.asks.model_validate(given)
            folder = Path() if self._shares_files else None
            where, said = named(told.where(self._where), folder), named(told.where({}), folder)
            caller = await self._caller(context, where, said, writes=not tool.reads)
            answer = await tool.run(caller, told)
        except ValidationError as error:
            return _refused("; ".join(map(fault, error.errors()[:MOST_FAULTS])))
        except ScrubjayError as error:
            return _refused(self._said(error, context.request))
        return types.CallToolResult(
            content=[types.TextContent(text=str(answer))],
            structured_content=answer.model_dump(mode="json", exclude_none=True),
        )

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Describe the resource that is always there."""
        standing = types.Resource(
            uri=offered.STANDING_URI,
            name="context",
            title="What always holds",
            description="Standing instructions, rules and preferences, and what happened last.",
            mime_type=offered.MARKDOWN,
        )
        return types.ListResourcesResult(resources=[standing])

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Describe the addresses of single memories."""
        memory = types.ResourceTemplate(
            uri_template=offered.MEMORY_URI,
            name="memory",
            title="One memory",
            description="One memory in full, in whatever state it is.",
            mime_type=offered.JSON,
        )
        return types.ListResourceTemplatesResult(resource_templates=[memory])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one. Raises MCPError with our message when it cannot be read."""
        uri = str(params.uri)
        try:
            found = await offered.read(await self._caller(context, self._where), uri)
        except ScrubjayError as error:
            raise self._protocol_error(error, context) from error
        held = types.TextResourceContents(uri=uri, text=found.text, mime_type=found.mime_type)
        return types.ReadResourceResult(contents=[held])

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Describe every prompt."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=one.name,
                    title=one.title,
                    description=one.description,
                    arguments=[
                        types.PromptArgument(name=each.name, description=each.description, required=each.needed)
                        for each in one.arguments
                    ],
                )
                for one in offered.PROMPTS.values()
            ]
        )

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Write one. Raises MCPError with our message when it cannot be written."""
        try:
            prompt = offered.PROMPTS.get(params.name)
            if prompt is None:
                known = ", ".join(offered.PROMPTS)
                raise NotFound(f"there is no prompt {params.name[:80]!r}: use {known}")
            text = await prompt.written(await self._caller(context, self._where), params.arguments or {})
        except ScrubjayError as error:
            raise self._protocol_error(error, context) from error
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def _caller(
        self, context: Context, where: Where, said: Where | None = None, *, writes: bool = False
    ) -> Caller:
        jay = await self._memory_of(context.request, writes=writes)
        return Caller(
            jay=jay,
            where=where,
            said=said or {},
            shares_files=self._shares_files,
            showing=self._showing(context.request),
            count=self._count,
        )

    def _protocol_error(self, error: ScrubjayError, context: Context) -> MCPError:
        """Resources and prompts have no answer for what went wrong, so the protocol's own error carries our message."""
        code = types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR
        return MCPError(code, self._said(error, context.request))


def server_of(door: Door, close: Callable[[], Awaitable[None]]) -> Server[None]:
    """The server that this door answers for. `close` is called when it stops."""

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        try:
            yield None
        finally:
            await close()

    return Server(
        greeting.NAME,
        version=__version__,
        title=greeting.TITLE,
        description=greeting.DESCRIPTION,
        instructions=greeting.INSTRUCTIONS,
        lifespan=lifespan,
        get_tool_input_schema=lambda name: schema_of(TOOLS[name].asks) if name in TOOLS else None,
        on_list_tools=door.list_tools,
        on_call_tool=door.call_tool,
        on_list_resources=door.list_resources,
        on_list_resource_templates=door.list_templates,
        on_read_resource=door.read_resource,
        on_list_prompts=door.list_prompts,
        on_get_prompt=door.get_prompt,
    )


def described(tool: Tool) -> types.Tool:
    """The tool as clients see it."""
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        # Telling the same thing twice is one memory, and forgetting it twice changes nothing more.
        idempotent_hint=True,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        annotations=hints,
        input_schema=schema_of(tool.asks),
        output_schema=schema_of(tool.answers),
    )


def _refused(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=why)], is_error=True)
