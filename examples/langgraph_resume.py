"""A LangGraph graph that is stopped, and resumed by a memory that is opened anew; its nodes remember in a store.

    draft → approve (asks somebody, and waits) → send

Needs: pip install 'scrubjay[langgraph]'. Run it: python examples/langgraph_resume.py
"""

import tempfile
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt

import scrubjay
from scrubjay import SyncScrubjay
from scrubjay.adapters.langgraph import ScrubjaySaver, ScrubjayStore

THREAD: RunnableConfig = {"configurable": {"thread_id": "letter-1"}}


class Letter(TypedDict):
    """What the nodes hand on."""

    to: str
    text: str
    log: Annotated[list[str], lambda before, new: [*before, *new]]


def draft(letter: Letter, *, store: BaseStore) -> dict[str, object]:
    known = store.search(("people",), query=letter["to"], limit=1)
    return {"text": f"Dear {letter['to']}, {known[0].value['text']}.", "log": ["drafted"]}


def approve(letter: Letter) -> dict[str, object]:
    answer = interrupt(f"Send it? {letter['text']}")
    return {"log": [f"somebody said {answer}"]}


def send(letter: Letter, *, store: BaseStore) -> dict[str, object]:
    store.put(("sent",), letter["to"], {"text": letter["text"]})
    return {"log": ["sent"]}


def graph_on(jay: SyncScrubjay):  # noqa: ANN201 -- LangGraph's own class, with five parameters
    builder = StateGraph(Letter)
    for node in (draft, approve, send):
        builder.add_node(node.__name__, node)
    for one, next_one in ((START, "draft"), ("draft", "approve"), ("approve", "send"), ("send", END)):
        builder.add_edge(one, next_one)
    return builder.compile(checkpointer=ScrubjaySaver(jay), store=ScrubjayStore(jay, fields=["text"]))


with tempfile.TemporaryDirectory() as home:
    with scrubjay.open(home, embedder="none") as jay:
        ScrubjayStore(jay, fields=["text"]).put(("people",), "Ada", {"text": "your hive in Lisbon is well"})
        stopped = graph_on(jay).invoke({"to": "Ada", "text": "", "log": []}, THREAD)
        print(stopped["__interrupt__"][0].value)

    print("--- the process ended; another one goes on")
    with scrubjay.open(home, embedder="none") as jay:
        graph = graph_on(jay)
        print("waits before:", *graph.get_state(THREAD).next)
        print("log:", ", ".join(graph.invoke(Command(resume="yes"), THREAD)["log"]))
        print("steps on record:", len(list(graph.get_state_history(THREAD))))
        print("in the store:", graph.store.get(("sent",), "Ada").value["text"])
        print("recalled:", jay.recall("hive in Lisbon", limit=1)[0].memory.kind)
