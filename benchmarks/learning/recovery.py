"""Planted effects are found, and nothing is found where there is nothing, over many seeds."""

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

from generated import Planted, executions, planted

from scrubjay.memories.learning.history import History
from scrubjay.memories.learning.mining import Finding
from scrubjay.memories.learning.traits import Trait
from scrubjay.model.tasks import Execution

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def history_of(told: list[Execution]) -> History:
    history = History()
    for number, one in enumerate(told):
        history.add(UUID(int=number + 1), one, BEGAN + timedelta(minutes=number))
    return history


def found_in(history: History) -> list[tuple[int, Finding, Trait]]:
    return [
        (family, finding, history.traits.names[finding.trait])
        for (family, _), findings in history.mine().items()
        for finding in findings
    ]


def is_true(trait: Trait, effect: Planted) -> bool:
    """Whether a trait is the planted one, or comes with it by the way histories are made.

    Whoever has a tool has it beside others, whoever runs two tools in one order does not run them in the other, and of
    three models two are left when one is better.
    """
    match effect.kind:
        case "model":
            return trait.kind == "model"
        case "error":
            return trait.kind == "errors" or trait.what == effect.what
        case _:
            return bool(set(trait.what) & set(effect.what))


def recovery(seeds: int, *, many: int, families: int) -> dict[str, float]:
    """Precision and recall of indicators, and how many are found."""
    right = wrong = found = effects_told = 0
    for seed in range(seeds):
        chance = random.Random(seed)
        effects = planted(chance, families)
        told = list(executions(chance, many, families, effects))
        history = history_of([one for _, one in told])
        by_family = _majority(history, [family for family, _ in told])
        hit = set()
        for family, _, trait in found_in(history):
            true = [effect for effect in effects if effect.family in by_family[family] and is_true(trait, effect)]
            right, wrong = right + bool(true), wrong + (not true)
            hit |= {effect.family for effect in true}
        found += len(hit)
        effects_told += len(effects)
    return {
        "precision": right / (right + wrong) if right + wrong else 1.0,
        "recall": found / effects_told,
        "indicators": (right + wrong) / seeds,
    }


def _majority(history: History, made_for: list[int]) -> dict[int, set[int]]:
    """For each family that was found: the families that at least a fifth of its executions were made for."""
    shares: dict[int, set[int]] = {}
    for number, ledger in history.ledgers.items():
        sources = [made_for[run.id.int - 1] for run in ledger.runs]
        shares[number] = {source for source in set(sources) if sources.count(source) * 5 >= len(sources)}
        if history.families.members[number].parent is None:
            shares[number] = set(sources)
    return shares


def shuffled(seeds: int, *, many: int, families: int, attempts: int = 1) -> tuple[int, int]:
    """In how many of so many histories anything is found although outcomes are shuffled, and how many findings in all.

    With more attempts, all attempts at a task end alike and tell much the same: what looks like evidence is one task
    told again and again.
    """
    histories = findings = 0
    for seed in range(seeds):
        chance = random.Random(1_000_000 + seed)
        told = [one for _, one in executions(chance, many // attempts, families, planted(chance, families))]
        outcomes = [one.success for one in told]
        chance.shuffle(outcomes)
        again = [
            _attempt(one, outcome, attempt, chance)
            for one, outcome in zip(told, outcomes, strict=True)
            for attempt in range(1, attempts + 1)
        ]
        found = len(found_in(history_of(again)))
        histories, findings = histories + bool(found), findings + found
    return histories, findings


def _attempt(one: Execution, outcome: bool, attempt: int, chance: random.Random) -> Execution:  # noqa: FBT001 -- the outcome itself
    tools = list(one.tools)
    if attempt > 1 and len(tools) > 1:
        tools.pop(chance.randrange(len(tools)))
    return Execution(
        task_id=one.task_id,
        attempt=attempt,
        task_description=one.task_description,
        execution_summary=one.execution_summary,
        success=outcome,
        tools=tuple(tools),
        error_patterns=one.error_patterns,
        model=one.model,
    )
