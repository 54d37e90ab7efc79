"""Embedders, the offline ones first, and the token counters. Importing this loads no model and no library."""

from scrubjay.errors import Misconfigured
from scrubjay.model import Identity
from scrubjay.models.cache import Cached
from scrubjay.models.tokens import tokens_of
from scrubjay.ports import Embedder

__all__ = ["Cached", "embedder_of", "spec_of", "tokens_of"]

_CHOICES = "minilm, static, none, openai:MODEL, ollama:MODEL or sentence-transformers:MODEL"


def embedder_of(spec: str, *, url: str = "", key: str = "", threads: int = 0) -> Embedder | None:
    """Return the embedder that a setting names, not yet loaded; None for `none`.

    `url` and `key` are for servers, `threads` for the bundled model. Raises Misconfigured for a name that is not known,
    and when the library that the embedder needs is not installed.
    """
    provider, _, model = spec.strip().partition(":")
    # Each is imported where it is chosen, so that nobody pays for the others.
    match provider, model:
        case "none", "":
            return None
        case "minilm", "":
            from scrubjay.models.minilm import MiniLM  # noqa: PLC0415  # see above

            return MiniLM(threads=threads)
        case "static", "":
            from scrubjay.models.static import Static  # noqa: PLC0415  # see above

            return Static()
        case "openai", str(model) if model:
            from scrubjay.models.openai import OpenAI  # noqa: PLC0415  # see above

            return OpenAI(model, url=url, key=key)
        case "ollama", str(model) if model:
            from scrubjay.models.ollama import Ollama  # noqa: PLC0415  # see above

            return Ollama(model, url=url, key=key)
        case "sentence-transformers", str(model) if model:
            from scrubjay.models.sentence_transformers import SentenceTransformers  # noqa: PLC0415  # see above

            return SentenceTransformers(model)
    raise Misconfigured(f"SCRUBJAY_EMBEDDER is {spec!r}: use {_CHOICES}")


def spec_of(identity: Identity) -> str:
    """Return the setting that names this model, so that the model of an older generation can be opened again.

    Raises Misconfigured for a provider that is not known, such as one of a newer version.
    """
    match identity.provider:
        case "minilm" | "static":
            return identity.provider
        case "openai" | "ollama" | "sentence-transformers":
            return f"{identity.provider}:{identity.model}"
    raise Misconfigured(f"The embedder {identity} is not known to this version: use {_CHOICES}, then reindex")
