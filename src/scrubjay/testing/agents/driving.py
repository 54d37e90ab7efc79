"""Driving an agent through whole cycles, for the suites that look at what it left."""

from typing import Any, TypeAlias

Jay: TypeAlias = Any
"""An open Scrubjay. This room does not know the service."""

HOME: dict[str, Any] = {"user": "ada", "project": "shop"}


async def an_agent(jay: Jay, name: str = "builder", **told: Any) -> Any:  # noqa: ANN401 -- the keywords of `create`
    """An agent that is ready to act."""
    return await jay.agents.create(name, **{"directives": "Build the shop", **HOME, **told})


async def a_cycle(jay: Jay, number: int, name: str = "builder") -> Any:  # noqa: ANN401 -- what `end_cycle` returns
    """One whole cycle of it, which writes one file and reflects on that."""
    agents = jay.agents
    await agents.begin_cycle(name, goal=f"Write page {number}", **HOME)
    await agents.propose(name, "write", arguments={"path": f"page-{number}.md"}, reasoning="It is missing", **HOME)
    await agents.result(name, output={"bytes": number}, artifacts=[f"page-{number}.md"], **HOME)
    await agents.record_memory(name, "reflection", f"Page {number} is written", namespaces=["long-term"], **HOME)
    return await agents.end_cycle(name, state={"pages": number}, summary=f"Page {number} done", **HOME)


async def told_of(jay: Jay, name: str = "builder") -> list[tuple[str, int | None, int | None]]:
    """What a replay tells, in short."""
    return [(one.what, one.cycle, one.step) async for one in jay.agents.replay(name, **HOME)]
