"""The command that serves agents: memory as MCP tools, over standard input and output or over HTTP."""

from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.doors.cli.place import House, log_to_standard_error
from scrubjay.doors.cli.verb import verb

if TYPE_CHECKING:
    from scrubjay.model import Where
    from scrubjay.settings import Settings


@verb
def mcp(
    here: House,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="Whose memories, unless a call names somebody (SCRUBJAY_MCP_USER)."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            "-p",
            help="The project, unless a call names one; . is the repository it is started in (SCRUBJAY_MCP_PROJECT).",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="The agent, unless a call names one (SCRUBJAY_MCP_AGENT).")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Work with the Scrubjay server at this address (SCRUBJAY_URL).")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The API key for it; other users of this machine see it (SCRUBJAY_KEY).")
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve many clients over streamable HTTP, until Ctrl-C.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="With --http: the address to listen on (SCRUBJAY_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="With --http: the port; 0 picks a free one (SCRUBJAY_PORT).")] = None,
) -> None:
    """Serve agents: remember, recall and the like as MCP tools, over standard input and output."""
    from scrubjay.doors import mcp as door  # noqa: PLC0415 -- pydantic takes a while; --help needs none of it
    from scrubjay.settings import read_settings  # noqa: PLC0415 -- the same

    settings = read_settings(
        **here.given, mcp_user=user, mcp_project=project, mcp_agent=agent, url=url, key=key, host=host, port=port
    )
    log_to_standard_error()
    serve = door.serve_http if http else door.serve_stdio
    serve(settings, _where(settings))


def _where(settings: "Settings") -> "Where":
    return {
        "user": settings.mcp_user or None,
        "project": settings.mcp_project or None,
        "agent": settings.mcp_agent or None,
    }
