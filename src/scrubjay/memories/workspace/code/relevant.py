"""Relevant files: which files most likely matter for a task, from text, from names, and from similar work before it."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, sqrt
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model import Filter, Json, Memory, Mode, Query, Scope
from scrubjay.model.checks import shown
from scrubjay.model.citations import CODE_KIND
from scrubjay.model.code import COMMIT_KIND, FILE_KIND, RelevantFile, RelevantFiles
from scrubjay.model.query import MOST_VALUES
from scrubjay.model.tasks import TASK_KIND
from scrubjay.model.words import STOP_WORDS, words_of
from scrubjay.model.workspace import COMPLETION_KIND
from scrubjay.ports import Match
from scrubjay.read.recall import recall
from scrubjay.read.supporting import Asked, sort_of

PIECES: Final = 300
OUTLINES: Final = 150
BY_MEANING: Final = 60
PAST: Final = 20
"""How many pieces, files and past tasks are looked at for each signal."""

MOST_TERMS: Final = 64
"""Words of the task that are looked for. A report with a log in it has thousands, and most say nothing."""

MOST_NAMES: Final = 24
"""Identifiers of the task that are looked up."""

COMMON_NAME: Final = 5
"""A name that more files define than this is no name for any of them."""

BEST_PIECES: Final = 5
"""Pieces of one file that count, the second half as much as the first, the third a third."""

WEIGHTS: Final = {"text": 1.0, "title": 0.5, "outline": 0.25, "meaning": 0.5, "names": 1.5, "paths": 2.0, "past": 0.5}
"""What each signal adds, in standard deviations of it, or for names and paths as it is.

Measured on past tasks of five repositories, all but `meaning`, which is a guess: docs/decisions/0020-code-memory.md.
"""

SUPPORTING: Final = -1.0
"""Added for a test, an example or a benchmark, where the task speaks of none: what is to be changed is the source.

Measured on the 78 issues of xarray, whose releases hold their tests: R@10 .787 → .810, with past tasks .804 → .825.
"""

ENOUGH: Final = 30
"""Past tasks of which the files are known before they count half of what many would: with few of them, a file is
suggested because it is the only one ever touched."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.]*\w")
_PATH: Final = re.compile(r"(?<![\w./\\-])[\w./\\-]*[\w-]\.[A-Za-z]\w{0,9}\b")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(slots=True)
class Evidence:
    """What speaks for each file, by signal."""

    signals: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    symbols: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    named: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    tasks: dict[str, list[UUID]] = field(default_factory=lambda: defaultdict(list))
    history: int = 0
    """Past tasks and commits there are to compare with."""
    degraded: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Task:
    """A task's description, taken apart."""

    text: str

    @property
    def title(self) -> list[str]:
        """The telling words of its first line."""
        return _telling(words_of(self.text.strip().partition("\n")[0]))

    @property
    def terms(self) -> list[str]:
        """The words worth looking for: all of the first line, and of the rest the longest."""
        title, rest = self.title, _telling(words_of(self.text))
        kept = set(sorted((word for word in rest if word not in title), key=len, reverse=True)[:MOST_TERMS])
        return (title + [word for word in rest if word in kept])[:MOST_TERMS]

    @property
    def identifiers(self) -> list[str]:
        """What can only be the name of something: `getUserName`, `snake_case`, `os.path`, `HTTPError`."""
        found = dict.fromkeys(_IDENTIFIER.findall(self.text))
        return [name for name in found if _is_identifier(name)][:MOST_NAMES]

    @property
    def paths(self) -> list[str]:
        """What may be the path of a file."""
        found = (path.replace("\\", "/").lstrip("./") for path in _PATH.findall(self.text))
        return [path for path in dict.fromkeys(found) if path][:MOST_NAMES]


async def relevant_files(core: Core, description: str, *, limit: int, by_meaning: bool, scope: Scope) -> RelevantFiles:
    """The files that matter most, with the reasons."""
    if not isinstance(description, str) or not description.strip():
        raise InvalidInput(f"task_description is {shown(description)}: say what is to be done")
    task = Task(_COMMENT.sub("", description) or description)
    evidence = Evidence()
    looker = _Looker(core, scope, evidence, "hybrid" if by_meaning else "words")
    await asyncio.gather(
        looker.by_text(task),
        looker.by_outline(task),
        looker.by_name(task),
        looker.by_meaning(task),
        looker.by_past(task),
    )
    present = await looker.present()
    return RelevantFiles(
        files=tuple(_ranked(task, evidence, present, limit)), degraded=tuple(sorted(evidence.degraded))
    )


