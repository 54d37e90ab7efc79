"""Commands about episodes: add, recent, timeline and recall."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from scrubjay.doors.cli import documents, views
from scrubjay.doors.cli.narrowing import Narrowing
from scrubjay.doors.cli.output import local, note, output, progress, write_json, write_line, write_table
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.reading import warn_degraded
from scrubjay.doors.cli.verb import AsJson, Options, verb
from scrubjay.doors.cli.words import data_of, moment_ago, objects, standard_input, told
from scrubjay.errors import InvalidInput
from scrubjay.model import Json, Order
from scrubjay.model.episodes import EPISODE_KINDS, Episode, EpisodeHit, EpisodeKind, Happened
from scrubjay.model.portable import moment_text, to_json
from scrubjay.model.working import Source

app = typer.Typer(no_args_is_help=True, help="Episodes: what happened, in order.")


@dataclass(frozen=True, kw_only=True)
class Negotiating(Options):
    """Who negotiated, what they said, and how it ended."""

    party: Annotated[list[str] | None, typer.Option(help="Of a negotiation: who negotiates. Repeatable.")] = None
    turn: Annotated[list[str] | None, typer.Option(help="Of a negotiation: 'PARTY: what it said'. Repeatable.")] = None
    outcome: Annotated[str | None, typer.Option(help="How it ended.")] = None

    @property
    def details(self) -> dict[str, Any]:
        """What was given of it, as an episode takes it."""
        turns = [_turn(one) for one in self.turn or ()]
        given = {"parties": self.party, "turns": turns, "outcome": self.outcome}
        return {name: value for name, value in given.items() if value}


@app.command("add")
@verb
def add(
    here: Place,
    negotiating: Negotiating,
    text: Annotated[str | None, typer.Argument(help="What happened. `-`, or nothing: standard input.")] = None,
    kind: Annotated[
        EpisodeKind | None,
        typer.Option("--kind", "-k", help=f"What sort of episode: {', '.join(EPISODE_KINDS)}.", show_default=False),
    ] = None,
    role: Annotated[str | None, typer.Option("--role", "-r", help="Who said a message: user, assistant, …")] = None,
    author: Annotated[str | None, typer.Option(help="The name of who said or did it.")] = None,
    at: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="When it happened: a date or 2h.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Your own id: telling it again with it is one episode.")] = None,
    data: Annotated[list[str] | None, typer.Option(help="KEY=VALUE, or a JSON object. Repeatable.")] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of standard input is an episode, as a JSON object.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Remember something that happened, or much of it."""
    if lines:
        if text not in (None, "-") or any((kind, role, author, at, id, data, negotiating.details)):
            raise typer.BadParameter("--lines reads whole episodes from standard input: leave out TEXT and its details")
        episodes: list[Any] = [_timed(place, one) for place, one in enumerate(objects(standard_input()), 1)]
    else:
        details = {"kind": kind, "role": role, "author": author, "at": at, "id": id, "data": data_of(data or ())}
        content = None if text is None and negotiating.party else told(text)
        episodes = [{**details, **negotiating.details, "content": content}]
    with here.opened() as jay:
        if lines:
            with progress("storing", len(episodes)) as steps:
                done = jay.episodes.store_many(episodes, progress=steps.done, **here.where)
        else:
            done = jay.episodes.store_many(episodes, **here.where)
    if json:
        write_json([documents.remembered(one) for one in done])
        return
    for one in done:
        place = str(one.memory.position) if one.memory.position is not None else ""
        said = Text(f"{one.outcome} ", style="green").append(f"{place}  {one.id}", style=views.ID)
        write_line(said, one.outcome, place, str(one.id))
    if found := sorted({kind for one in done for kind in one.memory.redacted}):
        note(f"redacted before it was stored: {', '.join(found)}")


