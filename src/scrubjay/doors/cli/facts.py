"""`scrubjay facts`: what is true, for whom, and since when."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from scrubjay.doors.cli import documents, facts_views, views
from scrubjay.doors.cli.narrowing import PANEL, Sifting
from scrubjay.doors.cli.output import memories, note, output, write_json, write_line, write_text
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.reading import show_hits, warn_degraded
from scrubjay.doors.cli.verb import AsJson, Options, verb
from scrubjay.doors.cli.words import data_of, moment_ago, moment_ahead, told
from scrubjay.doors.cli.writing import confirm
from scrubjay.errors import InvalidInput
from scrubjay.model import AsOf, Fact, FactType, ForgetReceipt, Mode, Order

if TYPE_CHECKING:
    from scrubjay.sync import SyncScrubjay

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

NO_KEY = "-"

Name = Annotated[str, typer.Argument(metavar="KEY", help="A key, or the id of a version.")]
Reason = Annotated[str | None, typer.Option(help="Why, for the history.")]


@dataclass(frozen=True, kw_only=True)
class Telling(Options):
    """What may be said of a fact beside its key and its value."""

    type: Annotated[
        str, typer.Option("--type", "-t", help="What it is: user_preference, rule, skill, … or preference.")
    ] = FactType.PROJECT_FACT.name.lower()
    level: Annotated[
        str | None, typer.Option(help="How far it reaches; refused when the scope lacks the id for it.")
    ] = None
    data: Annotated[
        list[str] | None, typer.Option(help="Data to keep with it: KEY=VALUE, or a JSON object. Repeatable.")
    ] = None
    importance: Annotated[float | None, typer.Option(help="From 0 to 1, usually 0.5.")] = None
    execution: Annotated[str | None, typer.Option(help="The id of the execution it was learned in.")] = None
    source: Annotated[str | None, typer.Option(help="Where else it comes from: a file, a URL, a task.")] = None
    author: Annotated[str | None, typer.Option(help="Who said it.")] = None
    reason: Annotated[str | None, typer.Option(help="Why it is so.")] = None
    expires: Annotated[
        datetime | None,
        typer.Option(parser=moment_ahead, metavar="WHEN", help="When to stop recalling it: a date, or 30d from now."),
    ] = None
    valid_from: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar="WHEN", help="Since when it holds: a date, or 7d ago."),
    ] = None
    valid_to: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="Until when it held.")
    ] = None
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Store it encrypted. A key has to be configured.")] = False

    def said(self) -> dict[str, Any]:
        """Those that were given, as the verb takes them."""
        given = {
            "type": self.type,
            "level": self.level,
            "data": data_of(self.data) if self.data else None,
            "importance": self.importance,
            "execution": self.execution,
            "source": self.source,
            "author": self.author,
            "reason": self.reason,
            "expires_at": self.expires,
            "valid_from": self.valid_from,
            "valid_to": self.valid_to,
            "encrypt": self.encrypt or None,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Which(Sifting):
    """Which facts may answer, and of which type."""

    type: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", help="Only facts of this type. Repeatable.", rich_help_panel=PANEL),
    ] = None

    def at(self, here: Place) -> dict[str, Any]:
        """The keywords of a verb that say this, in this place."""
        return {**super().at(here), "types": self.type or ()}


@app.callback()
def facts() -> None:
    """What is true, for whom, and since when: keyed facts with their history."""


@verb
def set_(
    telling: Telling,
    here: Place,
    key: Annotated[str, typer.Argument(help="Its name, such as pref:indent. `-`: it has none.")],
    value: Annotated[str | None, typer.Argument(help="What it says. `-`, or nothing: standard input.")] = None,
    insert_only: Annotated[bool, typer.Option("--insert-only", help="Refuse to replace a value.")] = False,
    json: AsJson = False,
) -> None:
    """Store a fact. A new value for a key replaces the old one, whose history stays."""
    content = told(value)
    with here.opened() as jay:
        done = jay.facts.store(
            content,
            insert_only=insert_only,
            key=None if key == NO_KEY else key,
            **telling.said(),
            **here.where,
        )
    if json:
        write_json(facts_views.stored_document(done))
        return
    line = Text(f"{done.outcome.replace('_', ' ')} ", style="green").append(str(done.id), style=views.ID)
    write_line(line.append(f"  {done.explanation}", style=views.BACKGROUND), str(done.id), done.outcome)
    for one in done.conflicts:
        note(f"{one.relation.replace('_', ' ')} with {one.one.content!r}: {one.explanation} (conflict {one.id})")


@verb
def get(
    here: Place,
    name: Name,
    valid_at: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="What held then, as known now.")
    ] = None,
    known_at: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="What was believed then.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show the value of a key that applies in a scope, now or at another moment."""
    with here.opened() as jay:
        known = id_of(name)
        if known is not None:
            fact = jay.facts.get_by_id(known, **here.where)
        else:
            when = AsOf(known_at=known_at, valid_at=valid_at)
            fact = jay.facts.get_by_key(name, as_of=when, **here.where)
    if json:
        write_json(facts_views.document(fact))
        return
    now = datetime.now(UTC)
    console = output()
    if console.is_terminal:
        console.print(views.everything(fact.memory, now))
        return
    write_text(fact.content)


