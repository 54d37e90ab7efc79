"""How a pattern is kept: a memory with a key, whose versions are the pattern's history."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, cast
from uuid import UUID

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.learning.posterior import confidence
from scrubjay.model import Json, Memory, Scope
from scrubjay.model.patterns import PATTERN_KIND, Indicator, PatternType, TaskPattern
from scrubjay.ports import Decision, Known
from scrubjay.read.readable import UNREADABLE
from scrubjay.write.prepare import Telling
from scrubjay.write.reconcile import reconcile

KEY: Final = "pattern:"

ASKED: Final = "on request"
"""How a pattern came to be that was extracted. Others are learned, and closed when they no longer hold."""

HALF_LIFE: Final = 180.0
"""Days after its newest execution at which what a pattern rests on counts half."""

MOST_EVIDENCE: Final = 50

MOVED: Final = 0.02
GROWN: Final = 1.1
"""A pattern becomes a new version when its indicators change, its confidence moves by this much, or it has this much
more to rest on. Otherwise every execution would make one."""

KEPT: Final = ("helpful", "unhelpful", "judged_at", "version", "created_at")
"""What a pattern that is learned anew takes over from the version before."""


def pattern_id(pattern_type: PatternType, subject: str, scope: Scope) -> str:
    """The id of the pattern about a family, or about a regular expression, in a place. The same wherever it is made."""
    text = "\x00".join((pattern_type, subject, *(name or "" for name in scope.names())))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def telling_of(
    *,
    id: str,
    pattern_type: PatternType,
    task_type_pattern: str,
    name: str,
    words: Sequence[str],
    success_indicators: Sequence[Indicator],
    failure_indicators: Sequence[Indicator],
    held: float,
    seen: float,
    samples: int,
    successes: int,
    evidence: Sequence[UUID],
    last_seen_at: datetime,
    learned: str,
) -> Telling:
    """What to remember of a pattern. `held` of `seen` executions, as far as they are independent, ended as it says."""
    data: dict[str, Json] = {
        "id": id,
        "pattern_type": pattern_type,
        "task_type_pattern": task_type_pattern,
        "name": name,
        "words": [*words],
        "success_indicators": [_fields(one) for one in success_indicators],
        "failure_indicators": [_fields(one) for one in failure_indicators],
        "held": round(held, 3),
        "seen": round(seen, 3),
        "samples": samples,
        "successes": successes,
        "helpful": 0.0,
        "unhelpful": 0.0,
        "version": 1,
        "evidence": [str(one) for one in evidence],
        "last_seen_at": last_seen_at.isoformat(),
        "learned": learned,
    }
    return {
        "content": _content(name, pattern_type, successes, samples, success_indicators, failure_indicators),
        "kind": PATTERN_KIND,
        "key": f"{KEY}{id}",
        "data": data,
        "trust": "concluded",
        "derived_from": tuple(evidence),
    }


def _content(
    name: str,
    pattern_type: PatternType,
    successes: int,
    samples: int,
    success_indicators: Sequence[Indicator],
    failure_indicators: Sequence[Indicator],
) -> str:
    """What a search finds it by, and what a reader is told: the tasks it is about, and the evidence."""
    lines = [f"Tasks like “{name}”: {successes} of {samples} succeeded."]
    lines += context_lines(pattern_type, success_indicators, failure_indicators) or [silence(successes, samples)]
    return "\n".join(lines)


def context_lines(
    pattern_type: PatternType, success_indicators: Sequence[Indicator], failure_indicators: Sequence[Indicator]
) -> list[str]:
    """What to know before such a task: what worked and what did not, with its evidence."""
    cheap = pattern_type == "optimization"
    good, bad = ("Cheaper", "Dearer") if cheap else ("Worked", "Failed")
    return [
        *(f"{good}: {one.evidence}." for one in success_indicators),
        *(f"{bad}: {one.evidence}." for one in failure_indicators),
    ]


def silence(successes: int, samples: int) -> str:
    """Why a pattern has no indicators."""
    if successes in (0, samples):
        ended, missing = ("succeeded", "failures") if successes else ("failed", "successes")
        return f"No indicators: all {samples} {ended}, and without {missing} there is nothing to compare them with."
    failures = samples - successes
    return f"No indicators: nothing surely sets the {successes} that succeeded apart from the {failures} that failed."


def pattern_of(memory: Memory, now: datetime) -> TaskPattern:
    """The pattern that a memory holds, with the confidence it has now. Raises InvalidInput when it holds none."""
    data = cast("dict[str, Any]", memory.data)
    if memory.kind != PATTERN_KIND or "pattern_type" not in data:
        raise InvalidInput(f"memory {memory.id} is a {memory.kind} and holds no pattern")
    try:
        return _pattern_in(data, memory, now)
    except UNREADABLE as error:
        raise InvalidInput(f"memory {memory.id} holds no pattern that this version can read: {error}") from error


def _pattern_in(data: Mapping[str, Any], memory: Memory, now: datetime) -> TaskPattern:
    successes = tuple(map(_indicator, data["success_indicators"]))
    failures = tuple(map(_indicator, data["failure_indicators"]))
    return TaskPattern(
        id=data["id"],
        pattern_type=data["pattern_type"],
        task_type_pattern=data["task_type_pattern"],
        name=data["name"],
        words=tuple(data.get("words", ())),
        success_indicators=successes,
        failure_indicators=failures,
        recommended_context="\n".join(
            context_lines(data["pattern_type"], successes, failures) or [silence(data["successes"], data["samples"])]
        ),
        confidence=confidence_now(data, now),
        samples=data["samples"],
        successes=data["successes"],
        helpful=data["helpful"],
        unhelpful=data["unhelpful"],
        usage_count=memory.uses,
        evidence=tuple(UUID(one) for one in data["evidence"]),
        version=data["version"],
        created_at=datetime.fromisoformat(data["created_at"]) if "created_at" in data else memory.created_at,
        updated_at=memory.created_at,
        last_seen_at=datetime.fromisoformat(data["last_seen_at"]),
        scope=memory.scope,
    )


def confidence_now(data: Mapping[str, Any], now: datetime) -> float:
    """The lower bound of the posterior: of executions, which fade since the newest, and feedback, since the last."""
    fresh, heard = _freshness(data["last_seen_at"], now), _freshness(data.get("judged_at"), now)
    held = fresh * data["held"] + heard * data["helpful"]
    return confidence(held, fresh * data["seen"] + heard * (data["helpful"] + data["unhelpful"]))


def _freshness(since: str | None, now: datetime) -> float:
    """What something of that moment still counts, from 1 down to 0."""
    if since is None:
        return 1.0
    days = max(0.0, (now - datetime.fromisoformat(since)).total_seconds()) / 86_400
    return float(0.5 ** (days / HALF_LIFE))


def learned_anew(draft: Memory, known: Known) -> Decision:
    """Decide on a pattern that was learned: new, a new version with the feedback of the old one, or nothing new."""
    old = _current(known)
    if old is None or not _holds_pattern(old, draft.created_at):
        return reconcile(draft, known)
    kept: dict[str, Json] = {name: old.data[name] for name in KEPT if name in old.data}
    merged: dict[str, Json] = {**draft.data, **kept}
    if not _is_news(old.data, merged, draft.created_at):
        return Decision(outcome="unchanged", memory=old)
    return _next(old, draft, known, merged)


def judged(draft: Memory, known: Known, *, helpful: bool, weight: float) -> Decision:
    """Decide on feedback: a new version of the pattern that is there, whatever the draft was made from.

    Raises NotFound when it was closed since it was looked up.
    """
    old = _current(known)
    if old is None:
        pattern = (draft.key or "").removeprefix(KEY)
        raise NotFound(f"there is no pattern {pattern} in {draft.scope} any more: it was closed meanwhile")
    # What was heard before has faded until now, and goes on fading from here together with what is heard now.
    heard = _freshness(cast("str | None", old.data.get("judged_at")), draft.created_at)
    counts = {name: heard * cast("float", old.data[name]) for name in ("helpful", "unhelpful")}
    counts["helpful" if helpful else "unhelpful"] += weight
    changed: dict[str, Json] = {
        **old.data,
        **{name: round(count, 3) for name, count in counts.items()},
        "judged_at": draft.created_at.isoformat(),
    }
    version = replace(draft, content=old.content, derived_from=old.derived_from, trust=old.trust)
    return _next(old, version, known, changed, uses=1)


def _next(old: Memory, draft: Memory, known: Known, data: dict[str, Json], *, uses: int = 0) -> Decision:
    """The version after the old one. Of two drafts made at once, the one that is stored later is the newer."""
    created = old.data.get("created_at", old.created_at.isoformat())
    version = replace(
        draft,
        data={**data, "version": cast("int", old.data["version"]) + 1, "created_at": created},
        uses=old.uses + uses,
        used_at=draft.created_at if uses else old.used_at,
        valid_from=max(draft.valid_from, old.valid_from),
    )
    return reconcile(version, replace(known, same_words=None))


def _current(known: Known) -> Memory | None:
    return known.same_key[-1] if known.same_key else None


def _holds_pattern(memory: Memory, now: datetime) -> bool:
    """False for a memory with such a key that was told by hand, and is no pattern."""
    try:
        pattern_of(memory, now)
    except InvalidInput:
        return False
    return True


def _is_news(old: Mapping[str, Any], new: Mapping[str, Any], now: datetime) -> bool:
    # One that was changed by hand may lack what only learning notes.
    if any(old.get(name) != new[name] for name in ("task_type_pattern", "name", "learned")):
        return True
    for name in ("success_indicators", "failure_indicators"):
        if [(one["kind"], one["what"]) for one in old[name]] != [(one["kind"], one["what"]) for one in new[name]]:
            return True
    grown = max(old["samples"], new["samples"]) >= GROWN * min(old["samples"], new["samples"])
    return grown or abs(confidence_now(old, now) - confidence_now(new, now)) >= MOVED


def _fields(one: Indicator) -> dict[str, Json]:
    return {
        "kind": one.kind,
        "what": list(one.what),
        "ending": one.ending,
        "hits": one.hits,
        "seen": one.seen,
        "other_hits": one.other_hits,
        "other_seen": one.other_seen,
        "q_value": round(one.q_value, 9),
        "strength": round(one.strength, 6),
        **({"among_errors": True} if one.among_errors else {}),
    }


def _indicator(fields: Mapping[str, Any]) -> Indicator:
    return Indicator(**{**fields, "what": tuple(fields["what"])})
