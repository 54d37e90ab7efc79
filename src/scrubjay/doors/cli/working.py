"""Commands about working memory: append, recent, set, get, delete, extend, end and sessions."""

import json as jsonlib
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text

from scrubjay.doors.cli import views
from scrubjay.doors.cli.output import local, note, visible, write_json, write_line, write_table, write_text
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.doors.cli.words import json_of, objects, span, standard_input, told
from scrubjay.errors import NotFound
from scrubjay.model import PLACE_NAMES, Json
from scrubjay.model.portable import moment_text
from scrubjay.model.working import ABSENT, Message, Scratch, Session, Source

app = typer.Typer(no_args_is_help=True, help="Working memory: what a session is about right now.")

Life = Annotated[
    timedelta | None,
    typer.Option("--ttl", parser=span, metavar="SPAN", help="How long the session lives from now on, such as 2h."),
]
Expected = Annotated[str | None, typer.Option("--expect", metavar="VERSION", help="Only if it has this version.")]


@app.command("append")
@verb
def append(
    here: Place,
    text: Annotated[str | None, typer.Argument(help="What was said. `-`, or nothing: standard input.")] = None,
    role: Annotated[str, typer.Option("--role", "-r", help="Who said it: user, assistant, system, tool.")] = "user",
    name: Annotated[str | None, typer.Option(help="The name of who said it.")] = None,
    id: Annotated[
        str | None, typer.Option(help="Your own id: saying it again with the same id is one message.")
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of standard input is a message, as a JSON object.")
    ] = False,
    ttl: Life = None,
    json: AsJson = False,
) -> None:
    """Add a message to a session, or several."""
    if lines and (text not in (None, "-") or id is not None):
        raise typer.BadParameter("--lines reads messages from standard input: leave out TEXT and --id")
    said: Any = objects(standard_input()) if lines else {"content": told(text), "id": id}
    with here.opened() as jay:
        done = jay.working.append(said, role=role, name=name, ttl=ttl, **here.where)
    if json:
        write_json([_message(one) for one in done])
        return
    for one in done:
        place = str(one.position) if one.position is not None else ""
        write_line(Text("stored ", style="green").append(f"{place}  {one.id}", style=views.ID), place, str(one.id))
    if found := sorted({kind for one in done for kind in one.redacted}):
        note(f"redacted before it was stored: {', '.join(found)}")


