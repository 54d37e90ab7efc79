"""An agent of the OpenAI Agents SDK whose conversation goes on after a restart, and is remembered.

The model is scripted, so that this runs anywhere: it counts what it is shown. Leave `model=` out, and it is OpenAI's.
Needs: pip install 'scrubjay[openai-agents]'. Run it: python examples/openai_agents_chat.py
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import scrubjay
from scrubjay.adapters.openai_agents import ScrubjaySession


@function_tool
def weight(hive: str) -> str:
    """How heavy a hive is."""
    return f"The {hive} hive weighs 31 kg"


class Scripted(Model):
    """Stands in for a language model: asks its tool about weights, and repeats what that says."""

    async def get_response(self, *, input: Any, **_: Any) -> ModelResponse:  # noqa: ANN401 -- the SDK's signature
        last = input[-1]
        if "weigh" in str(last.get("content", "")):
            call = ResponseFunctionToolCall(
                call_id="call_1", name="weight", arguments='{"hive": "Lisbon"}', type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = last.get("output") or f"You and I have said {len(input)} things."
        said = ResponseOutputText(text=text, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="msg_1", content=[said], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, **_: Any) -> AsyncIterator[Any]:  # noqa: ANN401 -- the SDK's signature
        raise NotImplementedError


async def say(jay: scrubjay.SyncScrubjay, text: str) -> None:
    agent = Agent(name="Jay", model=Scripted(), tools=[weight])
    session = ScrubjaySession("bees", jay, user="ada")
    result = await Runner.run(agent, text, session=session, run_config=RunConfig(tracing_disabled=True))
    print(f"Ada: {text}\nJay: {result.final_output}")


with tempfile.TemporaryDirectory() as home:
    for day, texts in {"monday": ["My hive stands in Lisbon.", "What does it weigh?"], "tuesday": ["And now?"]}.items():
        print(f"--- {day}")
        # Opened anew each day: what was said is on disk, and nowhere else.
        with scrubjay.open(home, embedder="none") as jay:
            for text in texts:
                asyncio.run(say(jay, text))
    with scrubjay.open(home, embedder="none") as jay:
        for hit in jay.recall("hive Lisbon", user="ada", limit=2):
            print(f"remembered: {hit.memory.data['role']}: {hit.memory.content}")
