"""Commands that read: recall, context and its shape, get, list and history."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from scrubjay.doors.cli import documents, views
from scrubjay.doors.cli.catching_up import catch_up
from scrubjay.doors.cli.narrowing import Narrowing
from scrubjay.doors.cli.output import memories, note, output, write_json, write_line, write_table, write_text
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model import Context, Hit, Hits, Memory, Mode, Order
from scrubjay.model.context import SECTIONS, Form, check_sections


@verb
def recall(
    narrowing: Narrowing,
    here: Place,
    query: Annotated[str, typer.Argument(help="What to look for. An empty one finds the newest.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 10,
    mode: Annotated[Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    least_similarity: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out what is less similar in meaning.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", "-x", help="Show every number behind the scores.")] = False,
    json: AsJson = False,
) -> None:
    """Find what fits, best first, each with the reason."""
    with here.opened() as jay:
        found = jay.recall(
            query,
            limit=limit,
            mode=mode,
            least_similarity=least_similarity,
            explain=explain,
            **narrowing.at(here),
        )
    if json:
        write_json(documents.hits(found))
    else:
        show_hits(found)
    catch_up(here, found.degraded)


def show_hits(found: Hits) -> None:
    """Print the answers to one question, best first."""
    console = output()
    if not console.is_terminal:
        write_table((), [_row(one) for one in found])
        if any(one.signals for one in found):
            note("in a pipe, --explain shows its numbers with --json")
    for place, one in enumerate(found, 1):
        if console.is_terminal:
            console.print(views.hit(one, place))
    if not found:
        note("nothing found: try other words, a wider scope, or `scrubjay list`")
    elif found.is_off_topic:
        note("nothing here seems to be about this: even the closest is not close in meaning")
    warn_degraded(found.degraded)


def _row(one: Hit) -> tuple[str, ...]:
    why = f"{one.why} · stale: {one.warning}" if one.warning else one.why
    return f"{one.score:.4f}", str(one.memory.id), one.memory.kind, one.memory.content, why


Sections = Annotated[
    list[str] | None,
    typer.Option("--section", help=f"Only this part: {', '.join(SECTIONS)}. Repeatable.", show_default=False),
]
Written = Annotated[
    Form | None, typer.Option("--as", help="How it is written: markdown, xml or messages.", show_default=False)
]


@verb
def context(
    narrowing: Narrowing,
    here: Place,
    query: Annotated[str, typer.Argument(help="What the agent is about to do.")],
    budget: Annotated[int | None, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Consider at most this many hits.")] = 30,
    section: Sections = None,
    as_: Written = None,
    json: AsJson = False,
) -> None:
    """Print what an agent should know, within a token budget: 1,000 tokens as Markdown, unless `shape` says more."""
    with here.opened() as jay:
        assembled = jay.context(
            query,
            budget=budget,
            limit=limit,
            sections=check_sections(section) if section else None,
            as_=as_,
            **narrowing.at(here),
        )
    if json:
        write_json(documents.context(assembled))
    else:
        _show_context(assembled)
    catch_up(here, assembled.degraded)


def _show_context(assembled: Context) -> None:
    if assembled.text:
        write_text(assembled.text)
    note(
        f"{assembled.tokens:,} of {assembled.budget:,} tokens, {memories(len(assembled.items))}, "
        f"{len(assembled.left_out)} left out"
    )
    warn_degraded(assembled.degraded)


@verb
def shape(
    here: Place,
    budget: Annotated[int | None, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = None,
    section: Sections = None,
    as_: Written = None,
    json: AsJson = False,
) -> None:
    """Keep how contexts should be in a scope, such as an agent's. What is not given stays open."""
    with here.opened() as jay:
        shaped = jay.shape_context(
            budget=budget, sections=check_sections(section) if section else None, as_=as_, **here.where
        )
    if json:
        write_json(shaped.data)
        return
    write_line(str(shaped), str(shaped))


@verb
def get(
    here: Place,
    id: Annotated[str, typer.Argument(help="The id of a memory.")],
    json: AsJson = False,
) -> None:
    """Show one memory, with all that is known of it."""
    with here.opened() as jay:
        memory = jay.get(id, **here.where)
    if json:
        write_json(documents.memories([memory])[0])
        return
    now = datetime.now(UTC)
    console = output()
    if console.is_terminal:
        console.print(views.everything(memory, now))
        return
    write_table((), list(views.known(memory, now)))
    write_text(f"\n{memory.content}")


@verb
def list_(
    narrowing: Narrowing,
    here: Place,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 20,
    order: Annotated[Order, typer.Option(help="Which come first.")] = "newest",
    after: Annotated[str | None, typer.Option(help="Go on after this id: the last of the page before.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also what was replaced, forgotten or has expired.")] = False,
    json: AsJson = False,
) -> None:
    """List the memories of a scope in the order they were stored."""
    with here.opened() as jay:
        found = jay.list(limit=limit, order=order, after=after, history=all, **narrowing.at(here))
    if json:
        write_json(documents.memories(found))
        return
    _list(found)


def _list(found: list[Memory]) -> None:
    now = datetime.now(UTC)
    console = output()
    if not console.is_terminal:
        write_table((), [(str(one.id), one.kind, one.key or "", one.content, one.state(now)) for one in found])
    for memory in found:
        if console.is_terminal:
            console.print(views.listed(memory, now))
    if not found:
        note("nothing here yet: `scrubjay remember` something, or name a wider scope")


@verb
def history(
    here: Place,
    id: Annotated[str | None, typer.Argument(help="The id of any version.")] = None,
    key: Annotated[str | None, typer.Option(help="Or its key.")] = None,
    json: AsJson = False,
) -> None:
    """Show every version of a memory, oldest first: when it was believed, when it held, why it was closed."""
    with here.opened() as jay:
        versions = jay.history(id, key=key, **here.where)
    if json:
        write_json(documents.memories(versions))
        return
    now = datetime.now(UTC)
    console = output()
    if console.is_terminal:
        console.print(views.timeline(versions, now))
        return
    write_table((), [(str(one.id), one.state(now), one.content, one.closed_because or "") for one in versions])


def warn_degraded(degraded: tuple[str, ...]) -> None:
    """Say on the side that a part could not take part."""
    if degraded:
        note(f"answered without {', '.join(degraded)}: more might be found, `scrubjay doctor` says what is wrong")
