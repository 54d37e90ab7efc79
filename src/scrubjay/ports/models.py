"""What reads text: embedding models, language models, token counters, redactors."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from scrubjay.model import Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float32]"
"""Rows of numbers. A name only, so that NumPy is imported by those who compute."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length whose dot product is their similarity."""

    @property
    def identity(self) -> Identity:
        """Which model this is. Known without loading it, except for a remote model's dimensions."""

    @property
    def window(self) -> int:
        """How many tokens of one text it reads. Longer texts have to be split before."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text as the model would, or more; never fewer."""

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order. `question` is for models that treat questions apart.

        Raises EmbedderUnavailable when the model cannot be loaded or reached, after bounded retries.
        """

    async def shut(self) -> None:
        """Let go of the model or the connection. Safe to call twice."""


class SharedVectors(Protocol):
    """Vectors that processes share beside the stores. What is not found there is computed; nothing depends on it."""

    async def get(self, identity: Identity, texts: Sequence[str], *, question: bool) -> "dict[str, Matrix]":
        """Return those of this model that are there, by text. Never raises, and never takes long."""

    async def put(self, identity: Identity, texts: Sequence[str], rows: "Matrix", *, question: bool) -> None:
        """Keep these for a while, one row per text. Returns at once and never raises."""

    def names(self, identity: Identity, texts: Sequence[str]) -> list[str]:
        """Say what the vectors of these texts are called here, whether they are there or not. No text can be read off.

        So they can be removed when nobody knows the texts any more.
        """

    async def remove(self, names: Sequence[str]) -> None:
        """Keep nothing under these names. Raises StoreUnavailable when that is not certain."""

    async def shut(self) -> None:
        """Let go of connections. Safe to call twice."""


@runtime_checkable
class Remembering(Protocol):
    """An embedder that remembers the vectors of texts, and can be told to forget."""

    @property
    def counts(self) -> dict[str, int]:
        """How many texts it remembered, found among what is shared, and embedded, since it was opened."""

    def forget(self, texts: Sequence[str], *, known: Collection[Identity] = ()) -> list[str]:
        """Remember nothing of these texts in this process; return what they are called where other processes look.

        `known` are identities with which such vectors may have been stored. A model on a server that was not asked yet
        does not know its own.
        """

    async def remove(self, names: Sequence[str]) -> bool:
        """Remove these from where other processes look. False where none do; raises StoreUnavailable."""

    def clear(self) -> None:
        """Remember nothing at all in this process."""


@runtime_checkable
class Calibrated(Protocol):
    """An embedder that knows what its similarities mean."""

    def calibrate(self, cosine: float) -> float:
        """Map a cosine to 0..1 so that the same number means the same likeness for every model."""


class Chat(Protocol):
    """A language model. It may only improve what is right without it, so nothing depends on its answer."""

    @property
    def name(self) -> str:
        """Provider and model, as `openai:MODEL`."""

    async def ask(self, system: str, text: str) -> str:
        """Return what it answers, as text that should be one JSON object.

        Raises ChatUnavailable when it cannot be reached, refuses or takes too long, after bounded retries.
        """

    async def shut(self) -> None:
        """Let go of connections. Safe to call twice."""


class Reranker(Protocol):
    """A model that reads a question and a text together. It may only reorder what was found without it."""

    @property
    def name(self) -> str:
        """As the setting names it, such as `server:MODEL`."""

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers, in their order. Higher is better; the scale is the model's own.

        Raises RerankerUnavailable when it cannot answer or takes too long.
        """

    async def ping(self) -> None:
        """Return as soon as it answers, or has lately. Raises RerankerUnavailable when it does not."""

    async def shut(self) -> None:
        """Let go of the model or of connections. Safe to call twice."""


class Tokens(Protocol):
    """Counts tokens the way a language model would, for budgets."""

    def count(self, text: str) -> int:
        """Return the number of tokens of this text."""


class Redactor(Protocol):
    """Finds secrets in text before it is stored."""

    def redact(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with every secret replaced by a placeholder, and the kinds of secret found, sorted."""
