"""An installation with everything in it, and what has to be the same wherever it is carried."""

import asyncio
import random
from datetime import timedelta

from scrubjay.model import Scope
from scrubjay.ports import Blob
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
    """Two tenants with every field in use: versions, positions, uses, lineage, two generations, files and sessions."""
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
        await _with_files(jay, Scope(tenant=tenant), log.id, gone.id)
        await _with_sessions(jay)
        await jay.close()
    jay = await setup.open(embedder=ToyEmbedder(version="2"), models=[ToyEmbedder()])
    await jay.reindex()
    await jay.remember("Indexed with the new model only", user="anna")
    await jay.close()
    jay = await setup.open(words_only=True)
    await jay.remember("Waits to be indexed", user="anna")
    await jay.close()


async def _with_files(jay, scope, *owners):
    """One that two memories hold, an empty one, one that does not compress, and one in several versions."""
    blobs = jay.parts.stores.blobs
    shared = Blob(b"shared " * 100)
    await blobs.keep(scope, owners[0], [shared, Blob(b""), Blob(random.Random(7).randbytes(20_000))])
    await blobs.hold(scope, owners[1], [shared.hash])
    lines = [f"line {place} of {scope.tenant}\n" for place in range(300)]
    base = None
    for version in range(6):
        lines[version * 11] = f"changed {version}\n"
        blob = Blob("".join(lines).encode(), base=base)
        await blobs.keep(scope, owners[1], [blob])
        base = blob.hash


async def _with_sessions(jay):
    """One that goes on, and one that has ended."""
    for turn in range(3):
        await jay.working.append(f"Message {turn} with ünïcode 🐦", role="user", session="live", user="anna")
    await jay.working.set("plan", {"step": 1, "of": [2, None]}, session="live", user="anna")
    await jay.working.append("Goodbye", session="over", user="anna")
    await jay.working.end(session="over", user="anna")


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
