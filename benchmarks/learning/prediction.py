"""Success prediction on real trajectories, in the order they happened: learn on the past, predict the next."""

import json
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from scrubjay.memories.learning.predict import FIRST, Forecaster, Past
from scrubjay.models import embedder_of

NAMESPACE = uuid5(NAMESPACE_URL, "benchmark")
NEAREST = (3, 5, 10)
FOLDS = 5


def past_of(rows: list[dict]) -> list[Past]:
    return [
        Past(
            uuid5(NAMESPACE, str(place)),
            row["task_id"],
            row["description"],
            tuple(row["tools"]),
            tuple(row["errors"]),
            row["agent"],
            row["success"],
        )
        for place, row in enumerate(rows)
    ]


def auc(told: np.ndarray, outcomes: np.ndarray) -> float:
    """How often a success was given a higher chance than a failure."""
    good, bad = told[outcomes], told[~outcomes]
    return float((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean())


def brier(told: np.ndarray, outcomes: np.ndarray) -> float:
    return float(((told - outcomes) ** 2).mean())


def interval(told: np.ndarray, base: np.ndarray, outcomes: np.ndarray, tasks: list[str]) -> tuple[float, float]:
    """The 95 % interval of the Brier score gained over the base rate. Tasks are drawn, with all their attempts."""
    chance = np.random.default_rng(0)
    gains = (base - outcomes) ** 2 - (told - outcomes) ** 2
    names = sorted(set(tasks))
    groups = [np.flatnonzero([task == name for task in tasks]) for name in names]
    means = [
        gains[np.concatenate([groups[one] for one in chance.integers(0, len(groups), len(groups))])].mean()
        for _ in range(2_000)
    ]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


async def measured(folder: Path) -> tuple[list[tuple], dict[str, np.ndarray], np.ndarray]:
    """Rows of the table, the forecasts by name, and the outcomes."""
    rows = [json.loads(line) for line in (folder / "tasks" / "airline.jsonl").read_text().splitlines()]
    rows.sort(key=lambda row: row["order"])
    past = past_of(rows)
    outcomes = np.array([one.success for one in past])
    forecasts = {"base rate of the past": _base(outcomes)}
    model = embedder_of("minilm")
    texts = [one.description for one in past]
    unique = sorted(set(texts))
    vectors = dict(zip(unique, await model.embed(unique), strict=True))
    await model.shut()
    matrix = np.array([vectors[text] for text in texts])
    for many in NEAREST:
        forecasts[f"mean of the {many} nearest tasks (MiniLM)"] = _nearest(matrix, outcomes, many)
    whole = Forecaster(past)
    forecasts["before the run: description"] = whole.rolling("before")
    forecasts["during the run: first half of the trace"] = _halfway(past)
    forecasts["during the run: whole trace and errors"] = whole.rolling("during")
    scored = outcomes[FIRST:]
    tasks = [one.task for one in past[FIRST:]]
    base = forecasts["base rate of the past"]
    table = [
        (
            name,
            auc(told, scored),
            brier(told, scored),
            1 - brier(told, scored) / brier(base, scored),
            *interval(told, base, scored, tasks),
        )
        for name, told in forecasts.items()
    ]
    return table, forecasts, scored


def _base(outcomes: np.ndarray) -> np.ndarray:
    return np.array([(outcomes[:place].sum() + 1) / (place + 2) for place in range(FIRST, len(outcomes))])


def _nearest(matrix: np.ndarray, outcomes: np.ndarray, many: int) -> np.ndarray:
    """The plain mean of the outcomes of the nearest past tasks, as a system that only searches would say it."""
    likeness = matrix @ matrix.T
    told = []
    for place in range(FIRST, len(outcomes)):
        nearest = np.argsort(-likeness[place, :place], kind="stable")[:many]
        told.append(outcomes[nearest].mean())
    return np.array(told)


def _halfway(past: list[Past]) -> np.ndarray:
    """Each run predicted when half of its tool calls are done and no error is known, in stretches of ten."""
    told = []
    for start in range(FIRST, len(past), 10):
        known = Forecaster(past[:start])
        for one in past[start : start + 10]:
            half = one.tools[: -(-len(one.tools) // 2)]
            told.append(known.chance("during", one.description, tools=half, model=one.model)[0])
    return np.array(told)


def unseen(folder: Path) -> list[tuple[str, float, float, float]]:
    """Tasks that were never tried before: a fifth of them is left out of the past, in turn."""
    rows = [json.loads(line) for line in (folder / "tasks" / "airline.jsonl").read_text().splitlines()]
    past = past_of(rows)
    tasks = sorted({one.task for one in past})
    chance = np.random.default_rng(0)
    fold_of = dict(zip(chance.permutation(tasks), np.arange(len(tasks)) % FOLDS, strict=True))
    outcomes = np.array([one.success for one in past])
    told = {"before": np.zeros(len(past)), "during": np.zeros(len(past)), "base": np.zeros(len(past))}
    for fold in range(FOLDS):
        known = Forecaster([one for one in past if fold_of[one.task] != fold])
        rate = outcomes[[fold_of[one.task] != fold for one in past]].mean()
        for place, one in enumerate(past):
            if fold_of[one.task] == fold:
                told["base"][place] = rate
                told["before"][place] = known.chance("before", one.description)[0]
                told["during"][place] = known.chance(
                    "during", one.description, tools=one.tools, errors=one.errors, model=one.model
                )[0]
    base = brier(told["base"], outcomes)
    names = {"base": "base rate of the others", "before": "before the run", "during": "during the run, whole trace"}
    return [
        (
            names[name],
            auc(one, outcomes) if name != "base" else 0.5,
            brier(one, outcomes),
            1 - brier(one, outcomes) / base,
        )
        for name, one in told.items()
    ]
