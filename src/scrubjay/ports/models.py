"""What reads text: embedding models, token counters, redactors."""

from collections.abc import Sequence
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


@runtime_checkable
class Calibrated(Protocol):
    """An embedder that knows what its similarities mean."""

    def calibrate(self, cosine: float) -> float:
        """Map a cosine to 0..1 so that the same number means the same likeness for every model."""


class Tokens(Protocol):
    """Counts tokens the way a language model would, for budgets."""

    def count(self, text: str) -> int:
        """Return the number of tokens of this text."""


class Redactor(Protocol):
    """Finds secrets in text before it is stored."""

    def redact(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with every secret replaced by a placeholder, and the kinds of secret found, sorted."""
