"""From what was mined to what is remembered: a pattern for each side of each family."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from scrubjay.memories.learning.contrast import Counts
from scrubjay.memories.learning.history import History
from scrubjay.memories.learning.ledger import Ledger, Run
from scrubjay.memories.learning.mining import Finding, indicator
from scrubjay.memories.patterns.keeping import ASKED, KEY, MOST_EVIDENCE, pattern_id, telling_of
from scrubjay.memories.patterns.reading import Which
from scrubjay.model import Scope
from scrubjay.model.patterns import Indicator, PatternType
from scrubjay.write.prepare import Telling

Signature: TypeAlias = tuple[tuple[int, Counts], ...]
"""What a pattern says, to see without writing whether it would say anything new."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A pattern that is found now, told only when it differs from what was told before."""

    key: str
    signature: Signature
    telling: Telling | None


def lessons(history: History, which: Which, told: Mapping[str, Signature]) -> list[Lesson]:
    """A pattern for each family and side of which anything is found. `told` is what is known to be remembered."""
    found = []
    for (number, ending), findings in history.mine().items():
        signature = tuple((one.trait, one.counts) for one in findings)
        types: Sequence[PatternType] = ("success", "failure") if ending == "success" else (ending,)
        for pattern_type in types:
            if not any(one.is_for == (pattern_type != "failure") for one in findings):
                continue
            subject = f"{which.way}: {history.families.members[number].id}"
            name = pattern_id(pattern_type, subject, which.scope)
            key = f"{KEY}{name}"
            telling = None
            if told.get(key) != signature:
                family = history.family(number)
                telling = drafted(
                    history,
                    history.ledgers[number],
                    findings,
                    id=name,
                    pattern_type=pattern_type,
                    task_type_pattern=family.regex,
                    name=family.name,
                    words=history.families.telling(number),
                    learned=which.way,
                )
            found.append(Lesson(key, signature, telling))
    return found


def extracted(
    history: History, task_type_pattern: str, pattern_type: PatternType, scope: Scope, *, at_least: int
) -> Telling | None:
    """The pattern of the executions that a regular expression finds; None when too few of them ended so."""
    ledger, findings = history.contrast(task_type_pattern, pattern_type)
    wanted = pattern_type != "failure"
    if sum(hit == wanted for _, hit in ledger.labelled(pattern_type)) < at_least:
        return None
    return drafted(
        history,
        ledger,
        findings,
        id=pattern_id(pattern_type, task_type_pattern, scope),
        pattern_type=pattern_type,
        task_type_pattern=task_type_pattern,
        name=task_type_pattern,
        learned=ASKED,
    )


def drafted(
    history: History,
    ledger: Ledger,
    findings: Sequence[Finding],
    *,
    id: str,
    pattern_type: PatternType,
    task_type_pattern: str,
    name: str,
    words: Sequence[str] = (),
    learned: str,
) -> Telling:
    """What to remember of one pattern. Without findings it says only how such tasks ended."""
    good, bad = _sides(findings, history, pattern_type)
    side = bad if pattern_type == "failure" else good
    runs = ledger.labelled(pattern_type)
    wanted = pattern_type != "failure"
    trait = next((one.trait for one in findings if one.is_for == wanted), None)
    fitting = [(run, hit) for run, hit in runs if trait is None or trait in run.traits]
    if side:
        held, seen = float(side[0].hits), float(side[0].seen)
    else:
        held, seen = float(sum(hit == wanted for _, hit in fitting)), float(len(fitting))
    sheet = ledger.sheet("optimization" if pattern_type == "optimization" else "success")
    worth = 1 / sheet.effect if sheet is not None else 1.0
    return telling_of(
        id=id,
        pattern_type=pattern_type,
        task_type_pattern=task_type_pattern,
        name=name,
        words=words,
        success_indicators=good,
        failure_indicators=bad,
        held=held * worth,
        seen=seen * worth,
        samples=len(ledger.runs),
        successes=ledger.successes,
        evidence=_newest(run for run, hit in fitting if hit == wanted),
        last_seen_at=max(run.at for run in ledger.runs),
        learned=learned,
    )


def _sides(
    findings: Sequence[Finding], history: History, pattern_type: PatternType
) -> tuple[list[Indicator], list[Indicator]]:
    """What goes with a good end and what goes with a bad one. Of cost there is one way to count, of outcomes two."""
    bad: PatternType = "optimization" if pattern_type == "optimization" else "failure"
    good: PatternType = "optimization" if pattern_type == "optimization" else "success"
    return (
        [indicator(one, history.traits, good) for one in findings if one.is_for],
        [indicator(one, history.traits, bad) for one in findings if not one.is_for],
    )


def _newest(runs: Iterable[Run]) -> list[UUID]:
    return [run.id for run in list(runs)[-MOST_EVIDENCE:]]
