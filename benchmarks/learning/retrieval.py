"""Similar-task retrieval on real issues, in the order they were opened: only earlier ones can be found."""

import json
import tempfile
from collections import defaultdict
from pathlib import Path

from scrubjay.settings import read_settings
from scrubjay.wiring import wire

MODES = ("keyword", "semantic", "hybrid")
TOP = 10


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def measured(folder: Path) -> list[tuple[str, float, float, float]]:
    """For each mode: recall at 5 and 10, and the mean reciprocal rank of the first that shares a file."""
    corpus, queries = read(folder / "recall/past_tasks/corpus.jsonl"), read(folder / "recall/past_tasks/queries.jsonl")
    waiting = defaultdict(list)
    for row in sorted(corpus, key=lambda row: row["position"]):
        waiting[row["group"]].append(row)
    scores: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as home:
        async with wire(read_settings(home=Path(home), embedder="minilm", background=False)) as jay:
            for query in sorted(queries, key=lambda query: (query["group"], query["before"])):
                group = waiting[query["group"]]
                told = [row for row in group if row["position"] < query["before"]]
                waiting[query["group"]] = group[len(told) :]
                await jay.tasks.store_many([_execution(row) for row in told], project=query["group"])
                for mode in MODES:
                    least = None if mode == "keyword" else 0.0
                    found = await jay.tasks.search_similar(
                        query["text"], top_k=TOP + 5, similarity_threshold=least, mode=mode, project=query["group"]
                    )
                    left = [one.task_id for one in found if one.task_id not in query["exclude"]][:TOP]
                    scores[mode].append(_score(left, set(query["relevant"])))
    return [(mode, *(sum(column) / len(column) for column in zip(*scores[mode], strict=True))) for mode in MODES]


def _execution(row: dict) -> dict:
    return {
        "task_id": row["id"],
        "task_description": row["text"],
        "execution_summary": f"Changed {', '.join(row.get('files', [])) or 'nothing'}",
        "success": True,
        "files": row.get("files", []),
    }


def _score(found: list[str], relevant: set[str]) -> tuple[float, float, float]:
    first = next((1 / rank for rank, one in enumerate(found, 1) if one in relevant), 0.0)
    return len(relevant & set(found[:5])) / len(relevant), len(relevant & set(found)) / len(relevant), first
