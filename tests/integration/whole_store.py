"""An installation with everything in it, and what has to be the same wherever it is carried."""

import asyncio
from datetime import timedelta

from scrubjay.testing import NOW, ToyEmbedder

TENANTS = ("default", "other")
QUESTIONS = ("lives", "a better log", "turn", "summary")


class CountingEmbedder(ToyEmbedder):
    """Counts the texts that it embeds for keeping; questions are free."""

    def __init__(self, **options):
        super().__init__(**options)
        self.kept = 0

    async def embed(self, texts, *, question=False):
        self.kept += 0 if question else len(texts)
        return await super().embed(texts, question=question)


async def filled(setup, *, more=0):
    """Two tenants with every field in use, versions, positions, uses, lineage, and two generations of vectors."""
    for tenant in TENANTS:
        jay = await setup.open(tenant=tenant)
        clock = setup.clock
        log = await jay.remember(f"A log of {tenant} with ünïcode, 🐦 and\nlines", user="anna", trust="observed")
        await jay.remember("A summary", derived_from=[log.id], user="anna", importance=0.123456789)
        for place, city in enumerate(("Bonn", "Rome", "Oslo")):
            clock.advance(timedelta(days=1, microseconds=place))
            await jay.remember(f"Lives in {city}", key="city", user="anna", data={"n": 1e22, "deep": {"x": [1, None]}})
        for turn in range(3):
            await jay.remember(f"turn {turn}", kind="message", author="anna", user="anna", session="s", workflow="w")
        gone = await jay.remember("A rumour", expires_at=NOW + timedelta(days=90), agent="a", project="p")
        await jay.forget(gone.id, reason="not true")
        await jay.update(log.id, content="A better log. " * 200, user="anna")
        purged = await jay.remember("Never say this")
        await jay.forget(purged.id, purge=True)
        if more:
            await jay.remember_many([f"The moon and the tide, {tenant} {number}" for number in range(more)])
        await jay.recall("lives")
        await jay.close()
    jay = await setup.open(embedder=ToyEmbedder(version="2"), models=[ToyEmbedder()])
    await jay.reindex()
    await jay.remember("Indexed with the new model only", user="anna")
    await jay.close()
    jay = await setup.open(words_only=True)
    await jay.remember("Waits to be indexed", user="anna")
    await jay.close()


async def told_by(setup):
    """What must not change: exports of every tenant, recalls, generations and statistics."""
    seen = {}
    model = CountingEmbedder(version="2")
    for tenant in TENANTS:
        jay = await setup.open(embedder=model, models=[ToyEmbedder()], tenant=tenant)
        seen[tenant, "export"] = [line async for line in jay.export()]
        for question in QUESTIONS:
            for mode in ("words", "meaning", "hybrid"):
                hits = await jay.recall(question, mode=mode, touch=False)
                by_score = sorted((-round(hit.score, 4), str(hit.memory.id)) for hit in hits)
                seen[tenant, question, mode] = sorted(one for _, one in by_score) if mode == "words" else by_score
        stats = await jay.stats()
        seen[tenant, "stats"] = (stats.memories, stats.versions, stats.vectors, stats.pending, stats.generations)
        seen[tenant, "faults"] = [fault for fault in await jay.check() if "wait" not in fault]
        await jay.close()
    assert model.kept == 0
    return seen


async def blocking(function, *args, **options):
    """Call what runs an event loop of its own."""
    return await asyncio.to_thread(function, *args, **options)