@app.command("recent")
@verb
def recent(
    here: Place,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most this many messages.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = None,
    source: Annotated[
        Source | None, typer.Option(help="Where to read: both, working, or records (what was drained).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show the newest messages of a session, in the order they were said."""
    with here.opened() as jay:
        found = jay.working.recent(limit, budget=budget, source=source, **here.where)
    if json:
        document: dict[str, Json] = {"messages": [_message(one) for one in found], "degraded": list(found.degraded)}
        write_json(document | ({"tokens": found.tokens} if found.tokens is not None else {}))
        return
    write_table(
        ("", "who", "said"),
        [(str(one.position) if one.position is not None else "", one.name or one.role, one.text) for one in found],
    )
    if not found:
        note("nothing was said in this session, or it is forgotten")
    if found.tokens is not None:
        note(f"{found.tokens:,} of {budget:,} tokens")
    if found.degraded:
        note("the record store is away: older messages are missing; `scrubjay doctor` says what is wrong")


@app.command("set")
@verb
def set_(
    here: Place,
    name: Annotated[str, typer.Argument(help="The name of the value.")],
    value: Annotated[str, typer.Argument(help="The value: JSON, or else text.")],
    expect: Expected = None,
    new: Annotated[bool, typer.Option("--new", help="Only if there is no value of this name.")] = False,
    ttl: Life = None,
    json: AsJson = False,
) -> None:
    """Put a value on the scratchpad of a session."""
    if new and expect is not None:
        raise typer.BadParameter("--new and --expect exclude each other")
    with here.opened() as jay:
        done = jay.working.set(name, json_of(value), expect=ABSENT if new else expect, ttl=ttl, **here.where)
    if json:
        write_json(_scratch(done))
        return
    write_line(Text("set ", style="green").append(f"{visible(done.name)}  {done.version}"), done.name, done.version)
    if done.redacted:
        note(f"redacted before it was stored: {', '.join(done.redacted)}")


@app.command("get")
@verb
def get(
    here: Place,
    name: Annotated[str | None, typer.Argument(help="The name of the value. Without it: all of them.")] = None,
    json: AsJson = False,
) -> None:
    """Show a value on the scratchpad of a session, or all of them."""
    with here.opened() as jay:
        if name is None:
            found = jay.working.scratch(**here.where)
        elif (value := jay.working.get(name, **here.where)) is not None:
            found = [value]
        else:
            raise NotFound(f"there is no value {name!r} on the scratchpad of {here}")
    if json:
        write_json([_scratch(one) for one in found] if name is None else _scratch(found[0]))
    elif name is not None:
        write_text(_value(found[0].value))
    else:
        write_table(("name", "value", "version"), [(one.name, _value(one.value), one.version) for one in found])


@app.command("delete")
@verb
def delete(
    here: Place,
    name: Annotated[str, typer.Argument(help="The name of the value.")],
    expect: Expected = None,
    json: AsJson = False,
) -> None:
    """Take a value off the scratchpad of a session."""
    with here.opened() as jay:
        was_there = jay.working.delete(name, expect=expect, **here.where)
    if json:
        write_json({"deleted": was_there})
        return
    write_line(f"{'deleted' if was_there else 'there was no'} {visible(name)}", "deleted" if was_there else "", name)


@app.command("extend")
@verb
def extend(here: Place, ttl: Life = None, json: AsJson = False) -> None:
    """Let a session live longer."""
    with here.opened() as jay:
        session = jay.working.extend(ttl, **here.where)
    _show(session, json=json)


@app.command("end")
@verb
def end(here: Place, json: AsJson = False) -> None:
    """Let a session be over. Its messages wait to be drained into episodes, and its scratchpad is gone."""
    with here.opened() as jay:
        session = jay.working.end(**here.where)
    _show(session, json=json)


@app.command("sessions")
@verb
def sessions(
    here: Place,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 100,
    json: AsJson = False,
) -> None:
    """List the sessions in the scope, those that live longest first."""
    with here.opened() as jay:
        found = jay.working.sessions(limit, **here.where)
    now = datetime.now(UTC)
    if json:
        write_json([_session(one, now) for one in found])
        return
    write_table(("session", "state", "messages", "until"), [_row(one, now) for one in found])


def _show(session: Session, *, json: bool) -> None:
    now = datetime.now(UTC)
    if json:
        write_json(_session(session, now))
        return
    place, state, messages, until = _row(session, now)
    write_line(f"{place}: {state}, {messages} messages, until {until}", place, state, messages, until)


def _row(session: Session, now: datetime) -> tuple[str, str, str, str]:
    until = session.ended_at or session.expires_at
    return visible(str(session.scope)), session.state(now), str(session.messages), local(until)


def _message(message: Message) -> dict[str, Json]:
    shown_: dict[str, Json] = {"id": str(message.id), "role": message.role, "content": message.content}
    shown_ |= {name: value for name in ("name", "tool_call_id") if (value := getattr(message, name)) is not None}
    shown_ |= {name: list(value) for name in ("tool_calls", "redacted") if (value := getattr(message, name))}
    return {**shown_, "at": moment_text(message.at), "position": message.position}


def _scratch(scratch: Scratch) -> dict[str, Json]:
    kept = {"name": scratch.name, "value": scratch.value, "version": scratch.version, "at": moment_text(scratch.at)}
    return kept | ({"redacted": list(scratch.redacted)} if scratch.redacted else {})


def _session(session: Session, now: datetime) -> dict[str, Json]:
    names = zip(PLACE_NAMES, session.scope.names(), strict=True)
    place: dict[str, Json] = {name: value for name, value in names if value is not None}
    return {
        **place,
        "state": session.state(now),
        "messages": session.messages,
        "bytes": session.bytes,
        "started_at": moment_text(session.started_at),
        "expires_at": moment_text(session.expires_at),
        "ended_at": moment_text(session.ended_at) if session.ended_at is not None else None,
    }


def _value(value: Json) -> str:
    return value if isinstance(value, str) else jsonlib.dumps(value, ensure_ascii=False)
