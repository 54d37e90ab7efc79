"""What storing, mining and learning on costs, without an embedding model."""

import random
import resource
import tempfile
import time
from pathlib import Path

from generated import executions, planted

from scrubjay.settings import read_settings
from scrubjay.wiring import wire

FAMILIES = 20


async def measured(many: int) -> list[tuple[str, str]]:
    """Rows of the table."""
    chance = random.Random(0)
    told = [one for _, one in executions(chance, many + 50, FAMILIES, planted(chance, FAMILIES))]
    table = []
    with tempfile.TemporaryDirectory() as home:
        async with wire(read_settings(home=Path(home), embedder="none", background=False)) as jay:
            started = time.perf_counter()
            await jay.tasks.store_many(told[:many], project="shop")
            table.append((f"store {many:,} executions", f"{time.perf_counter() - started:.1f} s"))
            started = time.perf_counter()
            changed = await jay.patterns.learn(project="shop")
            learned = time.perf_counter() - started
            table.append((f"read and mine all of them: {len(changed)} patterns", f"{learned:.1f} s"))
            stored, updates = [], []
            for one in told[many:]:
                started = time.perf_counter()
                await jay.tasks.store_many([one], project="shop")
                stored.append(time.perf_counter() - started)
                started = time.perf_counter()
                await jay.patterns.learn(project="shop", quick=True)
                updates.append(time.perf_counter() - started)
            table.append(("store one more, median", f"{1_000 * sorted(stored)[25]:.1f} ms"))
            table.append(("learn from one more, median of 50", f"{1_000 * sorted(updates)[25]:.1f} ms"))
            table.append(("learn from one more, slowest of 50", f"{1_000 * max(updates):.0f} ms"))
            for name, work in (
                ("recommend, median of 20", lambda: jay.patterns.recommend(told[0].task_description, project="shop")),
                ("predict, the first time", None),
                ("predict, median of 20", lambda: jay.patterns.predict(told[0].task_description, project="shop")),
            ):
                if work is None:
                    started = time.perf_counter()
                    await jay.patterns.predict(told[0].task_description, tools=["read"], project="shop")
                    table.append((name, f"{time.perf_counter() - started:.1f} s"))
                    continue
                taken = []
                for _ in range(20):
                    started = time.perf_counter()
                    await work()
                    taken.append(time.perf_counter() - started)
                table.append((name, f"{1_000 * sorted(taken)[10]:.1f} ms"))
    table.append(
        ("memory of the process at its most", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000:.0f} MB")
    )
    return table
