"""Fit what a cosine means: from the similarity of two vectors to how alike people find the sentences, 0 to 1.

    python benchmarks/core/calibrate.py --data FOLDER

FOLDER holds pairs/stsb-train.jsonl and pairs/stsb-dev.jsonl (the STS benchmark: lines of `a`, `b`, `score`). The curve
is fitted on the first and judged on the second. Copy the numbers it prints to `_LIKENESS` of each embedder.
"""

import argparse
import asyncio
import json
from pathlib import Path

import numpy as np

from scrubjay.models import embedder_of
from scrubjay.models.calibration import Curve


def read(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row["a"] for row in rows], [row["b"] for row in rows], np.array([row["score"] for row in rows])


def judge(curve: Curve, cosines: np.ndarray, scores: np.ndarray) -> float:
    """Root mean square error."""
    return float(np.sqrt(np.mean((np.array([curve(cosine) for cosine in cosines]) - scores) ** 2)))


def fit(cosines: np.ndarray, scores: np.ndarray) -> Curve:
    """Search a grid, then ever finer ones around the best. Two parameters need no more."""
    best, reach = Curve(steepness=6.0, middle=0.5), 4.0
    for _ in range(12):
        candidates = [
            Curve(steepness=steepness, middle=middle)
            for steepness in np.linspace(max(0.5, best.steepness - reach), best.steepness + reach, 7)
            for middle in np.linspace(best.middle - reach / 10, best.middle + reach / 10, 7)
        ]
        best = min([best, *candidates], key=lambda curve: judge(curve, cosines, scores))
        reach /= 1.8
    return Curve(steepness=round(float(best.steepness), 2), middle=round(float(best.middle), 3))


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.corrcoef(np.argsort(np.argsort(left)), np.argsort(np.argsort(right)))[0, 1])


async def measure(spec: str, folder: Path) -> None:
    embedder = embedder_of(spec, url="", key="", threads=0)
    assert embedder is not None
    found = {}
    for name in ("train", "dev"):
        first, second, scores = read(folder / "pairs" / f"stsb-{name}.jsonl")
        vectors = await embedder.embed([*first, *second])
        found[name] = ((vectors[: len(first)] * vectors[len(first) :]).sum(axis=1), scores)
    curve = fit(*found["train"])
    cosines, scores = found["dev"]
    plain = float(np.sqrt(np.mean((np.clip(cosines, 0, 1) - scores) ** 2)))
    print(
        f"{spec:8} Curve(steepness={curve.steepness}, middle={curve.middle})  on dev: Spearman "
        f"{spearman(cosines, scores):.3f}, error {plain:.3f} with the plain cosine and "
        f"{judge(curve, cosines, scores):.3f} calibrated; "
        f"0.5 stands for a cosine of {cosine_at(curve, 0.5):.2f}, 0.8 for {cosine_at(curve, 0.8):.2f}"
    )


def cosine_at(curve: Curve, likeness: float) -> float:
    return float(min(np.linspace(-1, 1, 2001), key=lambda cosine: abs(curve(cosine) - likeness)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the curves that turn cosines into likeness.")
    parser.add_argument("--data", type=Path, required=True, help="the folder with pairs/stsb-*.jsonl")
    given = parser.parse_args()
    for spec in ("minilm", "static"):
        asyncio.run(measure(spec, given.data))


if __name__ == "__main__":
    main()
