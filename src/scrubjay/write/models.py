"""The embedding models of this process: the configured one, those that stand in for it, and those of older vectors."""

from collections.abc import Callable, Sequence

from scrubjay.errors import Misconfigured
from scrubjay.logs import logger
from scrubjay.model import Identity, Memory
from scrubjay.ports import Embedder, Remembering
from scrubjay.write.embed import parts_of
from scrubjay.write.fallback import Fallbacks

log = logger("index")


class Models:
    """Opens the models of older generations when they are asked for, and lets all of them forget."""

    def __init__(
        self, configured: Embedder | None, *, fallbacks: Fallbacks, reopen: Callable[[Identity], Embedder | None]
    ) -> None:
        self._configured = configured
        self._fallbacks = fallbacks
        self._reopen = reopen
        self._older: dict[Identity, Embedder | None] = {}

    def opened(self, identity: Identity) -> Embedder | None:
        """The model of this identity, other than the configured one; None when it cannot be opened."""
        if (fallback := self._fallbacks.opened(identity)) is not None:
            return fallback
        if identity not in self._older:
            try:
                self._older[identity] = self._reopen(identity)
            except Misconfigured as error:
                log.warning("older model cannot be opened", model=str(identity), error=str(error))
                self._older[identity] = None
        return self._older[identity]

    def forget(self, memories: Sequence[Memory], known: Sequence[Identity]) -> list[str]:
        """Let no model remember the texts of these; return what their vectors are called where models share them.

        `known` are the identities of all generations.
        """
        names: dict[str, None] = {}
        for embedder in self._all():
            if isinstance(embedder, Remembering):
                names |= dict.fromkeys(embedder.forget(parts_of(memories, embedder)[1], known=known))
        return list(names)

    async def remove(self, names: Sequence[str]) -> bool:
        """Remove these from where models share vectors. False where they do not; raises StoreUnavailable."""
        return any([await embedder.remove(names) for embedder in self._remembering()])

    def counts(self) -> dict[str, int]:
        """How many texts the models remembered, found among what is shared, and embedded; empty when nobody counts."""
        counted = [model.counts for model in self._remembering()]
        return {name: sum(one[name] for one in counted) for name in (counted[0] if counted else ())}

    def clear(self) -> None:
        """Let no model remember any text in this process, since somewhere a memory was purged."""
        for embedder in self._remembering():
            embedder.clear()

    async def shut(self) -> None:
        """Let go of every model."""
        for embedder in self._all():
            await embedder.shut()

    def _remembering(self) -> list[Remembering]:
        return [embedder for embedder in self._all() if isinstance(embedder, Remembering)]

    def _all(self) -> list[Embedder]:
        models = (self._configured, *self._fallbacks.embedders, *self._older.values())
        return [model for model in models if model is not None]
