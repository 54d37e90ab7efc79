"""Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, get_args

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter, create_model

from scrubjay.doors.http.access import HeavyJay, Jay, OperatorJay, ReadWriteJay, WriteJay
from scrubjay.doors.http.admitted import Admitted
from scrubjay.doors.http.bodies import agents as bodies
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.doors.http.routes.parameters import page, page_of, read_as_text
from scrubjay.doors.http.routes.room import Room, returned_by
from scrubjay.doors.http.shown import Shown
from scrubjay.doors.http.streams import NDJSON, as_lines
from scrubjay.doors.http.values import answer, plain
from scrubjay.model.agents import Agent, Cycle

room = Room("/agents", tag="agents", memory="agents")
streamed = APIRouter(prefix="/agents", tags=["agents"], responses=RESPONSES, route_class=Admitted)

Name = Annotated[str, Path(description="The agent's name.")]
Index = Annotated[int, Path(description="Which cycle, from 1.")]
Home = Annotated[bodies.Home, Query()]

_HAPPENED: Final[TypeAdapter[Any]] = TypeAdapter(answer(get_args(returned_by("agents.replay"))[0]))
_LINES: Final = {"schema": {"type": "string"}, "example": '{"what":"began","cycle":1,…}\n'}

CyclePage: Any = create_model(
    "CyclePage",
    __doc__="Some cycles, and where the next page begins.",
    cycles=(answer(list[Cycle]), ...),
    next=(int | None, ...),
)


@room.post("", "create", summary="Put an agent on record", status_code=201)
async def create(jay: WriteJay, told: bodies.Creating) -> object:
    """Created again just so, it is the same one; otherwise that is a conflict."""
    return await jay.agents.create(**told.keywords())


@room.get("", "list", summary="List agents", answers=page_of("agents", Agent))
async def list_agents(jay: Jay, asked: Annotated[bodies.AgentListing, Query()]) -> object:
    """List the agents that live inside the place, newest first, a page at a time."""
    return page("agents", await jay.agents.list(**asked.keywords()), asked.limit)


@room.post("/{agent:path}/archive", "archive", summary="Let an agent act no more")
async def archive(jay: ReadWriteJay, agent: Name, home: bodies.Archiving) -> object:
    """All that it did stays on record.

    The answer shows the whole agent, so this needs the right to read as well.
    """
    return await jay.agents.archive(agent, **home.keywords())


@room.post("/{agent:path}/cycles", "begin_cycle", summary="Begin a cycle", status_code=201)
async def begin_cycle(jay: ReadWriteJay, agent: Name, told: bodies.Beginning) -> object:
    """Begin the next one, with the state that the one before left. Of two who do, one gets a conflict.

    The answer shows that state, so this needs the right to read as well.
    """
    return await jay.agents.begin_cycle(agent, **told.keywords())


@room.get("/{agent:path}/cycles", "cycles", summary="List cycles", answers=CyclePage)
async def cycles(jay: Jay, agent: Name, asked: Annotated[bodies.CycleListing, Query()]) -> object:
    """List the cycles of an agent by their index, a page at a time."""
    found = await jay.agents.cycles(agent, **asked.keywords())
    return {"cycles": found, "next": found[-1].index if len(found) == asked.limit else None}


@room.post("/{agent:path}/cycles/end", "end_cycle", summary="End a cycle")
async def end_cycle(jay: ReadWriteJay, agent: Name, told: bodies.CycleEnding) -> object:
    """End the open one, and keep the state that the agent is in.

    The answer shows the whole cycle, so this needs the right to read as well.
    """
    return await jay.agents.end_cycle(agent, **told.keywords())


@room.get("/{agent:path}/cycles/diff", "diff", summary="How two cycles differ")
async def diff(jay: Jay, agent: Name, which: Annotated[bodies.Diffing, Query()]) -> object:
    """Compare their steps, the state they left, and the files."""
    return await jay.agents.diff(agent, **which.keywords())


@room.get("/{agent:path}/cycles/{cycle}/steps", "steps", summary="The steps of a cycle")
async def steps(jay: Jay, agent: Name, cycle: Index, home: Home) -> object:
    """Return what was proposed and what came of it, in order."""
    return await jay.agents.steps(agent, cycle, **home.keywords())


@room.post("/{agent:path}/proposals", "propose", summary="Propose an action", status_code=201)
async def propose(jay: WriteJay, agent: Name, told: bodies.Proposing) -> object:
    """Put it on record before it is taken: the tool call, and why."""
    return await jay.agents.propose(agent, **told.keywords())


@room.post("/{agent:path}/results", "result", summary="Tell what came of an action", status_code=201)
async def result(jay: WriteJay, agent: Name, told: bodies.Resulting) -> object:
    """Of the proposal that waits, or of the one that `step` names. Told again to the letter, it is the same result."""
    return await jay.agents.result(agent, **told.keywords())


@room.get("/{agent:path}/resume", "resume", summary="Where an agent stopped")
async def resume(jay: Jay, agent: Name, home: Home) -> object:
    """Say exactly what is complete, what is open, and what waits."""
    return await jay.agents.resume(agent, **home.keywords())


@room.post("/{agent:path}/records", "record_memory", summary="Record an observation or a thought", status_code=201)
async def record_memory(jay: WriteJay, shown: Shown, agent: Name, told: bodies.Recording) -> object:
    """Record an observation, a reflection, a plan or a result of one's own, linked to its cycle."""
    return shown.of(await jay.agents.record_memory(agent, **told.keywords()), told)


