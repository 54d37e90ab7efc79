"""Commands about agents: list, show, cycles, resume, replay, fork, files, snapshot and restore."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.text import Text

from scrubjay.doors.cli import agents_views, views
from scrubjay.doors.cli.output import note, output, write_json, write_line, write_table
from scrubjay.doors.cli.place import SCOPE, House, Project
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model.scope import OfAgent

app = typer.Typer(no_args_is_help=True, help="Agents: every cycle on record, and where each of them stopped.")

Name: TypeAlias = Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent.")]


@dataclass(frozen=True, kw_only=True)
class Home(House):
    """Which store, and where in it an agent lives. It outlives its sessions, so none is named."""

    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose it is.", rich_help_panel=SCOPE)] = None
    project: Project = None
    workflow: Annotated[
        str | None, typer.Option("--workflow", "-w", help="Which run of a workflow.", rich_help_panel=SCOPE)
    ] = None

    @property
    def where(self) -> OfAgent:
        """The scope as keywords of a verb."""
        return {"user": self.user, "project": self.project, "workflow": self.workflow}


@app.command("list")
@verb
def list_(
    here: Home,
    archived: Annotated[bool, typer.Option("--archived", help="Also those that act no more.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 100,
    json: AsJson = False,
) -> None:
    """List the agents that live inside the scope, newest first."""
    with here.opened() as jay:
        found = jay.agents.list(archived=archived, limit=limit, **here.where)
    if json:
        write_json([agents_views.agent(one) for one in found])
        return
    columns = ("name", "status", "version", "where", "updated", "directives")
    write_table(columns, [agents_views.agent_row(one) for one in found])
    if not found:
        note("no agent is on record here: the library creates them, see `agents.create`")


@app.command("show")
@verb
def show(here: Home, agent: Name, json: AsJson = False) -> None:
    """Show an agent: what it is to do, how it is configured, and where it is."""
    with here.opened() as jay:
        there = jay.agents.resume(agent, **here.where)
    if json:
        write_json(agents_views.agent(there.agent))
    elif output().is_terminal:
        output().print(agents_views.agent_view(there))
    else:
        write_table((), [agents_views.agent_row(there.agent)])


@app.command("cycles")
@verb
def cycles(
    here: Home,
    agent: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 20,
    oldest: Annotated[bool, typer.Option("--oldest", help="The first ones first.")] = False,
    after: Annotated[int | None, typer.Option(min=1, help="Go on behind this cycle.")] = None,
    json: AsJson = False,
) -> None:
    """List the cycles of an agent, newest first."""
    with here.opened() as jay:
        found = jay.agents.cycles(agent, limit=limit, order="oldest" if oldest else "newest", after=after, **here.where)
    if json:
        write_json([agents_views.cycle(one) for one in found])
        return
    write_table(
        ("cycle", "status", "began", "ended", "goal", "summary"), [agents_views.cycle_row(one) for one in found]
    )
    if not found:
        note(f"agent {agent} has had no cycle yet")


@app.command("resume")
@verb
def resume(here: Home, agent: Name, json: AsJson = False) -> None:
    """Say exactly where an agent stopped: what is complete, what is open, and what waits."""
    with here.opened() as jay:
        there = jay.agents.resume(agent, **here.where)
    if json:
        write_json(agents_views.resumption(there))
    elif output().is_terminal:
        output().print(agents_views.resumption_view(there))
    else:
        write_table((), [agents_views.resumption_row(there)])


@app.command("replay")
@verb
def replay(
    here: Home,
    agent: Name,
    cycle: Annotated[int | None, typer.Option("--cycle", "-c", min=1, help="Only this cycle.")] = None,
    json: AsJson = False,
) -> None:
    """Tell all that happened in the life of an agent, in order, as a timeline."""
    with here.opened() as jay:
        told = jay.agents.replay(agent, **here.where)
        wanted = (one for one in told if cycle is None or one.cycle == cycle)
        if json:
            write_json([agents_views.happening(one) for one in wanted])
        elif (console := output()).is_terminal:
            for line in agents_views.timeline(wanted):
                console.print(line, soft_wrap=True)
        else:
            for one in wanted:
                write_table((), [agents_views.happening_row(one)])


@app.command("fork")
@verb
def fork(
    here: Home,
    agent: Name,
    to: Annotated[str, typer.Argument(help="The name of the new agent.")],
    at: Annotated[
        int | None, typer.Option(min=0, help="The last cycle that both have; usually the last ended.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Make another agent with the same past, which goes its own way from there. Safe to repeat."""
    with here.opened() as jay:
        made = jay.agents.fork(agent, to, at=at, **here.where)
    if json:
        write_json(agents_views.agent(made))
        return
    line = Text("forked ", style="green").append(made.name, style=views.ID).append(f" from {made.forked_from}")
    write_line(line, made.name, str(made.forked_from))


@app.command("files")
@verb
def files(
    here: Home,
    agent: Name,
    snapshot: Annotated[int | None, typer.Option(min=1, help="Of this snapshot; usually the newest.")] = None,
    json: AsJson = False,
) -> None:
    """List the files that a snapshot of an agent holds."""
    with here.opened() as jay:
        found = jay.agents.files(agent, snapshot=snapshot, **here.where)
    if json:
        write_json([file.data for file in found])
        return
    write_table(("path", "bytes", "version", "type", "sha256"), [agents_views.file_row(file) for file in found])
    if not found:
        note(f"nothing is kept for agent {agent}: take a snapshot first")


@app.command("snapshot")
@verb
def snapshot(
    here: Home,
    agent: Name,
    path: Annotated[Path, typer.Argument(help="The folder with its files.")],
    json: AsJson = False,
) -> None:
    """Keep the files below a folder as they are now, byte for byte. What was kept before is not kept twice."""
    with here.opened() as jay:
        taken = jay.agents.snapshot(agent, path, **here.where)
    if json:
        write_json(agents_views.snapshot(taken))
        return
    line = Text("kept ", style="green").append(f"snapshot {taken.number}", style=views.ID)
    line.append(f": {len(taken.files):,} files, {taken.bytes:,} bytes")
    write_line(line, str(taken.number), str(len(taken.files)), str(taken.bytes))


@app.command("restore")
@verb
def restore(
    here: Home,
    agent: Name,
    to: Annotated[Path, typer.Argument(help="The folder to put them in.")],
    snapshot: Annotated[int | None, typer.Option(min=1, help="This snapshot; usually the newest.")] = None,
    json: AsJson = False,
) -> None:
    """Put the files of a snapshot into a folder, each checked against its hash. Other files there are left alone."""
    with here.opened() as jay:
        done = jay.agents.restore(agent, to, snapshot=snapshot, **here.where)
    if json:
        write_json(agents_views.restored(done))
        return
    line = Text("restored ", style="green").append(f"snapshot {done.snapshot.number}", style=views.ID)
    line.append(f": {done.written:,} files written, {done.unchanged:,} were there already")
    write_line(line, str(done.snapshot.number), str(done.written), str(done.unchanged))
    for link in done.left_out:
        note(f"not made, since it may lead out of the folder: the link {link} -> {link.link}")
