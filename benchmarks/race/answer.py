"""One side's answers to the same questions on the same store, to be held against those of the other side.

    python answer.py STORE EMBEDDER VECTORS ORDERS ANSWERS

ORDERS is a file of JSON: what to `tell` first, if anything, what to `ask`, and the moment it is `now`, since the age of
a memory counts. VECTORS is a file in which the vectors of what is told are kept for another time. The answers go to the
file ANSWERS. Uses are not counted, so that asking changes nothing.
"""

import asyncio
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recall"))
from kept import Kept
from settled import settle

from scrubjay.models import Cached, embedder_of
from scrubjay.settings import read_settings
from scrubjay.wiring import memory

BATCH = 1_000
WARM = 8


async def answered(store: Path, embedder: Cached, orders: dict[str, Any]) -> list[dict[str, Any]]:
    """Tell what is to be told, then ask, each question in its own way."""
    if now := orders["now"]:
        moment = datetime.fromisoformat(now)
        memory.utc_now = lambda: moment
    settings = read_settings(home=store, background=False)
    async with memory.wire(settings, embedder=embedder) as jay:
        if now and jay.parts.clock() != moment:
            sys.exit("the clock of this version is not scrubjay.wiring.memory.utc_now, and cannot be stopped")
        for start in range(0, len(orders["tell"]), BATCH):
            await jay.remember_many([revived(one) for one in orders["tell"][start : start + BATCH]])
        await settle(jay, [one["query"] for one in orders["ask"][:WARM]])
        return [shown(await jay.recall(**one, explain=True, touch=False)) for one in orders["ask"]]


def revived(told: dict[str, Any]) -> dict[str, Any]:
    """What is told, with its id and its moment as they were before they became JSON."""
    moment = told.get("valid_from")
    return {**told, "id": UUID(told["id"]), "valid_from": moment and datetime.fromisoformat(moment)}


def shown(hits: Any) -> dict[str, Any]:
    """All that an answer says, but for how long it took."""
    each = [
        {
            "id": str(hit.memory.id),
            "score": hit.score,
            "similarity": hit.similarity,
            "why": hit.why,
            "passage": hit.passage,
            "signals": dict(hit.signals),
        }
        for hit in hits
    ]
    return {"hits": each, "confidence": hits.confidence, "degraded": list(hits.degraded)}


def main() -> None:
    store, embedder, vectors, orders, answers = sys.argv[1:]
    # Each question is asked in several ways.
    model = Cached(Kept(embedder_of(embedder), Path(vectors)))
    found = asyncio.run(answered(Path(store), model, json.loads(Path(orders).read_text("utf-8"))))
    Path(answers).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
