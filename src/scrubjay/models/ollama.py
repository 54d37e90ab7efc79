"""Embedders served by Ollama."""

from typing import Any

from scrubjay.models.remote import Remote

_WINDOWS = {"all-minilm": 256, "bge-m3": 8192, "nomic-embed-text": 2048}


class Ollama(Remote):
    """An embedder behind `/api/embed`."""

    provider = "ollama"
    path = "/api/embed"

    def __init__(
        self, model: str, *, url: str = "", key: str = "", pause: float = 0.5, timeout: float = 120.0, batch: int = 32
    ) -> None:
        super().__init__(
            model,
            url=url or "http://127.0.0.1:11434",
            key=key,
            pause=pause,
            timeout=timeout,
            batch=batch,
            window=_WINDOWS.get(model.partition(":")[0], 512),
            dimensions=0,
            remedies={
                401: "Check SCRUBJAY_EMBEDDER_KEY",
                404: f"Run `ollama pull {model}`",
            },
        )

    def _body(self, texts: list[str]) -> dict[str, object]:
        # A text that is too long has to be an error, not a vector of its beginning.
        return {"model": self._model, "input": texts, "truncate": False}

    def _vectors(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        return answer["embeddings"]