class _Looker:
    """Gathers the evidence, one signal at a time."""

    def __init__(self, core: Core, scope: Scope, evidence: Evidence, mode: Mode) -> None:
        self._core = core
        self._scope = scope
        self._evidence = evidence
        self._mode = mode

    async def by_text(self, task: Task) -> None:
        """The words of pieces: those of the whole task, and once more those of its first line."""
        for signal, terms in (("text", task.terms), ("title", task.title)):
            found = await self._matched(terms, CODE_KIND, PIECES)
            scores: dict[str, list[float]] = defaultdict(list)
            for memory, score in found:
                path = _path(memory)
                scores[path].append(score)
                symbol = memory.data.get("symbol")
                if isinstance(symbol, str) and len(scores[path]) <= BEST_PIECES:
                    self._evidence.symbols[path].append(symbol)
            self._evidence.signals[signal] = {
                path: sum(score / place for place, score in enumerate(best[:BEST_PIECES], start=1))
                for path, best in scores.items()
            }

    async def by_outline(self, task: Task) -> None:
        """The words of a file's path, of how it begins, and of what it defines."""
        found = await self._matched(task.terms, FILE_KIND, OUTLINES)
        self._evidence.signals["outline"] = {_path(memory): score for memory, score in found}

    async def by_name(self, task: Task) -> None:
        """Files that define what the task names, and files that it names outright."""
        for name in task.identifiers:
            last = name.rpartition(".")[2]
            joined = "".join(words_of(last)[-1:])
            if not joined:
                continue
            found = [memory for memory, _ in await self._matched([joined], FILE_KIND, 2 * COMMON_NAME)]
            self._add_names(last, [memory for memory in found if _defines(memory, last)])
        for path in task.paths:
            words = _telling(words_of(path))
            found = [memory for memory, _ in await self._matched(words, FILE_KIND, 2 * COMMON_NAME)] if words else []
            for memory in found:
                if _is_named(_path(memory), path):
                    self._evidence.signals["paths"][_path(memory)] = 1.0

    def _add_names(self, name: str, defining: Sequence[Memory]) -> None:
        if not 0 < len(defining) <= COMMON_NAME:
            return
        names = self._evidence.signals["names"]
        for memory in defining:
            path = _path(memory)
            names[path] = names.get(path, 0.0) + 1 / len(defining)
            self._evidence.named[path].append(name)

    async def by_meaning(self, task: Task) -> None:
        """The best piece of each file."""
        if self._mode == "words" or self._core.parts.serving is None:
            return
        found = await self._recalled(task.text, (CODE_KIND,), BY_MEANING, "meaning")
        best = self._evidence.signals["meaning"]
        for memory, similarity, _ in found:
            best[_path(memory)] = max(best.get(_path(memory), 0.0), similarity)

    async def by_past(self, task: Task) -> None:
        """Files that similar tasks, jobs and commits have touched; one among many of them counts less."""
        kinds = (TASK_KIND, COMPLETION_KIND, COMMIT_KIND)
        parts = self._core.parts
        counts = await parts.stores.records.count(Filter(scope=self._scope, kinds=kinds), now=parts.clock())
        self._evidence.history = counts.current
        past = self._evidence.signals["past"]
        for memory, _, score in await self._recalled(task.text, kinds, PAST, self._mode):
            files = touched(memory)
            for path in files:
                past[path] = past.get(path, 0.0) + score / sqrt(len(files))
                self._evidence.tasks[path].append(memory.id)

    async def present(self) -> set[str] | None:
        """Which of the suggested files there are; None when no repository was read, and nobody knows."""
        suggested = {path for found in self._evidence.signals.values() for path in found}
        records, now = self._core.parts.stores.records, self._core.parts.clock()
        if not await records.find(Filter(scope=self._scope, kinds=(FILE_KIND,)), now=now, limit=1):
            return None
        known = {path for name in ("text", "outline", "meaning") for path in self._evidence.signals.get(name, ())}
        unsure = sorted(suggested - known)
        for start in range(0, len(unsure), MOST_VALUES):
            some: list[Json] = [*unsure[start : start + MOST_VALUES]]
            wanted = Filter(scope=self._scope, kinds=(FILE_KIND,), data={"path": some})
            known |= {_path(memory) for memory in await records.find(wanted, now=now, limit=len(some))}
        return known

    async def _matched(self, terms: Sequence[str], kind: str, limit: int) -> list[tuple[Memory, float]]:
        if not terms:
            return []
        parts = self._core.parts
        wanted = Filter(scope=self._scope, kinds=(kind,))
        matches: list[Match] = []
        with suppress(StoreDamaged):
            matches = await parts.stores.texts.match(terms, wanted, now=parts.clock(), limit=limit)
        found = {
            memory.id: memory for memory in await parts.stores.records.get(self._scope, [one.id for one in matches])
        }
        return [(found[one.id], one.score) for one in matches if one.id in found and _path(found[one.id])]

    async def _recalled(
        self, text: str, kinds: tuple[str, ...], limit: int, mode: Mode
    ) -> list[tuple[Memory, float, float]]:
        parts = self._core.parts
        query = Query(text=text, filter=Filter(scope=self._scope, kinds=kinds), limit=limit, mode=mode)
        hits = await recall(query, stores=parts.stores, serving=parts.serving, now=parts.clock())
        self._evidence.degraded.update(hits.degraded)
        return [(hit.memory, hit.similarity or 0.0, hit.score) for hit in hits]