@app.command("recent")
@verb
def recent(
    here: Place,
    budget: Annotated[int, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = 1000,
    source: Annotated[Source | None, typer.Option(help="Where to read: both, working, or records.")] = None,
    json: AsJson = False,
) -> None:
    """Show what just happened in a session: what it still holds, then what was stored of it."""
    if here.session is None:
        raise typer.BadParameter("name the session with --session")
    elsewhere = {name: value for name, value in here.where.items() if name != "session"}
    with here.opened() as jay:
        found = jay.episodes.fetch_recent_context(here.session, budget=budget, source=source, **elsewhere)  # type: ignore[arg-type]  # the names of a scope
    if json:
        happened: list[Json] = [_happened(one) for one in found]
        write_json({"episodes": happened, "tokens": found.tokens, "budget": budget, "degraded": list(found.degraded)})
        return
    write_table(("when", "what", "said or done"), [_row(one) for one in found])
    if not found:
        note("nothing happened in this session, or it is forgotten")
    note(f"{found.tokens:,} of {budget:,} tokens")
    warn_degraded(found.degraded)


@app.command("timeline")
@verb
def timeline(
    narrowing: Narrowing,
    here: Place,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 100,
    order: Annotated[Order, typer.Option(help="Which come first.")] = "oldest",
    after: Annotated[str | None, typer.Option(help="Go on after this id: the last of the page before.")] = None,
    json: AsJson = False,
) -> None:
    """Show what happened, in the order it happened."""
    with here.opened() as jay:
        found = jay.episodes.timeline(limit=limit, order=order, after=after, **narrowing.at(here))
    if json:
        write_json([to_json(one.memory) for one in found])
        return
    write_table(("when", "what", "said or done"), [_row(one) for one in found])
    if not found:
        note("nothing happened here: name a wider scope, or another stretch of time")


@app.command("recall")
@verb
def recall(
    narrowing: Narrowing,
    here: Place,
    query: Annotated[str, typer.Argument(help="What to look for. An empty one finds the newest.")],
    around: Annotated[int, typer.Option(min=0, help="Also this many before and after each, in its session.")] = 2,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 10,
    json: AsJson = False,
) -> None:
    """Find the episodes that fit, each with what happened around it."""
    with here.opened() as jay:
        found = jay.episodes.recall(query, around=around, limit=limit, **narrowing.at(here))
    if json:
        write_json({"hits": [_hit(one) for one in found], "degraded": list(found.degraded)})
        return
    for place, one in enumerate(found, 1):
        rows = [(*_row(beside), "") for beside in one.before]
        rows += [(*_row(one.episode), f"{one.score:.2f}  {one.why}")]
        rows += [(*_row(beside), "") for beside in one.after]
        if output().is_terminal and place > 1:
            output().print()
        write_table(("when", "what", "said or done", "why"), rows)
    if not found:
        note("nothing found: try other words, a wider scope, or `scrubjay episodes timeline`")
    warn_degraded(found.degraded)


def _row(one: Happened) -> tuple[str, str, str]:
    if isinstance(one, Episode):
        return local(one.at), one.author or one.role or one.kind, one.content
    return local(one.at), one.name or one.role, one.text


def _happened(one: Happened) -> dict[str, Json]:
    if isinstance(one, Episode):
        return {"stored": True, **to_json(one.memory)}
    said: dict[str, Json] = {"stored": False, "id": str(one.id), "kind": "message", "role": one.role}
    named: dict[str, Json] = {"author": one.name} if one.name is not None else {}
    return {**said, **named, "content": one.text, "at": moment_text(one.at), "position": one.position}


def _hit(one: EpisodeHit) -> dict[str, Json]:
    return {
        "score": round(one.score, 4),
        "why": one.why,
        "episode": to_json(one.episode.memory),
        "before": [to_json(beside.memory) for beside in one.before],
        "after": [to_json(beside.memory) for beside in one.after],
    }


def _turn(text: str) -> dict[str, str]:
    by, colon, said = text.partition(":")
    if not colon:
        raise typer.BadParameter(f"{text!r} names no party: use 'PARTY: what it said'", param_hint="--turn")
    return {"by": by.strip(), "said": said.strip()}


def _timed(number: int, given: dict[str, Json]) -> dict[str, Any]:
    """The episode of a line, with its moments made from text."""
    made: dict[str, Any] = dict(given)
    for name in ("at", "expires_at"):
        if isinstance(made.get(name), str):
            try:
                made[name] = datetime.fromisoformat(made[name])
            except ValueError as error:
                raise InvalidInput(f"line {number}: {name} is {made[name]!r}: use 2026-03-01T12:00:00Z") from error
    return made
