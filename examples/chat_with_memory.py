"""A chat that recalls before it answers and remembers after. The answers are scripted, so no LLM is needed.

Put a call to your model where `reply` is: the context goes into its prompt. Run it: python examples/chat_with_memory.py
"""

import tempfile
from collections.abc import Iterator

import scrubjay
from scrubjay import SyncScrubjay

MONDAY = [
    "Hi, I am Ada. I keep bees on the roof.",
    "Please answer in short sentences.",
    "My hive has 40,000 bees and stands in Lisbon.",
]
FRIDAY = [
    "Where is my hive again?",
    "How should you answer me?",
]


def reply(message: str, context: str) -> str:
    """Stands in for a model: it repeats the line of the context that shares most words with the message."""
    asked = set(message.lower().strip("?.").split())
    lines = [line[2:] for line in context.splitlines() if line.startswith("- ") and "assistant:" not in line]
    known = max(lines, key=lambda line: len(asked & set(line.lower().split())), default="")
    return f"You told me: {known}" if "?" in message and known else "Noted."


def chat(jay: SyncScrubjay, messages: list[str], *, user: str, session: str) -> Iterator[tuple[str, str]]:
    for message in messages:
        context = jay.context(message, user=user, budget=300)
        answer = reply(message, context.text)
        # The order is kept by the session; the role lets a question find what people said before what was answered.
        jay.remember(message, user=user, session=session, kind="message", data={"role": "user"})
        jay.remember(answer, user=user, session=session, kind="message", data={"role": "assistant"})
        if message.startswith("Please"):
            jay.remember(message, user=user, kind="instruction")
        yield message, answer


with tempfile.TemporaryDirectory() as home:
    for session, messages in (("monday", MONDAY), ("friday", FRIDAY)):
        # Closed and opened again in between: what was said on Monday is on disk.
        with scrubjay.open(home) as jay:
            print(f"--- {session}")
            for message, answer in chat(jay, messages, user="ada", session=session):
                print(f"Ada: {message}")
                print(f"Jay: {answer}")