def touched(memory: Memory) -> list[str]:
    """The files that a task, a completed job or a commit has touched."""
    files = memory.data.get("files")
    named = [one.get("path") if isinstance(one, dict) else one for one in files] if isinstance(files, list) else []
    return [one for one in named if isinstance(one, str)]


def _ranked(task: Task, evidence: Evidence, present: set[str] | None, limit: int) -> Iterable[RelevantFile]:
    paths = sorted(
        {path for found in evidence.signals.values() for path in found if present is None or path in present}
    )
    totals = dict.fromkeys(paths, 0.0)
    parts: dict[str, dict[str, float]] = {path: {} for path in paths}
    for signal, found in evidence.signals.items():
        weight = WEIGHTS[signal]
        if signal == "past":
            weight *= evidence.history / (evidence.history + ENOUGH)
        for path, value in _scaled(signal, found, paths).items():
            parts[path][signal] = weight * value
            totals[path] += weight * value
    # Of a long report, its first line: somewhere below there is a test or an example in nearly all of them.
    asked = Asked(task.text.strip().partition("\n")[0]).sorts
    for path in paths:
        if (sort := sort_of(path)) and sort not in asked:
            parts[path]["supporting"] = SUPPORTING
            totals[path] += SUPPORTING
    best = sorted(paths, key=lambda path: (-totals[path], path))[:limit]
    for path in best:
        yield RelevantFile(
            path=path,
            score=1 / (1 + exp(-totals[path] / 2)),
            why=_why(path, parts[path], evidence),
            symbols=tuple(dict.fromkeys(evidence.symbols.get(path, ())))[:BEST_PIECES],
            tasks=tuple(dict.fromkeys(evidence.tasks.get(path, ())))[:BEST_PIECES],
            signals=parts[path],
        )


def _scaled(signal: str, found: Mapping[str, float], paths: Sequence[str]) -> dict[str, float]:
    """The values as they add up: names and paths as they are, anything else in standard deviations over all files."""
    values = [found.get(path, 0.0) for path in paths]
    if signal in ("names", "paths") or not values:
        return dict(zip(paths, values, strict=True))
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0
    return {path: (value - mean) / spread for path, value in zip(paths, values, strict=True)}


def _why(path: str, parts: Mapping[str, float], evidence: Evidence) -> str:
    reasons: list[str] = []
    if parts.get("paths", 0.0) > 0:
        reasons.append("the task names it")
    if evidence.named.get(path):
        reasons.append(f"defines {', '.join(dict.fromkeys(evidence.named[path][:3]))}")
    if path in evidence.signals.get("text", ()) or path in evidence.signals.get("outline", ()):
        reasons.append("words of the task")
    if path in evidence.signals.get("meaning", ()):
        reasons.append("close in meaning")
    if tasks := evidence.tasks.get(path):
        count = len(set(tasks))
        reasons.append(f"touched by {count} similar {'change' if count == 1 else 'changes'}")
    if "supporting" in parts:
        reasons.append(f"stands back: {sort_of(path)} code")
    return " · ".join(reasons)


def _telling(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word not in STOP_WORDS]


def _path(memory: Memory) -> str:
    path = memory.data.get("path")
    return path if isinstance(path, str) else ""


def _is_identifier(name: str) -> bool:
    return len(name) > 3 and (
        "_" in name.strip("_") or "." in name or not (name.islower() or name.istitle() or name.isupper())
    )


def _defines(memory: Memory, name: str) -> bool:
    """Whether the outline lists the name: as itself, or as the last part of one such as `Core.recall`."""
    defined = memory.content.rpartition("\nDefines ")[2]
    return any(one.rpartition(".")[2] == name for one in defined.split(", "))


def _is_named(path: str, mention: str) -> bool:
    return path == mention or path.endswith(f"/{mention}") or mention.endswith(f"/{path}")