@verb
def list_(
    which: Which,
    here: Place,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 50,
    order: Annotated[Order, typer.Option(help="Which come first.")] = "newest",
    after: Annotated[str | None, typer.Option(help="Go on after this id: the last of the page before.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also what was replaced, deleted or has expired.")] = False,
    json: AsJson = False,
) -> None:
    """List the facts of a scope in the order they were stored."""
    with here.opened() as jay:
        found = jay.facts.list(limit=limit, order=order, after=after, history=all, **which.at(here))
    _show(found, json=json)
    if not found:
        note("nothing here yet: `scrubjay facts set` something, or name a wider scope")


@verb
def history(here: Place, name: Name, json: AsJson = False) -> None:
    """Show every version of a fact, oldest first: who told it, when and why, and why it was closed."""
    with here.opened() as jay:
        known = id_of(name)
        versions = jay.facts.history(None if known else name, id=known, **here.where)
    if json:
        write_json([facts_views.document(one) for one in versions])
        return
    facts_views.write_versions(versions, datetime.now(UTC))


@verb
def search(
    which: Which,
    here: Place,
    query: Annotated[str, typer.Argument(help="What to look for. An empty one finds the newest.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 10,
    mode: Annotated[Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    explain: Annotated[bool, typer.Option("--explain", "-x", help="Show every number behind the scores.")] = False,
    no_touch: Annotated[bool, typer.Option("--no-touch", help="Only read: being found is not a use.")] = False,
    json: AsJson = False,
) -> None:
    """Find facts by words and meaning, best first, each with the reason."""
    with here.opened() as jay:
        found = jay.facts.search(query, limit=limit, mode=mode, explain=explain, touch=not no_touch, **which.at(here))
    if json:
        write_json(documents.hits(found))
        return
    show_hits(found)


@verb
def context(
    here: Place,
    query: Annotated[str, typer.Argument(help="What the agent is about to do, if it is known.")] = "",
    budget: Annotated[int, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = 1000,
    type: Annotated[list[str] | None, typer.Option("--type", "-t", help="Only this type. Repeatable.")] = None,
    json: AsJson = False,
) -> None:
    """Print what applies in a scope, by category, as Markdown that fits a token budget."""
    with here.opened() as jay:
        assembled = jay.facts.get_context_for_prompt(query=query, budget=budget, types=type or (), **here.where)
    if json:
        known = {name: [facts_views.document(one) for one in found] for name, found in assembled.categories.items()}
        write_json({**documents.context(assembled), "categories": known})
        return
    if assembled.text:
        write_text(assembled.text)
    note(f"{assembled.tokens:,} of {budget:,} tokens, {len(assembled.items)} facts, {len(assembled.left_out)} left out")
    warn_degraded(assembled.degraded)


@verb
def importance(
    here: Place,
    name: Name,
    value: Annotated[float | None, typer.Argument(help="From 0 to 1.")] = None,
    by: Annotated[float | None, typer.Option(help="Or how much to add; below 0: to take away.")] = None,
    json: AsJson = False,
) -> None:
    """Set how important a fact is, or change it by some."""
    if (value is None) == (by is None):
        raise InvalidInput("how important? Give a value from 0 to 1, or --by, and just one of them")
    with here.opened() as jay:
        fact = _named(jay, here, name)
        if value is not None:
            fact, said = jay.facts.update_importance(fact.id, value, **here.where), f"importance {value:.3g}"
        else:
            boosted = jay.facts.boost_importance(fact.id, by or 0.0, **here.where)
            fact, said = boosted.fact, boosted.explanation
    if json:
        write_json({"fact": facts_views.document(fact), "explanation": said})
        return
    write_line(said, str(fact.id), f"{fact.importance:.3g}", said)


@verb
def delete(here: Place, name: Name, reason: Reason = None, json: AsJson = False) -> None:
    """Stop believing a fact. Its history stays, and it can be restored."""
    with here.opened() as jay:
        known = id_of(name)
        given = (
            jay.facts.delete(known, reason=reason, **here.where)
            if known is not None
            else jay.facts.delete_by_key(name, reason=reason, **here.where)
        )
    _receipt(given, json=json)


@verb
def restore(here: Place, name: Name, reason: Reason = None, json: AsJson = False) -> None:
    """Believe again what was deleted last. Refused when the key has another value by now."""
    with here.opened() as jay:
        known = id_of(name)
        found = jay.facts.restore(known, key=None if known else name, reason=reason, **here.where)
    _show(found, json=json)


@verb
def purge(
    here: Place,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: AsJson = False,
) -> None:
    """Delete a fact for good, with its history and every trace in the indexes."""
    with here.opened() as jay:
        if not yes:
            confirm(f"Purge {name} in {here}, for good?")
        known = id_of(name)
        given = jay.facts.purge(known, key=None if known else name, **here.where)
    _receipt(given, json=json)


@verb
def expire(
    here: Place,
    purge: Annotated[bool, typer.Option("--purge", help="Delete them for good.")] = False,
    json: AsJson = False,
) -> None:
    """Delete the facts of a scope that have expired."""
    with here.opened() as jay:
        given = jay.facts.cleanup_expired(purge=purge, **here.where)
    if json:
        write_json(documents.receipt(given))
        return
    write_line(f"{memories(len(given.ids))} had expired", f"{len(given.ids)}")


@verb
def conflicts(here: Place, json: AsJson = False) -> None:
    """Show facts that may contradict each other or be the same, with both sides."""
    with here.opened() as jay:
        found = jay.facts.conflicts(**here.where)
    if json:
        write_json([facts_views.conflict_document(one) for one in found])
        return
    facts_views.write_conflicts(found)
    if not found:
        note("no open conflicts")


@verb
def resolve(
    here: Place,
    conflict: Annotated[str, typer.Argument(help="The id of a conflict.")],
    keep: Annotated[str, typer.Option(help="The id of the fact that holds, or both.")],
    reason: Reason = None,
    json: AsJson = False,
) -> None:
    """Settle a conflict: keep one side and close the other, or keep both."""
    with here.opened() as jay:
        found = jay.facts.resolve(conflict, keep=keep, reason=reason, **here.where)
    _show(found, json=json)


app.command("set")(set_)
app.command("get")(get)
app.command("list")(list_)
app.command("history")(history)
app.command("search")(search)
app.command("context")(context)
app.command("importance")(importance)
app.command("delete")(delete)
app.command("restore")(restore)
app.command("purge")(purge)
app.command("expire")(expire)
app.command("conflicts")(conflicts)
app.command("resolve")(resolve)


def id_of(name: str) -> str | None:
    """The name, if it is an id and not a key."""
    try:
        return str(UUID(name))
    except ValueError:
        return None


def _named(jay: "SyncScrubjay", here: Place, name: str) -> Fact:
    known = id_of(name)
    if known is not None:
        return jay.facts.get_by_id(known, touch=False, **here.where)
    return jay.facts.get_by_key(name, touch=False, **here.where)


def _show(found: list[Fact], *, json: bool) -> None:
    if json:
        write_json([facts_views.document(one) for one in found])
        return
    facts_views.write_facts(found, datetime.now(UTC))


def _receipt(given: ForgetReceipt, *, json: bool) -> None:
    if json:
        write_json(documents.receipt(given))
        return
    console = output()
    console.print(views.receipt(given), soft_wrap=not console.is_terminal)
