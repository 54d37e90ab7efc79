"""Prediction: how likely a task is to succeed, where predicting has shown skill on the tasks before it.

Two forecasts are made. *Before* a run, the outcomes of tasks described alike, drawn to the base rate. *During* a run,
the tools and errors so far as well: a logistic regression on the traits of the trace, whose penalty keeps it near the
first forecast while little is known. Each has to prove itself first: every past task is predicted from the tasks before
it, and only a forecast that surely beat the base rate there is given at all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from scrubjay.memories.learning.ledger import are_told_of_both
from scrubjay.memories.learning.traits import Trait, telling_words, traits_of_errors, traits_of_tools
from scrubjay.memories.learning.wordspace import WIDTH, WordSpace
from scrubjay.model.patterns import Stage

MOST_PAST: Final = 1_000
"""Executions that are learned from: the newest."""

FIRST: Final = 30
"""Executions to know before the first is predicted, and to have predicted before skill is judged."""

BLOCKS: Final = 12
"""The past is predicted in so many stretches, each from all before it."""

NEIGHBOURS: Final = 5
"""Tasks described alike that are compared with: the number that `search_similar` gives."""

PENALTY: Final = 30.0
"""Of the squared weights of standardized traits. On real trajectories 10 to 100 differ by 0.02 in AUC."""

TRUST: Final = 0.5
"""What the odds by description count beside the trace, which tells some of the same."""

MOST_TRAITS: Final = 200
LEAST_SPREAD: Final = 0.2
"""A trait that varies less is not stretched to look as if it did: it is too rare to know."""

SURE: Final = 1.645
"""Standard errors by which a forecast has to beat the base rate."""

_ROUNDS: Final = 25


class Past(NamedTuple):
    """One execution, as far as prediction needs it."""

    id: UUID
    task: str
    description: str
    tools: tuple[str, ...]
    errors: tuple[str, ...]
    model: str | None
    success: bool


@dataclass(frozen=True, slots=True)
class Skill:
    """How well the past was predicted from what came before it."""

    evaluated: int
    brier: float
    base_brier: float
    is_shown: bool
    """Whether the forecast surely beat the base rate."""

    @property
    def score(self) -> float:
        """The part of the base rate's Brier score that the forecast takes away."""
        return 1 - self.brier / self.base_brier if self.base_brier > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a forecast says, and how good such forecasts were."""

    probability: float
    base_rate: float
    stage: Stage
    skill: Skill
    similar: tuple[UUID, ...]


class Forecaster:
    """Learned from past executions, in the order they ended. Changes no more; a longer past makes a new one."""

    def __init__(self, past: Sequence[Past]) -> None:
        self._past = list(past)[-MOST_PAST:]
        self._errors_tell = _errors_tell(self._past)
        if not self._errors_tell:
            self._past = [one._replace(errors=()) for one in self._past]
        self._outcomes = np.array([one.success for one in self._past], np.float64)
        self._space = WordSpace()
        self._vectors = np.zeros((len(self._past), WIDTH), np.float32)
        for row, one in enumerate(self._past):
            words = telling_words(one.description)
            self._space.learn(words)
            columns, values = self._space.vector(words)
            self._vectors[row, columns] = values
        self._bases = (np.concatenate([[0.0], np.cumsum(self._outcomes)]) + 1) / (np.arange(len(self._past) + 1) + 2)
        likeness = self._vectors @ self._vectors.T
        rates = [self._by_description(likeness[row, :row])[0] for row in range(len(self._past))]
        self._rates = np.array(rates)
        self._skills: dict[Stage, Skill] = {}
        self._model: Regression | None = None

    def __len__(self) -> int:
        return len(self._past)

    @property
    def rate(self) -> float | None:
        """The share of the past that succeeded; None when there is none."""
        return float(self._outcomes.mean()) if self._past else None

    def rolling(self, stage: Stage) -> NDArray[np.float64]:
        """What would have been predicted for each past execution from those before it; the first ones are left out."""
        if stage == "before":
            return self._rates[FIRST:]
        told: list[NDArray[np.float64]] = []
        step = max(5, -(-(len(self._past) - FIRST) // BLOCKS))
        for start in range(FIRST, len(self._past), step):
            stop = min(start + step, len(self._past))
            model = self._fitted(start)
            rows = [_trace_traits(one.tools, one.errors, one.model) for one in self._past[start:stop]]
            told.append(model.predict(rows, self._offsets(start, stop)))
        return np.concatenate(told) if told else np.zeros(0)

    def skill(self, stage: Stage) -> Skill | None:
        """How good the forecasts of a stage were; None when too little was predicted to say."""
        if len(self._past) < 2 * FIRST:
            return None
        if stage not in self._skills:
            outcomes, base = self._outcomes[FIRST:], self._bases[FIRST:-1]
            errors, base_errors = (self.rolling(stage) - outcomes) ** 2, (base - outcomes) ** 2
            surely = _surely_better(base_errors - errors, [one.task for one in self._past[FIRST:]])
            self._skills[stage] = Skill(len(outcomes), float(np.mean(errors)), float(np.mean(base_errors)), surely)
        return self._skills[stage]

    def forecast(
        self, description: str, *, tools: Sequence[str] = (), errors: Sequence[str] = (), model: str | None = None
    ) -> Forecast | None:
        """The best forecast that has shown skill: by the trace when there is one, or by the description; or None."""
        is_begun = tools or (errors and self._errors_tell)
        stages: tuple[Stage, ...] = ("during", "before") if is_begun else ("before",)
        for stage in stages:
            skill = self.skill(stage)
            if skill is not None and skill.is_shown:
                chance, similar = self.chance(stage, description, tools=tools, errors=errors, model=model)
                return Forecast(chance, float(self._outcomes.mean()), stage, skill, similar)
        return None

    def chance(
        self,
        stage: Stage,
        description: str,
        *,
        tools: Sequence[str] = (),
        errors: Sequence[str] = (),
        model: str | None = None,
    ) -> tuple[float, tuple[UUID, ...]]:
        """What a stage predicts, whether it has shown skill or not, and the tasks described most alike."""
        columns, values = self._space.vector(telling_words(description))
        rate, similar = self._by_description(self._vectors[:, columns] @ values)
        ids = tuple(self._past[place].id for place in similar)
        if stage == "before":
            return rate, ids
        self._model = self._model or self._fitted(len(self._past))
        offset = np.array([TRUST * (_odds(rate) - _odds(float(self._bases[-1])))])
        row = _trace_traits(tools, errors if self._errors_tell else (), model)
        return float(self._model.predict([row], offset)[0]), ids

    def _by_description(self, likeness: NDArray[np.float32]) -> tuple[float, NDArray[np.intp]]:
        """The success rate of the tasks described most alike, by likeness and drawn to the base rate; and which."""
        base = float(self._bases[len(likeness)])
        nearest = np.argsort(-likeness, kind="stable")[:NEIGHBOURS]
        weights = np.maximum(likeness[nearest], 0.0)
        rate = (float(weights @ self._outcomes[nearest]) + base) / (float(weights.sum()) + 1)
        return rate, nearest

    def _offsets(self, start: int, stop: int) -> NDArray[np.float64]:
        rates, bases = self._rates[start:stop], self._bases[start:stop]
        offsets: NDArray[np.float64] = TRUST * (np.log(rates / (1 - rates)) - np.log(bases / (1 - bases)))
        return offsets

    def _fitted(self, many: int) -> "Regression":
        """The regression on the first so many: on each trace as a whole and on its first half, each for a half."""
        past = self._past[:many]
        rows = [_trace_traits(one.tools, one.errors, one.model) for one in past]
        rows += [_trace_traits(one.tools[: -(-len(one.tools) // 2)], (), one.model) for one in past]
        return Regression(rows, np.tile(self._outcomes[:many], 2), np.tile(self._offsets(0, many), 2))


class Regression:
    """A logistic regression with a penalty on traits, each standardized; fitted by Newton's method."""

    def __init__(
        self, rows: Sequence[dict[Trait, float]], outcomes: NDArray[np.float64], offsets: NDArray[np.float64]
    ) -> None:
        # Each execution stands here twice, so three are six.
        having = Counter(trait for row in rows for trait in row)
        common = [trait for trait, many in sorted(having.items(), key=lambda one: (-one[1], one[0])) if many >= 3]
        self._places = {trait: place for place, trait in enumerate(common[:MOST_TRAITS])}
        matrix = self._matrix(rows)
        self._middle = matrix.mean(axis=0)
        self._spread = np.maximum(matrix.std(axis=0), LEAST_SPREAD)
        design = self._standardized(matrix)
        penalty = np.full(design.shape[1], PENALTY)
        penalty[0] = 1e-6
        self._weights = np.zeros(design.shape[1])
        for _ in range(_ROUNDS):
            chance = _chances(design @ self._weights + offsets)
            slope = design.T @ (chance - outcomes) / 2 + penalty * self._weights
            curve = (design * (chance * (1 - chance) / 2)[:, None]).T @ design + np.diag(penalty)
            step = np.linalg.solve(curve, slope)
            self._weights -= step
            if np.abs(step).max() < 1e-6:
                break

    def predict(self, rows: Sequence[dict[Trait, float]], offsets: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of success for each row."""
        return _chances(self._standardized(self._matrix(rows)) @ self._weights + offsets)

    def _matrix(self, rows: Sequence[dict[Trait, float]]) -> NDArray[np.float64]:
        matrix = np.zeros((len(rows), len(self._places)))
        for number, row in enumerate(rows):
            for trait, value in row.items():
                if (place := self._places.get(trait)) is not None:
                    matrix[number, place] = value
        return matrix

    def _standardized(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([np.ones(len(matrix)), (matrix - self._middle) / self._spread])


def _trace_traits(tools: Sequence[str], errors: Sequence[str], model: str | None) -> dict[Trait, float]:
    """What a trace shows: its tools, which again and which after which, the last, its errors, and how long it is."""
    row = {trait: 1.0 for trait in traits_of_tools(tools) if trait.kind != "order"}
    row |= dict.fromkeys(traits_of_errors(errors), 1.0)
    # Not traits that a pattern could name, so they are told apart by the number of names.
    row[Trait("tool", ())] = log(1 + len(tools))
    row[Trait("error", ())] = float(min(len(errors), 3))
    if tools:
        row[Trait("next", (tools[-1],))] = 1.0
    if model is not None:
        row[Trait("model", (model,))] = 1.0
    return row


def _errors_tell(past: Sequence[Past]) -> bool:
    """Whether errors were recorded whatever the outcome. If not, they say how a run ended, and not how it will end."""
    ended = Counter((one.success, bool(one.errors)) for one in past)
    with_error, without = ended[True, True], ended[False, False]
    return are_told_of_both(with_error + ended[True, False], with_error, without + ended[False, True], without)


def _surely_better(gains: NDArray[np.float64], tasks: Sequence[str]) -> bool:
    """Whether the mean gain is surely above zero. Attempts at one task are one observation: they tend to end alike."""
    places = {task: place for place, task in enumerate(dict.fromkeys(tasks))}
    groups = np.array([places[task] for task in tasks])
    centred = np.bincount(groups, gains - gains.mean(), len(places))
    many = len(places)
    if many < 2:
        return False
    error = sqrt(float(centred @ centred) * many / (many - 1)) / len(gains)
    return bool(gains.mean() > SURE * error)


def _chances(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(odds, -30, 30)))


def _odds(rate: float) -> float:
    return log(rate / (1 - rate))
