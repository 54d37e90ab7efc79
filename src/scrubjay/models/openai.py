"""Embedders that speak OpenAI's protocol: OpenAI itself, and the many servers that answer like it."""

from typing import Any

from scrubjay.models.remote import Remote

_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class OpenAI(Remote):
    """An embedder behind `/embeddings`."""

    provider = "openai"
    path = "/embeddings"

    def __init__(
        self, model: str, *, url: str = "", key: str = "", pause: float = 0.5, timeout: float = 60.0, batch: int = 128
    ) -> None:
        super().__init__(
            model,
            url=url or "https://api.openai.com/v1",
            key=key,
            pause=pause,
            timeout=timeout,
            batch=batch,
            window=8191 if model in _DIMENSIONS else 512,
            dimensions=_DIMENSIONS.get(model, 0),
            remedies={
                401: "Check SCRUBJAY_EMBEDDER_KEY",
                403: "Check SCRUBJAY_EMBEDDER_KEY and what it may use",
                404: "Check the model's name, and SCRUBJAY_EMBEDDER_URL, which often ends in /v1",
                429: "Wait for the limit to pass, or raise it at the provider",
            },
        )

    def _body(self, texts: list[str]) -> dict[str, object]:
        return {"model": self._model, "input": texts}

    def _vectors(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        return [item["embedding"] for item in sorted(answer["data"], key=lambda item: int(item["index"]))]
