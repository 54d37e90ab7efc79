"""Answers as people like to read them on a terminal. Each view is something that rich can print."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scrubjay.doors.cli.output import local, memories, on_one_line, visible
from scrubjay.model import ForgetReceipt, Generation, Hit, Memory, Stats
from scrubjay.model.answers import PARTS
from scrubjay.model.citations import CODE_KIND, citations_of

ID: Final = "cyan"
KIND: Final = "bold"
KEY: Final = "yellow"
BACKGROUND: Final = "dim"

_FOUND_BY: Final = {"meaning": "cosine", "title": "cosine", "words": "BM25", "reranker": "its own scale"}
"""What can find a memory, and what its number is."""

_ADDED: Final = {
    "relevance": "the searches, each with its weight",
    "neighbours": "lent by the turns next to it",
    "session": "lent by the best turns of its session",
    "passage": "words of the question, in it and around it",
    "told": "how much it tells; a brief turn loses",
    "speaker": "said by the one who is asked about",
    "time": "near a time that the question names",
    "standing": "a rule or a wish of the user",
    "namesake": "how alike the titles are",
    "role": "an assistant's words, or tests and examples, stand back",
    "importance": "its importance, less the usual 0.5",
    "recency": "how new it is",
    "use": "how often it was found before",
    "reread": "what the reranker adds",
}
"""What each part of the total is."""

_BAR: Final = 20
_SEEN: Final = 0.005
"""What rounds to less than a hundredth is not spoken of."""

_LONGEST: Final = 400
"""Characters of a memory that a list shows; `scrubjay get` shows all of them."""


def heading(memory: Memory) -> Text:
    """Which memory this is: its id, kind, key and place."""
    line = Text(str(memory.id), style=ID)
    line.append(f"  {memory.kind}", style=KIND)
    if memory.kind == CODE_KIND and (cited := citations_of(memory)):
        # Where it stands says more than its key, which is its path and name.
        line.append(f"  {visible(str(cited[0]))}", style=KEY)
    elif memory.key is not None:
        line.append(f"  {visible(memory.key)}", style=KEY)
    line.append(f"  {visible(str(memory.scope))}", style=BACKGROUND)
    return line


def content(memory: Memory, passage: str | None = None) -> Text:
    """What it says, cut when it is long; of code whole lines, as they are indented."""
    said = passage or memory.content
    if memory.kind != CODE_KIND:
        text = visible(said.strip())
        return Text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
    code = visible(said.strip("\r\n").rstrip())
    if len(code) <= _LONGEST:
        return Text(code)
    # A first line that is longer than all that is shown is cut all the same.
    end = code.rfind("\n", 1, _LONGEST) + 1 or _LONGEST
    return Text(f"{code[:end]}…")


def listed(memory: Memory, now: datetime) -> RenderableType:
    """A memory in a list."""
    line = heading(memory)
    line.append(f"  {local(memory.created_at)}", style=BACKGROUND)
    if (state := memory.state(now)) != "current":
        line.append(f"  {state}", style="red")
    return Group(line, Padding(content(memory), (0, 0, 0, 2)))


def hit(found: Hit, place: int) -> RenderableType:
    """An answer: how well it fits, what it says, why it is one, and every number behind that if they were asked for."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style=BACKGROUND)
    grid.add_column()
    grid.add_column(ratio=1)
    said = content(found.memory, found.passage)
    grid.add_row(str(place), Text(f"{found.score:.2f}", style="bold green"), said)
    grid.add_row("", "", Text(found.why, style="green"))
    if found.warning:
        grid.add_row("", "", Text(f"stale: {found.warning}", style="yellow"))
    grid.add_row("", "", heading(found.memory))
    if found.signals:
        grid.add_row("", "", explained(found.signals, found.score))
    return grid


def explained(signals: Mapping[str, float], score: float | None = None) -> RenderableType:
    """The numbers behind a score: how each search found it, then what was added up, and what that is."""
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "left"):
        grid.add_column(justify=justify)
    for name, scale in _FOUND_BY.items():
        if name in signals:
            said = Text(f"{scale}, {_stands(name, signals)}", style=BACKGROUND)
            grid.add_row(f"by {name}", _bar(signals.get(f"{name}_z", 0.0) / 4), f"{signals[name]:.2f}", said)
    for name in (*PARTS, "reread"):
        if value := signals.get(name, 0.0):
            about = _ADDED[name] + (_without_words(signals) if name == "relevance" else "")
            grid.add_row(name, _bar(value / 4), f"{value:+.2f}", Text(about, style=BACKGROUND))
    means = "" if score is None else f"a score of {score:.2f}, which orders these answers and is no probability"
    total = Text(f"{signals.get('total', 0.0):+.2f}", style="bold")
    grid.add_row(Text("total", style="bold"), "", total, Text(means, style=BACKGROUND))
    return Padding(grid, (0, 0, 0, 2))


def _without_words(signals: Mapping[str, float]) -> str:
    """What a memory loses that has none of the words which others have; empty when there is nothing to say."""
    if "words" in signals or "clause" in signals or "meaning_z" not in signals:
        return ""
    lost = signals.get("relevance", 0.0) - signals["meaning_weight"] * signals["meaning_z"]
    return f"; {lost:+.2f} for none of the words" if lost <= -_SEEN else ""