@room.post("/{agent:path}/recall", "recall", summary="What an agent recorded that fits")
async def recall(jay: Jay, agent: Name, asked: bodies.AgentRecall) -> object:
    """Assemble it with the agent's most recent results, in at most `budget` tokens."""
    return await jay.agents.recall(agent, **asked.keywords())


@room.post("/{agent:path}/forks", "fork", summary="Fork an agent", status_code=201)
async def fork(jay: ReadWriteJay, agent: Name, told: bodies.Forking) -> object:
    """Make another agent with the same cycles, records and files up to a cycle. Safe to repeat.

    The answer shows the whole agent, so this needs the right to read as well.
    """
    return await jay.agents.fork(agent, **told.keywords())


@room.post("/{agent:path}/snapshots", "snapshot", summary="Keep the files of an agent", status_code=201)
async def snapshot(jay: OperatorJay, agent: Name, what: bodies.Snapping) -> object:
    """Keep the files below a folder of the server as they are now, byte for byte."""
    return await jay.agents.snapshot(agent, **what.keywords())


@room.get("/{agent:path}/snapshots", "snapshots", summary="List snapshots")
async def snapshots(jay: Jay, agent: Name, asked: Annotated[bodies.SnapshotListing, Query()]) -> object:
    """List the snapshots of an agent, newest first."""
    return await jay.agents.snapshots(agent, **asked.keywords())


@room.post("/{agent:path}/restore", "restore", summary="Put the files of an agent back")
async def restore(jay: OperatorJay, agent: Name, what: bodies.FilesRestoring) -> object:
    """Put the files of a snapshot below a folder of the server."""
    return await jay.agents.restore(agent, **what.keywords())


@room.get("/{agent:path}/files", "files", summary="The files of a snapshot")
async def files(jay: Jay, agent: Name, which: Annotated[bodies.Which, Query()]) -> object:
    """Return their names, sizes and hashes; none when there is no snapshot yet."""
    return await jay.agents.files(agent, **which.keywords())


@room.get("/{agent:path}/changes", "changes", summary="What changed between snapshots")
async def changes(jay: Jay, agent: Name, which: Annotated[bodies.Changes, Query()]) -> object:
    """Say what is different in the files of snapshot `after` from those of `before`."""
    return await jay.agents.changes(agent, **which.keywords())


@streamed.get(
    "/{agent:path}/replay",
    summary="All that happened",
    operation_id="agents_replay",
    response_class=StreamingResponse,
    responses={200: {"description": "One thing that happened in each line.", "content": {NDJSON: _LINES}}},
    openapi_extra={"x-verb": "agents.replay"},
)
@read_as_text
async def replay(jay: HeavyJay, agent: Name, home: Home) -> StreamingResponse:
    """Stream the life of an agent as lines of JSON, in the order in which it happened."""
    return await as_lines(_written(jay.agents.replay(agent, **home.keywords())))


@room.get("/{agent:path}", "get", summary="Get an agent")
async def get(jay: Jay, agent: Name, home: Home) -> object:
    """Return it as it is now."""
    return await jay.agents.get(agent, **home.keywords())


@room.patch("/{agent:path}", "update", summary="Change an agent")
async def update(jay: ReadWriteJay, agent: Name, told: bodies.Updating) -> object:
    """Change directives, configuration or status; what is not given stays.

    The answer shows the whole agent, so this needs the right to read as well.
    """
    return await jay.agents.update(agent, **told.keywords())


async def _written(happened: AsyncIterator[object]) -> AsyncIterator[str]:
    async for one in happened:
        told = _HAPPENED.validate_python(plain(one))
        yield _HAPPENED.dump_json(told, exclude_unset=True).decode()
