"""Facts as people like to read them on a terminal, as lines for a pipe, and as JSON."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from scrubjay.doors.cli import views
from scrubjay.doors.cli.output import local, output, visible, write_table
from scrubjay.model import Fact, FactConflict, Json, StoredFact
from scrubjay.model.portable import moment_text, to_json

COLUMNS = ("key", "fact", "type", "scope", "importance", "uses", "state")


def document(fact: Fact) -> dict[str, Json]:
    """A fact as JSON: its memory as in an export, with its type and level."""
    return {**to_json(fact.memory), "type": fact.type.name, "level": fact.level.value}


def stored_document(done: StoredFact) -> dict[str, Json]:
    """What became of a fact that was told."""
    return {
        "outcome": done.outcome,
        "explanation": done.explanation,
        "replaced": str(done.replaced) if done.replaced is not None else None,
        "fact": document(done.fact),
        "conflicts": [conflict_document(one) for one in done.conflicts],
    }


def conflict_document(found: FactConflict) -> dict[str, Json]:
    """Two facts that may not both hold."""
    return {
        "id": str(found.id),
        "relation": found.relation,
        "explanation": found.explanation,
        "noticed_at": moment_text(found.noticed_at),
        "one": document(found.one),
        "other": document(found.other),
    }


def write_facts(facts: Sequence[Fact], now: datetime) -> None:
    """Print facts as a table; for a pipe each with its id in front."""
    if output().is_terminal:
        write_table(COLUMNS, [_cells(fact, now) for fact in facts])
        return
    write_table((), [(str(fact.id), *_cells(fact, now)) for fact in facts])


def _cells(fact: Fact, now: datetime) -> tuple[str, ...]:
    return (
        fact.key or "",
        fact.content,
        fact.type.name,
        str(fact.scope),
        f"{fact.importance:.3g}",
        str(fact.access_count),
        fact.state(now),
    )


def write_versions(versions: Iterable[Fact], now: datetime) -> None:
    """Print a history: who told it, when and why, and why it was closed."""
    facts = list(versions)
    if output().is_terminal:
        for fact in facts:
            output().print(_version(fact, now))
        return
    write_table((), [(str(fact.id), *(value for _, value in _told(fact, now))) for fact in facts])


def _version(fact: Fact, now: datetime) -> RenderableType:
    is_current = fact.known_to is None
    line = Text("● " if is_current else "○ ", style="green" if is_current else views.BACKGROUND)
    line.append(visible(fact.content))
    told = " · ".join(f"{name} {value}" for name, value in _told(fact, now)[1:] if value)
    return Group(line, Padding(Text(visible(told), style=views.BACKGROUND), (0, 0, 0, 2)))


def _told(fact: Fact, now: datetime) -> list[tuple[str, str]]:
    memory = fact.memory
    return [
        ("content", fact.content),
        ("state", fact.state(now)),
        ("known from", local(fact.known_from)),
        ("to", local(fact.known_to)),
        ("valid from", local(fact.valid_from)),
        ("until", local(fact.valid_to)),
        ("by", memory.author or memory.source or ""),
        ("because", memory.reason or ""),
        ("closed", memory.closed_because or ""),
    ]


def write_conflicts(found: Sequence[FactConflict]) -> None:
    """Print open flags, with both sides."""
    if output().is_terminal:
        for one in found:
            output().print(_conflict(one))
        return
    rows = [
        (str(one.id), one.relation, str(one.one.id), one.one.content, str(one.other.id), one.other.content)
        for one in found
    ]
    write_table((), rows)


def _conflict(found: FactConflict) -> RenderableType:
    heading = Text(str(found.id), style=views.ID).append(f"  {found.relation.replace('_', ' ')}", style=views.KIND)
    heading.append(f"  {visible(found.explanation)}", style=views.BACKGROUND)
    sides = [Text(f"{fact.id}  ", style=views.ID).append(visible(fact.content)) for fact in (found.one, found.other)]
    return Group(heading, *(Padding(side, (0, 0, 0, 2)) for side in sides))