def _stands(name: str, signals: Mapping[str, float]) -> str:
    """Where a search has it among the others, and how much that counts."""
    rank = f"rank {signals[f'{name}_rank']:.0f}, " if f"{name}_rank" in signals else ""
    if name == "title":
        return f"{rank}counted with the meaning"
    if f"{name}_z" not in signals:
        return f"{rank}compared later"
    weight = f", weight {signals[f'{name}_weight']:.2g}" if f"{name}_weight" in signals else ""
    return f"{rank}{signals[f'{name}_z']:+.1f} deviations from the others{weight}"


def _bar(share: float) -> Text:
    cells = min(_BAR, round(abs(share) * _BAR))
    return Text("█" * cells, style="green" if share >= 0 else "red") + Text("·" * (_BAR - cells), style=BACKGROUND)


def everything(memory: Memory, now: datetime) -> RenderableType:
    """All that is known of one memory, its content last."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=BACKGROUND)
    grid.add_column(overflow="fold")
    for name, value in known(memory, now):
        grid.add_row(name, visible(value))
    return Group(grid, Text(), Text(visible(memory.content)))


def known(memory: Memory, now: datetime) -> Iterable[tuple[str, str]]:
    """Name and value of everything that a memory has, but for its content."""
    values = {
        "id": str(memory.id),
        "state": memory.state(now),
        "kind": memory.kind,
        "key": memory.key,
        "scope": str(memory.scope),
        "position": memory.position,
        "data": json.dumps(memory.data, ensure_ascii=False) if memory.data else "",
        "importance": memory.importance,
        "trust": str(memory.trust),
        "source": memory.source,
        "author": memory.author,
        "reason": memory.reason,
        "derived from": " ".join(map(str, memory.derived_from)),
        "redacted": ", ".join(memory.redacted),
        "believed": _stretch(memory.created_at, memory.superseded_at),
        "valid": _stretch(memory.valid_from, memory.valid_to),
        "expires": local(memory.expires_at),
        "closed because": memory.closed_because,
        "superseded by": memory.superseded_by,
        "uses": memory.uses,
    }
    return [(name, str(value)) for name, value in values.items() if value not in (None, "")]


def _stretch(start: datetime, end: datetime | None) -> str:
    return f"from {local(start)}" + (f" to {local(end)}" if end is not None else "")


def timeline(versions: Iterable[Memory], now: datetime) -> RenderableType:
    """The versions of a memory, oldest first: what was believed when, about when, and why no longer."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(ratio=1)
    for memory in versions:
        current = memory.superseded_at is None
        grid.add_row(Text("●" if current else "○", style="green" if current else BACKGROUND), _version(memory, now))
    return grid


def _version(memory: Memory, now: datetime) -> RenderableType:
    when = Text(f"believed {_stretch(memory.created_at, memory.superseded_at)}", style=BACKGROUND)
    when.append(f" · valid {_stretch(memory.valid_from, memory.valid_to)}")
    lines = [content(memory), when]
    if memory.superseded_at is not None:
        why = on_one_line(memory.closed_because or memory.state(now))
        lines.append(Text(f"{why} → {memory.superseded_by}" if memory.superseded_by is not None else why, style="red"))
    lines.append(heading(memory))
    return Group(*lines)


def receipt(given: ForgetReceipt) -> RenderableType:
    """What was forgotten, and after a purge what is left of it: nothing."""
    done = "purged for good" if given.purged else "forgotten (kept in the history)"
    lines = [Text(f"{memories(len(given.ids))} {done}")]
    if given.derived:
        more = "past versions, or made from it" if given.purged else "made from it"
        lines.append(Text(f"and {memories(len(given.derived))} along with it: {more}"))
    if given.purged:
        left = ", ".join(f"{name} {count}" for name, count in given.remaining.items()) or "not counted"
        clean = not any(given.remaining.values())
        lines.append(Text(f"left in the stores: {left}", style="green" if clean else "bold red"))
        if given.remaining.get("vectors"):
            lines.append(Text("the vector engine is away: they go as soon as it is back"))
        if given.remaining.get("shared"):
            lines.append(Text("Redis is away, where models share vectors: they go as soon as it is back"))
    return Group(*lines)


def stats(found: Stats) -> list[tuple[str, str]]:
    """Name and value of every count."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.kinds.items(), key=lambda one: -one[1]))
    rows = [
        ("memories", f"{found.memories:,}"),
        ("kinds", kinds),
        ("versions", f"{found.versions:,}, with all that was replaced or forgotten"),
        ("scopes", f"{found.scopes:,}"),
        ("vectors", f"{found.vectors:,} in the whole store"),
        ("waiting", f"{found.pending:,} to be indexed"),
        ("embedder", found.embedder),
        ("records", found.records),
        ("on disk", size(found.bytes_on_disk) if found.bytes_on_disk is not None else ""),
    ]
    rows += [(f"generation {one.number}", generation(one)) for one in found.generations]
    return [row for row in rows if row[1]]


def generation(one: Generation) -> str:
    """An embedding model and what its vectors are for."""
    return f"{one.identity} ({one.state})"


def size(count: float) -> str:
    """Bytes in a unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
