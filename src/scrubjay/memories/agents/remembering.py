"""Remembering: what an agent makes of what it did, and finding that again when it acts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Unpack, cast
from uuid import UUID

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.memories.agents.resuming import Resuming
from scrubjay.memories.agents.room import Named, elsewhere_in
from scrubjay.model import Context, Filter, Json, Query, Remembered, Scope, Trust
from scrubjay.model.agents import RECORD_KINDS, Cycle, RecordKind, cycle_key
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.context import DEFAULT_BUDGET, MOST_BUDGET
from scrubjay.model.namespaces import belonging, check_namespaces, membership
from scrubjay.model.scope import OfAgent
from scrubjay.read.assemble import assemble
from scrubjay.read.recall import rank
from scrubjay.read.rerank import Ranked
from scrubjay.write.prepare import Telling

MOST_RECENT: Final = 100
_TRUST: Final = {"observation": Trust.OBSERVED, "result": Trust.OBSERVED}


class RecordTold(OfAgent, total=False):
    """What may be told of a record beside its kind and content."""

    namespaces: Sequence[str]
    """Where it is to be found, such as `short-term` and `long-term`."""
    cycle: int
    """The cycle it belongs to: the open one, or else the last one, unless you say so."""
    data: Mapping[str, Json] | None
    importance: float
    id: UUID | str | None
    """Your own id for it: recording it again with the same id is one memory."""


class Remembering(Resuming):
    """What agents record, and recall."""

    async def record_memory(
        self, agent: Named, kind: RecordKind, content: str, **told: Unpack[RecordTold]
    ) -> Remembered:
        """Record an observation, a reflection, a plan or a result of one's own, linked to its cycle.

        It is a memory like any other: embedded, found by every recall in its scope, and in the namespaces named also
        by `recall` for these. Raises Conflict when the agent has had no cycle yet.
        """
        scope = self._place(agent, elsewhere_in(told, RecordTold))
        if kind not in RECORD_KINDS:
            raise InvalidInput(f"kind is {shown(kind)}: use one of {', '.join(RECORD_KINDS)}")
        names = check_namespaces(told.get("namespaces") or ())
        data = told.get("data") or {}
        if not isinstance(data, Mapping):
            raise InvalidInput(f"data is {shown(data)}: use a dict of JSON values")
        await self._agent(scope)
        cycle = await self._cycle_of_record(scope, told.get("cycle"))
        telling: dict[str, Any] = {
            "kind": kind,
            "content": content,
            "data": {**data, **membership(names), "cycle": cycle.index},
            "source": cycle_key(cycle.index),
            "trust": _TRUST.get(kind, Trust.CONCLUDED),
            **{name: told[name] for name in ("importance", "id") if name in told},
        }
        [done] = await self._core.parts.writer.remember([cast("Telling", telling)], scope)
        return done

    async def _cycle_of_record(self, scope: Scope, index: int | None) -> Cycle:
        if index is not None:
            return await self._cycle(scope, index)
        row = await self._newest(scope)
        if row is None:
            raise Conflict(f"agent {scope.agent} has had no cycle yet: begin one, a record belongs to a cycle")
        return Cycle.of(row)

    async def recall(
        self,
        agent: Named,
        query: str,
        *,
        namespaces: Sequence[str] = (),
        budget: int = DEFAULT_BUDGET,
        limit: int = 20,
        recent: int = 5,
        **elsewhere: Unpack[OfAgent],
    ) -> Context:
        """Assemble what the agent recorded that fits, and its most recent results, in at most `budget` tokens.

        What fits is found by meaning and by words, in any of the namespaces if some are named; the records have the
        last word on what still holds. `recent` is how many of its newest results are offered, whatever is asked.
        """
        scope = self._place(agent, elsewhere)
        names = check_namespaces(namespaces)
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        check_whole("recent", recent, least=0, most=MOST_RECENT)
        await self._agent(scope)
        parts = self._core.parts
        inside = Filter(scope=scope, reach="holds", kinds=RECORD_KINDS)
        filters = [replace(inside, data=belonging(name)) for name in names] or [inside]
        found: dict[UUID, Ranked] = {}
        degraded: dict[str, None] = {}
        for one in filters:
            asked = Query(text=query, filter=one, limit=limit)
            ranked, missing = await rank(
                asked, stores=parts.stores, serving=parts.serving, now=parts.clock(), rereading=parts.rereading
            )
            degraded |= dict.fromkeys(missing)
            for hit in ranked:
                # A narrower place is another agent of the same name.
                if hit.memory.scope == scope and hit.score > getattr(found.get(hit.memory.id), "score", -1.0):
                    found[hit.memory.id] = hit
        best = sorted(found.values(), key=lambda hit: -hit.score)[:limit]
        context = assemble(
            ranked=best,
            recent=await self._newest_results(scope, recent),
            budget=budget,
            tokens=parts.tokens(),
            degraded=tuple(degraded),
        )
        parts.uses.count(scope, [item.memory.id for item in context.items])
        return context
