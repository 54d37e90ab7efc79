"""The read path, from a question to its answers."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from scrubjay.model import Hit, Hits, Memory, Query
from scrubjay.model.answers import hit_found
from scrubjay.model.words import terms_of
from scrubjay.ports import Stores, Trees, stage
from scrubjay.read.clauses import unite
from scrubjay.read.compare import compared
from scrubjay.read.confidence import LOOKED_AT, confidence
from scrubjay.read.diversify import diversify
from scrubjay.read.follow import follow
from scrubjay.read.fuse import DEPTH, FUSED, Candidate, fuse
from scrubjay.read.hydrate import hydrate
from scrubjay.read.latest import asks_latest
from scrubjay.read.named_times import asks_only_when, times_in
from scrubjay.read.passages import part_of
from scrubjay.read.rerank import Ranked, rerank
from scrubjay.read.reread import Rereading, reread_if_possible, wanted
from scrubjay.read.retrieve import AskServing, Retrieved, ready_for, retrieve, retrieve_ready
from scrubjay.read.shortlist import needed, shortlist
from scrubjay.read.standing import join_standing
from scrubjay.read.times import happened, says_when
from scrubjay.read.understand import OPENING, Question, understand


class _Judged(NamedTuple):
    answers: list[Ranked]
    """As many as are wanted, best first."""
    cosines: list[float | None]
    """How close in meaning each of those is that may answer; None for one that was not compared."""
    missing: tuple[str, ...] = ()
    """What could not take part in the judging."""


async def rank(
    query: Query, *, stores: Stores, serving: AskServing | None, now: datetime, rereading: Rereading | None = None
) -> tuple[list[Ranked], tuple[str, ...]]:
    """Answer a question: the memories that fit, best first, and the parts that could not take part."""
    judged, found = await _ranked(query, stores=stores, serving=serving, now=now, rereading=rereading)
    return judged.answers, (*found.degraded, *judged.missing)


async def _ranked(
    query: Query, *, stores: Stores, serving: AskServing | None, now: datetime, rereading: Rereading | None
) -> tuple[_Judged, Retrieved]:
    """The answers, read again if there is who reads."""
    if rereading is None:
        return await _searched(query, stores=stores, serving=serving, now=now)
    more = replace(query, limit=wanted(query.limit))
    judged, found = await _searched(more, stores=stores, serving=serving, now=now)
    answers, missing = await reread_if_possible(judged.answers, query.text, rereading, query.limit)
    return _Judged(answers, judged.cosines, (*judged.missing, *missing)), found


async def _searched(
    query: Query, *, stores: Stores, serving: AskServing | None, now: datetime
) -> tuple[_Judged, Retrieved]:
    question = understand(query)
    depth = max(DEPTH, 2 * query.limit)
    if stores.together is None:
        with stage("retrieve"):
            found = await retrieve(question, query, stores=stores, serving=serving, now=now, depth=depth)
        return await _judged(found, question, query, stores=stores, now=now, depth=depth), found
    ready = await ready_for(question, query, stores=stores, serving=serving, now=now, depth=depth)

    async def search() -> tuple[_Judged, Retrieved]:
        with stage("retrieve"):
            found = await retrieve_ready(ready, question, query, stores=stores, now=now, depth=depth)
        return await _judged(found, question, query, stores=stores, now=now, depth=depth), found

    return await stores.together(search)


async def _judged(
    found: Retrieved, question: Question, query: Query, *, stores: Stores, now: datetime, depth: int
) -> _Judged:
    """What was found, fetched and put in order."""
    candidates, relevances = _candidates(found, question, depth=depth, limit=max(FUSED, 2 * query.limit))
    together = bool(question.title) or asks_latest(question) or bool(times_in(question.text, now))
    many = shortlist(relevances, found, query.limit, lift=stores.lift.value, together=together)
    fetched: list[tuple[Candidate, Memory]] = []
    start = 0
    while True:
        with stage("hydrate"):
            fetched += await hydrate(candidates[start:many], filter=query.filter, records=stores.records, now=now)
            hydrated = await follow(fetched, question=question, query=query, records=stores.records, now=now)
            hydrated, missing = await join_standing(
                hydrated, question=question, query=query, retrieved=found, stores=stores, now=now
            )
        with stage("rerank"):
            ranked = rerank(hydrated, question=question, now=now, left=len(relevances) - many)
            diverse = diversify(ranked, query.limit)
        start, many = many, needed(diverse, relevances, query.limit, fetched=many)
        if many <= start:
            if start < len(relevances):
                stores.lift.note(sum(diverse.answers[-1].parts) - relevances[query.limit - 1])
            # Those that come next are not fetched, but one of them may be the closest.
            others = candidates[start : max(LOOKED_AT, 2 * query.limit)]
            cosines = [one.similarity for one in ranked] + [one.similarity for one in others]
            answers = [one._replace(scale=found.scale) for one in diverse.answers]
            return _Judged(answers, cosines, missing)


def _candidates(
    found: Retrieved, question: Question, *, depth: int, limit: int
) -> tuple[Sequence[Candidate], Sequence[float]]:
    """What was found, best first, and how relevant each is."""
    terms, numbered = len(question.terms), _has_number(question.terms)
    if not found.clauses:
        fused = fuse(found.rankings, terms=terms, numbered=numbered, depth=depth, limit=limit)
        return fused, fused.relevances
    # All of it: what the question finds late, a clause may find early.
    whole = fuse(found.rankings, terms=terms, numbered=numbered, depth=depth, limit=2 * depth)
    clauses = [
        fuse(rankings, terms=len(terms_of(clause)), numbered=numbered, depth=depth, limit=2 * depth)
        for clause, rankings in zip(question.clauses, found.clauses, strict=True)
    ]
    united = unite(whole, clauses, limit=limit)
    return united, [candidate.relevance for candidate in united]


def _has_number(terms: Sequence[str]) -> bool:
    """Whether one of the words has a digit, as the names of tickets, hosts and errors do."""
    return any(not term.isalpha() and any(map(str.isdigit, term)) for term in terms)


async def recall(
    query: Query,
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    rereading: Rereading | None = None,
    trees: Trees | None = None,
) -> Hits:
    """Answer a question, and say of every answer why it is one. What cites code is compared with the `trees`."""
    with stage("recall", tenant=query.filter.scope.tenant) as recalling:
        hits = await _answered(query, stores=stores, serving=serving, now=now, rereading=rereading, trees=trees)
        if recalling.is_watched:
            recalling.note(
                ids=[str(hit.memory.id) for hit in hits],
                kinds=[hit.memory.kind for hit in hits],
                score=hits[0].score if hits else None,
                similarity=max((hit.similarity for hit in hits if hit.similarity is not None), default=None),
                degraded=hits.degraded,
            )
        return hits


async def _answered(
    query: Query,
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    rereading: Rereading | None,
    trees: Trees | None,
) -> Hits:
    began = time.perf_counter()
    judged, found = await _ranked(query, stores=stores, serving=serving, now=now, rereading=rereading)
    hits = [_hit(one, explain=query.explain) for one in judged.answers]
    if query.least_similarity is not None:
        hits = [hit for hit in hits if _alike(hit, query.least_similarity)]
    cited = await compared([hit.memory for hit in hits], query.filter.scope, trees)
    hits = [replace(hit, cited=cited[hit.memory.id]) if hit.memory.id in cited else hit for hit in hits]
    return Hits(
        hits=tuple(hits),
        degraded=(*found.degraded, *judged.missing),
        # What a part would have found is not known, and the scale of a model that stands in was not asked for.
        confidence=None if found.degraded else _confidence(query.text, hits, judged, found, now),
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def _confidence(question: str, hits: Sequence[Hit], judged: _Judged, found: Retrieved, now: datetime) -> float | None:
    """How sure it is that something here is about the question. One for a time alone is answered by what was then."""
    sure = confidence(judged.cosines, found.scale, compared=found.compared)
    if sure is None or len(question) > OPENING or not (times := times_in(question, now)):
        return sure
    then = any(says_when(hit.memory) and happened(hit.memory.valid_from, times, now) == 1.0 for hit in hits)
    return 1.0 if then and asks_only_when(question, now) else sure


def _hit(ranked: Ranked, *, explain: bool) -> Hit:
    part = part_of(ranked.memory, ranked.start, ranked.stop)
    return hit_found(
        ranked.memory,
        ranked.score,
        ranked.likeness,
        None if part is None else ranked.memory.content[slice(*part)],
        dict(ranked.signals) if explain else {},
        lambda: ranked.why,
    )


def _alike(hit: Hit, least: float) -> bool:
    """Whether it is similar enough. What was found by its words alone was not compared, and stays."""
    return hit.similarity is None or hit.similarity >= least
