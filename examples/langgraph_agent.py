"""A LangGraph agent whose nodes recall before acting and remember after, on three days with one developer.

    recall → act → remember

The model is scripted, so that this runs anywhere: it answers from what it is shown, as a language model would. Put
yours in its place, such as `ChatOpenAI()`: it gets the same messages. Needs: pip install langgraph. Run it:
python examples/langgraph_agent.py
"""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

import scrubjay
from scrubjay import Scrubjay

WHO = {"user": "ada", "project": "shop"}
ROLES = {"human": "user", "ai": "assistant"}

DAYS = {
    "monday": [
        "I prefer short answers, with the command first.",
        "From now on always name the ticket in the commit message.",
        "The staging database is called heron and runs on port 5544.",
    ],
    "tuesday": ["How do I connect to the staging database?"],
    "friday": ["What belongs into a commit message?"],
}


class Turn(TypedDict):
    """What the nodes hand on."""

    messages: Annotated[list[AnyMessage], add_messages]
    session: str
    known: str


class Scripted(BaseChatModel):
    """Stands in for a language model: repeats the line of its instructions that shares most with the question."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        said, asked = str(messages[0].content), str(messages[-1].content)
        words = {word for word in re.findall(r"\w+", asked.lower()) if len(word) > 4}
        lines = [line.strip(" -") for line in said.splitlines() if line.strip().startswith(("-", "user:"))]
        fitting = max(lines, key=lambda line: len(words & set(re.findall(r"\w+", line.lower()))), default="")
        known = bool(words & set(re.findall(r"\w+", fitting.lower())))
        answer = f"You told me: {fitting.removeprefix('user: ')}" if "?" in asked and known else "Noted."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=answer))])


def agent(jay: Scrubjay, model: BaseChatModel) -> CompiledStateGraph[Turn]:
    """The graph. It keeps no state of its own between two turns: memory does."""

    async def recall(turn: Turn) -> dict[str, Any]:
        context = await jay.context(str(turn["messages"][-1].content), budget=400, session=turn["session"], **WHO)
        return {"known": context.text}

    async def act(turn: Turn) -> dict[str, Any]:
        instructions = SystemMessage(f"You help a developer. What you know:\n{turn['known']}")
        return {"messages": [await model.ainvoke([instructions, *turn["messages"]])]}

    async def remember(turn: Turn) -> dict[str, Any]:
        # The ids are LangGraph's own: when a graph is resumed and this node runs again, each is still one message.
        said = [
            {"id": str(message.id), "role": ROLES[message.type], "content": str(message.content)}
            for message in turn["messages"][-2:]
        ]
        await jay.working.append(said, session=turn["session"], **WHO)
        return {}

    nodes: dict[str, Callable[[Turn], Awaitable[dict[str, Any]]]] = {"recall": recall, "act": act, "remember": remember}
    graph = StateGraph(Turn)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for one, next_one in zip((START, *nodes), (*nodes, END), strict=True):
        graph.add_edge(one, next_one)
    return graph.compile()


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        for session, questions in DAYS.items():
            # Opened anew each day: what was said is on disk, and nowhere else.
            async with scrubjay.open_async(home) as jay:
                print(f"--- {session}")
                graph = agent(jay, Scripted())
                for question in questions:
                    turn = await graph.ainvoke({"messages": [HumanMessage(question)], "session": session, "known": ""})
                    print(f"Ada: {question}")
                    print(f"Jay: {turn['messages'][-1].content}")
                # In production `scrubjay work` does this by itself, when a session has ended or run out of time.
                await jay.working.end(session=session, **WHO)
                done = await jay.consolidate(steps=["drain", "distill"], **WHO)
                print(f"    ({done['drain']}; {done['distill']})")


asyncio.run(main())
