"""What agents answer, as JSON documents, as rows of a pipe, and as people like to read it."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scrubjay.doors.cli import views
from scrubjay.doors.cli.output import local, on_one_line, visible
from scrubjay.model import Json, Memory
from scrubjay.model.agent_answers import ActionStep, Happening, Resumption
from scrubjay.model.agent_files import RestoredFiles, Snapshot, WorkspaceFile
from scrubjay.model.agents import ActionProposal, ActionResult, Agent, Cycle
from scrubjay.model.portable import moment_text

_MARKS: Final = {
    "created": ("◆", "cyan"),
    "changed": ("◆", "cyan"),
    "began": ("●", "bold"),
    "proposed": ("│ →", "yellow"),
    "acted": ("│ ←", "green"),
    "recorded": ("│ ✎", "magenta"),
    "snapshot": ("│ ▣", "blue"),
    "ended": ("╰", "bold"),
}
_STATUS: Final = {"open": "yellow", "completed": "green", "succeeded": "green", "active": "green"}
_LONGEST: Final = 200
"""Characters of one line of a timeline; `--json` has all of them."""


def agent(one: Agent) -> dict[str, Json]:
    """An agent."""
    return {
        "name": one.name,
        "id": str(one.id),
        "scope": str(one.scope),
        **one.data,
        "created_at": moment_text(one.created_at),
        "updated_at": moment_text(one.updated_at),
    }


def agent_row(one: Agent) -> list[str]:
    """A line of a list: name, status, version, where it lives, since when, what it is to do."""
    return [one.name, one.status, str(one.version), str(one.scope), local(one.updated_at), one.directives or ""]


def agent_view(there: Resumption) -> RenderableType:
    """An agent on a terminal: who it is, and where it is."""
    one = there.agent
    heading = Text(visible(one.name), style="bold").append(f"  {one.status}", style=_STATUS.get(one.status, "red"))
    heading.append(f"  version {one.version}, since {local(one.created_at)}", style=views.BACKGROUND)
    heading.append(f"  {visible(str(one.scope))}", style=views.BACKGROUND)
    lines = [heading]
    if one.forked_from is not None:
        lines.append(Text(f"forked from {visible(str(one.forked_from))}", style=views.BACKGROUND))
    if one.directives:
        lines.append(Text(visible(one.directives)))
    lines += [
        Text(f"{visible(name)}  ", style=views.KEY).append(visible(json.dumps(value, ensure_ascii=False)))
        for name, value in one.configuration.items()
    ]
    return Group(*lines, resumption_view(there))


def cycle(one: Cycle) -> dict[str, Json]:
    """A cycle."""
    return {
        "id": str(one.id),
        **one.data,
        "state": one.state,
        "began_at": moment_text(one.began_at),
        "ended_at": moment_text(one.ended_at) if one.ended_at is not None else None,
    }


def cycle_row(one: Cycle) -> list[str | Text]:
    """A line of a list: index, status, when it began and ended, what it was for, what came of it."""
    status = Text(one.status, style=_STATUS.get(one.status, "red"))
    return [str(one.index), status, local(one.began_at), local(one.ended_at), one.goal or "", one.summary or ""]


def step(one: ActionStep) -> dict[str, Json]:
    """A proposal and what came of it."""
    return {
        "proposal": {"id": str(one.proposal.id), **one.proposal.data, "at": moment_text(one.proposal.at)},
        "result": {"id": str(one.result.id), **one.result.data, "at": moment_text(one.result.at)}
        if one.result is not None
        else None,
    }


def resumption(there: Resumption) -> dict[str, Json]:
    """Where an agent stopped."""
    return {
        "agent": agent(there.agent),
        "last": cycle(there.last) if there.last is not None else None,
        "cycle": cycle(there.cycle) if there.cycle is not None else None,
        "steps": [step(one) for one in there.steps],
        "waiting": [one.step for one in there.waiting],
        "snapshot": snapshot(there.snapshot) if there.snapshot is not None else None,
        "pending": list(there.pending),
        "state": there.state,
        "next_index": there.next_index,
    }


def resumption_view(there: Resumption) -> RenderableType:
    """Where an agent stopped, on a terminal."""
    told = [Text(visible(str(there)), style="bold")]
    if there.last is not None:
        summary = f": {there.last.summary}" if there.last.summary else ""
        told.append(Text(f"last completed  cycle {there.last.index}, {local(there.last.ended_at)}{visible(summary)}"))
    told += [Text(f"step {one.number}  {_short(str(one))}") for one in there.steps]
    if there.state:
        told.append(Text("state  ", style=views.KEY).append(_short(json.dumps(there.state, ensure_ascii=False))))
    if there.snapshot is not None:
        kept = f"snapshot {there.snapshot.number}, {len(there.snapshot.files)} files, {local(there.snapshot.at)}"
        told.append(Text(f"files  {kept}"))
    if there.pending:
        told.append(Text(f"in no snapshot yet  {_short(', '.join(there.pending))}", style="yellow"))
    return Group(*told)


def resumption_row(there: Resumption) -> list[str]:
    """A line of a pipe: name, open cycle, steps done, step that waits, its call, next cycle."""
    waiting = there.proposal
    return [
        there.agent.name,
        str(there.cycle.index) if there.cycle is not None else "",
        str(sum(one.result is not None for one in there.steps)),
        str(waiting.step) if waiting is not None else "",
        waiting.call if waiting is not None else "",
        str(there.next_index),
    ]


def happening(one: Happening) -> dict[str, Json]:
    """One thing that happened."""
    return {
        "what": one.what,
        "at": moment_text(one.at),
        "cycle": one.cycle,
        "step": one.step,
        "told": _value(one.value),
    }


def _value(value: Agent | Cycle | ActionProposal | ActionResult | Snapshot | Memory) -> dict[str, Json]:
    match value:
        case Memory():
            return {"id": str(value.id), "kind": value.kind, "content": value.content, "data": value.data}
        case Snapshot():
            return snapshot(value)
        case _:
            return {"id": str(value.id), **value.data}


def happening_row(one: Happening) -> list[str]:
    """A line of a pipe: when, what, cycle, step, in words."""
    return [moment_text(one.at), one.what, str(one.cycle or ""), str(one.step or ""), str(one)]


def timeline(happenings: Iterable[Happening]) -> Iterator[Text]:
    """What happened, line by line: a day as a heading, and each cycle as a stroke from where it began to its end."""
    day = ""
    for one in happenings:
        moment = local(one.at)
        if moment[:10] != day:
            day = moment[:10]
            yield Text(day, style=views.BACKGROUND)
        mark, style = _MARKS[one.what]
        line = Text(f"{moment[11:]}  ", style=views.BACKGROUND).append(f"{mark} ", style=style)
        failed = isinstance(one.value, ActionResult | Cycle) and _failed(one)
        yield line.append(_short(str(one)), style="red" if failed else "")


def _failed(one: Happening) -> bool:
    if isinstance(one.value, ActionResult):
        return one.value.outcome != "succeeded"
    return isinstance(one.value, Cycle) and one.value.status not in ("open", "completed")


def snapshot(one: Snapshot) -> dict[str, Json]:
    """A snapshot and its files."""
    return {
        "id": str(one.id),
        "number": one.number,
        "cycle": one.cycle,
        "at": moment_text(one.at),
        "bytes": one.bytes,
        "files": [file.data for file in one.files],
    }


def file_row(one: WorkspaceFile) -> list[str]:
    """A line of a list: path, bytes, version, type, hash."""
    return [one.path, str(one.size), str(one.version), one.mime_type, one.hash]


def restored(done: RestoredFiles) -> dict[str, Json]:
    """What restoring a snapshot did."""
    return {
        "snapshot": done.snapshot.number,
        "to": str(done.to),
        "written": done.written,
        "unchanged": done.unchanged,
        "left_out": [file.data for file in done.left_out],
    }


def _short(text: str) -> str:
    line = on_one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
