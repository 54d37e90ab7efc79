"""Searching: completions that fit a question, by words, by meaning, and by the paths and symbols that it names."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, log
from pathlib import Path, PurePosixPath
from typing import Final, Unpack

from scrubjay.core import Id
from scrubjay.errors import InvalidInput, Unavailable
from scrubjay.memories.workspace.detail import detail_of
from scrubjay.memories.workspace.repository import repository_of
from scrubjay.memories.workspace.room import Room
from scrubjay.model import Filter, Hit, Json, Query, Where
from scrubjay.model.checks import check_name, check_whole, in_utc, shown
from scrubjay.model.words import terms_of
from scrubjay.model.workspace import (
    COMPLETION_KIND,
    KEPT_STATUSES,
    REJECTED_KIND,
    Completion,
    CompletionStatus,
    completion_keys,
)
from scrubjay.model.workspace_answers import CompletionDetail, WorkspaceHit, WorkspaceHits
from scrubjay.ports import Calibrated
from scrubjay.read.confidence import MIDDLE as ABOUT_IT
from scrubjay.read.forms import words_found
from scrubjay.read.recall import recall

MOST_HITS: Final = 200

WIDER: Final = 4
LEAST_ASKED: Final = 20
"""More is asked for than is wanted, since a path or a symbol that was named chooses among what was found."""

NAMED_PATH: Final = 1.0
NAMED_SYMBOL: Final = 0.5
"""How far a name in the question moves a completion that has it, in log-odds of its score: whoever writes
`app/session.py` means that file, and words alone know only that `app`, `session` and `py` are in it somewhere."""

TELLING_WORDS: Final = 0.5
"""The BM25 of words above which they are about the job, however little alike it is in meaning: a word that half of all
memories have, such as the `Files` in every job, counts nearly nothing."""

_NAMES: Final = re.compile(r"[\w$./\\-]+")


@dataclass(frozen=True, slots=True)
class _Named:
    """What a question names outright: whole paths, file names, identifiers; and the words to look for."""

    texts: frozenset[str]
    terms: tuple[str, ...]

    def path_of(self, completion: Completion) -> str | None:
        """The file of a completion that is named: by its path, by the end of it, or by its name."""
        for file in completion.files:
            parts = PurePosixPath(file.path).parts
            ends = {"/".join(parts[start:]) for start in range(len(parts))}
            # A name without an ending, such as `session`, is a word like any other.
            if any(end in self.texts for end in ends if "." in end or "/" in end):
                return file.path
        return None

    def symbol_of(self, completion: Completion) -> str | None:
        """The symbol of a completion that is named."""
        return next((symbol for symbol in completion.symbols if symbol in self.texts), None)

    def is_half_said(self, completion: Completion) -> bool:
        """Whether the completion has at least half of the words, in what it says of its own."""
        said = " ".join(
            [completion.goal, completion.summary or "", *(file.path for file in completion.files), *completion.symbols]
        )
        return 2 * len(words_found(self.terms, said)) >= len(self.terms) > 0


class Searching(Room):
    """Finding completions, and reading one in full."""

    async def search_memories(
        self,
        repo_path: str | Path | None = None,
        language: str | None = None,
        query: str = "",
        limit: int = 5,
        *,
        model: str | None = None,
        mode: str | None = None,
        status: CompletionStatus = "succeeded",
        since: datetime | None = None,
        until: datetime | None = None,
        **where: Unpack[Where],
    ) -> WorkspaceHits:
        """Find completed jobs that fit, best first, each with the reason; an empty question finds the newest.

        By text, by meaning where that is on, and by the paths and symbols that the question names. A job that has none
        of these in common with the question is left out. `mode` and `model` are those that the job was done with. What
        was rejected is found only with `status="rejected"`, and is no advice.
        """
        self._check_enabled()
        began = time.perf_counter()
        check_whole("limit", limit, least=1, most=MOST_HITS)
        meant = replace(
            self._filter(repo_path, status, {"language": language, "model": model, "mode": mode}, where),
            since=in_utc("since", since),
            until=in_utc("until", until),
        )
        asked = Query(
            text=query,
            filter=meant,
            limit=max(LEAST_ASKED, WIDER * limit),
            mode="hybrid" if self._rules.embeddings else "words",
            explain=True,
        )
        parts = self._core.parts
        found = await recall(asked, stores=parts.stores, serving=parts.serving, now=parts.clock())
        hits = ranked(list(found), query, least=await self._least_similarity())[:limit]
        parts.uses.count(meant.scope, [hit.id for hit in hits])
        return WorkspaceHits(
            hits=tuple(hits), degraded=found.degraded, milliseconds=(time.perf_counter() - began) * 1_000
        )

    async def _least_similarity(self) -> float:
        """Where a job is as likely as not about the question; 0 for a model whose numbers nobody has calibrated."""
        if self._core.parts.serving is None:
            return 0.0
        try:
            serving = await self._core.parts.serving()
        except Unavailable:
            return 0.0
        return ABOUT_IT if serving is not None and isinstance(serving.embedder, Calibrated) else 0.0

    async def get(self, id: Id, **where: Unpack[Where]) -> CompletionDetail:
        """Return one completion in full: each file with the text that was kept, and how the working tree stands to it.

        A file is `fresh`, `changed` or `missing` there. Raises NotFound when the scope sees no such completion.
        """
        self._check_enabled()
        return await detail_of(self._core, await self._core.get(id, **where))

    def _filter(self, repo_path: str | Path | None, status: str, told: dict[str, str | None], where: Where) -> Filter:
        if status not in KEPT_STATUSES:
            raise InvalidInput(f"status is {shown(status)}: what is kept is {' or '.join(KEPT_STATUSES)}")
        data: dict[str, Json] = {}
        for name, value in told.items():
            check_name(name, value)
            if value is not None:
                data[name] = value
        return Filter(
            scope=self._core.scoped(where),
            kinds=(COMPLETION_KIND if status == "succeeded" else REJECTED_KIND,),
            key_prefix=completion_keys(repository_of(repo_path).name) if repo_path is not None else None,
            data=data,
        )


def ranked(found: Sequence[Hit], query: str, *, least: float = 0.0) -> list[WorkspaceHit]:
    """The hits that hold completions, those first that have what the question names.

    `least` is the similarity below which something else has to speak for a job: such a name, a word that few have, or
    half of the words.
    """
    texts = (text.replace("\\", "/").removeprefix("./").rstrip("./-") for text in _NAMES.findall(query))
    named = _Named(frozenset(texts), tuple(terms_of(query)))
    hits = [one for hit in found if (one := _hit(hit, named, least)) is not None]
    return sorted(hits, key=lambda hit: hit.score, reverse=True)


def _hit(hit: Hit, named: _Named, least: float) -> WorkspaceHit | None:
    try:
        completion = Completion.of(hit.memory)
    except InvalidInput:
        return None  # A memory of this kind that was told by hand.
    score, why = hit.score, hit.why
    if path := named.path_of(completion):
        score, why = _moved(score, NAMED_PATH), f"{why}, has {path}"
    if symbol := named.symbol_of(completion):
        score, why = _moved(score, NAMED_SYMBOL), f"{why}, defines {symbol}"
    # One that is not compared was found by its words, or waits to be indexed.
    is_far = hit.similarity is not None and hit.similarity < least
    is_said = hit.signals.get("words", 0.0) >= TELLING_WORDS
    # Where few memories are, no word is rare.
    if is_far and not (path or symbol or is_said or named.is_half_said(completion)):
        return None
    return WorkspaceHit(
        id=hit.memory.id,
        completion=completion,
        score=score,
        why=why,
        similarity=hit.similarity,
        passage=hit.passage,
    )


def _moved(score: float, step: float) -> float:
    """The score, moved by so much in log-odds."""
    return 1 / (1 + exp(-(log(score / (1 - score)) + step))) if 0 < score < 1 else score
