"""The models that the settings name, each loaded when it is first used."""

from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from scrubjay.errors import Misconfigured
from scrubjay.jobs.probing import Embedding
from scrubjay.model import Identity
from scrubjay.ports import Chat, Embedder, Probe, SharedVectors
from scrubjay.read.reread import Rereading
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.backends.redis.connection import RedisConnection

_ON_SERVERS: Final = ("openai", "ollama")
"""Models that may be down."""

_QUICK: Final = ("static",)
"""Models that are done before Redis has answered."""


def probe_of(model: Embedder) -> Probe:
    """Whom to ask whether the model is there: its server, or the model itself."""
    from scrubjay.models.cache import Cached

    behind = model.behind if isinstance(model, Cached) else model
    return behind if isinstance(behind, Probe) else Embedding(model)


def configured(settings: Settings, redis: "RedisConnection | None" = None) -> Embedder | None:
    """The model that these settings name, with recent vectors remembered, in Redis if there is one; None for `none`."""
    return _cached(settings, redis, settings.embedder)


def reopened(settings: Settings, redis: "RedisConnection | None", identity: Identity) -> Embedder | None:
    """The model that made an older generation, if it is the same still."""
    from scrubjay.models import spec_of

    model = _cached(settings, redis, spec_of(identity))
    return model if model is not None and model.identity == identity else None


def fallbacks_for(settings: Settings, redis: "RedisConnection | None") -> list[Embedder]:
    """The models that stand in for the configured one, in their order. Its address and its key are not theirs."""
    asked = settings.model_copy(update={"embedder_url": "", "embedder_key": SecretStr("")})
    found: list[Embedder] = []
    for spec in filter(None, map(str.strip, settings.embedder_fallback.split(","))):
        name, at, url = spec.partition("@http")
        elsewhere = asked.model_copy(update={"embedder_url": f"http{url}"}) if at else asked
        if name in ("none", settings.embedder):
            raise Misconfigured(f"SCRUBJAY_EMBEDDER_FALLBACK holds {spec!r}: it cannot stand in, name another model")
        try:
            model = _cached(elsewhere, redis, name)
        except Misconfigured as error:
            raise Misconfigured(f"SCRUBJAY_EMBEDDER_FALLBACK holds {spec!r}. {error}") from error
        found += [model] if model is not None else []
    return found


def _cached(settings: Settings, redis: "RedisConnection | None", spec: str) -> Embedder | None:
    from scrubjay.backends.breaker import Breaker
    from scrubjay.models import embedder_of
    from scrubjay.models.cache import Cached
    from scrubjay.models.guarded import GuardedEmbedder

    key = settings.embedder_key.get_secret_value()
    model = embedder_of(spec, url=settings.embedder_url, key=key, threads=settings.threads)
    if model is not None and spec.partition(":")[0] in _ON_SERVERS:
        model = GuardedEmbedder(model, Breaker(spec, failures=1))
    return Cached(model, shared=_shared(redis, spec)) if model is not None else None


def chat_for(settings: Settings) -> Chat | None:
    """The language model that these settings name, behind a guard: one that is down costs one wait."""
    if not settings.chat:
        return None
    from scrubjay.backends.breaker import Breaker
    from scrubjay.models.chat import chat_of

    guard = Breaker(settings.chat, failures=1)
    return chat_of(settings.chat, url=settings.chat_url, key=settings.chat_key.get_secret_value(), guard=guard)


def rereading_for(settings: Settings) -> Rereading | None:
    """The reranker that these settings name, behind a guard if it is on a server."""
    if not settings.reranker:
        return None
    from scrubjay.backends.breaker import Breaker
    from scrubjay.models.reranker import reranker_of

    key = settings.reranker_key.get_secret_value()
    guard = Breaker(settings.reranker, failures=1)
    reranker = reranker_of(settings.reranker, url=settings.reranker_url, key=key, threads=settings.threads, guard=guard)
    return Rereading(reranker, settings.reranker_weight) if reranker is not None else None


def _shared(redis: "RedisConnection | None", spec: str) -> SharedVectors | None:
    """Vectors that processes share, for models that take longer than asking Redis does."""
    if redis is None or spec in _QUICK:
        return None
    from scrubjay.backends.redis.cache import RedisVectorCache

    return RedisVectorCache(redis)
