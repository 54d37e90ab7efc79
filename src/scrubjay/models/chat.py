"""Language models behind a server: any that speaks OpenAI's protocol, and Ollama. They are asked for JSON."""

import asyncio
import importlib.util
from abc import ABC, abstractmethod
from typing import Any

from scrubjay.errors import ChatUnavailable, Misconfigured
from scrubjay.models.server import CHATTING, Server
from scrubjay.ports import Chat, Guard

SECONDS = 90.0
"""For one answer, attempts and pauses included. What takes longer is not waited for."""

_CHOICES = "openai:MODEL or ollama:MODEL, or leave it empty"


def chat_of(spec: str, *, url: str = "", key: str = "", guard: Guard | None = None) -> Chat | None:
    """Return the language model that a setting names; None for nothing. Raises Misconfigured for an unknown name."""
    provider, _, model = spec.strip().partition(":")
    match provider, model:
        case "" | "none", "":
            return None
        case "openai", str(model) if model:
            return OpenAIChat(model, url=url, key=key, guard=guard)
        case "ollama", str(model) if model:
            return OllamaChat(model, url=url, key=key, guard=guard)
    raise Misconfigured(f"SCRUBJAY_CHAT is {spec!r}: use {_CHOICES}")


class _RemoteChat(ABC):
    """What language models behind a server have in common."""

    provider: str
    path: str
    address: str
    """Where the provider's own server is."""

    def __init__(
        self,
        model: str,
        *,
        url: str = "",
        key: str = "",
        guard: Guard | None = None,
        pause: float = 0.5,
        seconds: float = SECONDS,
    ) -> None:
        self._model = model
        if importlib.util.find_spec("httpx") is None:
            raise Misconfigured(
                f"The language model {self.name} needs the package httpx: pip install 'scrubjay[{self.provider}]'"
            )
        if not (key.isascii() and key.isprintable()):
            raise Misconfigured("SCRUBJAY_CHAT_KEY holds characters that no key has: copy it again")
        self._guard = guard
        self._seconds = seconds
        self._server = Server(
            self.name,
            url=url or self.address,
            headers={"authorization": f"Bearer {key}"} if key else {},
            remedies={
                401: "Check SCRUBJAY_CHAT_KEY",
                403: "Check SCRUBJAY_CHAT_KEY and what it may use",
                404: "Check the model's name in SCRUBJAY_CHAT, and SCRUBJAY_CHAT_URL",
                429: "Wait for the limit to pass, or raise it at the provider",
            },
            pause=pause,
            timeout=seconds,
            trade=CHATTING,
        )

    @property
    def name(self) -> str:
        """Provider and model, as the setting names them."""
        return f"{self.provider}:{self._model}"

    async def ask(self, system: str, text: str) -> str:
        """Return what the model answers, as text. Raises ChatUnavailable, after bounded retries and within a time."""
        if self._guard is None:
            return await self._within(system, text)
        return await self._guard.call(lambda: self._within(system, text))

    async def shut(self) -> None:
        """Close the connections. Asking again opens them again."""
        await self._server.shut()

    async def _within(self, system: str, text: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._server.post(self.path, self._body(messages))
        except TimeoutError as error:
            raise self._server.failure(
                f"did not answer within {self._seconds:g} seconds. Check that it is not overloaded"
            ) from error
        try:
            said = self._said(answer)
        except (KeyError, IndexError, TypeError) as error:
            raise self._server.failure(
                f"answered {str(answer)[:120]!r}, where nothing is said ({error!r}). Check that it is a server of "
                f"the kind {self.provider}, and SCRUBJAY_CHAT_URL"
            ) from error
        if not isinstance(said, str) or not said.strip():
            raise ChatUnavailable(f"The language model {self.name} said nothing. Try another model")
        return said

    @abstractmethod
    def _body(self, messages: list[dict[str, str]]) -> dict[str, object]:
        """Return what to send for these messages."""

    @abstractmethod
    def _said(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        """Take what was said out of an answer. An answer of another shape may raise."""


class OpenAIChat(_RemoteChat):
    """A language model behind `/chat/completions`."""

    provider = "openai"
    path = "/chat/completions"
    address = "https://api.openai.com/v1"

    def _body(self, messages: list[dict[str, str]]) -> dict[str, object]:
        # No temperature and no cap of tokens: some models refuse either, and what is said is checked anyway.
        return {"model": self._model, "messages": messages, "response_format": {"type": "json_object"}}

    def _said(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        return answer["choices"][0]["message"]["content"]


class OllamaChat(_RemoteChat):
    """A language model served by Ollama, behind `/api/chat`."""

    provider = "ollama"
    path = "/api/chat"
    address = "http://127.0.0.1:11434"

    def _body(self, messages: list[dict[str, str]]) -> dict[str, object]:
        return {"model": self._model, "messages": messages, "stream": False, "format": "json"}

    def _said(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        return answer["message"]["content"]
