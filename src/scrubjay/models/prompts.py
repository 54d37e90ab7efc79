"""What some models want to read before a text, because they were trained that way."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words that a model expects in front of a question and in front of what answers it."""

    question: str = ""
    answer: str = ""

    def before(self, text: str, *, question: bool) -> str:
        """Return the text as the model wants it. Never empty, which servers refuse."""
        return f"{self.question if question else self.answer}{text}" or " "

    @property
    def size(self) -> int:
        """Bytes of the longer one."""
        return max(len(self.question.encode()), len(self.answer.encode()))


_SEARCH = Prompt(question="Represent this sentence for searching relevant passages: ")
_PROMPTS = {
    "nomic-embed-text": Prompt(question="search_query: ", answer="search_document: "),
    "e5-": Prompt(question="query: ", answer="passage: "),
    "mxbai-embed-large": _SEARCH,
    "snowflake-arctic-embed": _SEARCH,
    "bge-small-en": _SEARCH,
    "bge-base-en": _SEARCH,
    "bge-large-en": _SEARCH,
}


def prompt_of(model: str) -> Prompt:
    """Return the prompt of a model, found by a part of its name; an empty one when none is known."""
    name = model.lower()
    return next((prompt for part, prompt in _PROMPTS.items() if part in name), Prompt())
