"""Static vectors: one for each piece of a word, averaged. Far faster than the bundled model, and blunter."""

import asyncio
import hashlib
import importlib.util
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrubjay.errors import EmbedderUnavailable, Misconfigured
from scrubjay.model import Identity
from scrubjay.models.calibration import Curve
from scrubjay.models.vectors import unit
from scrubjay.models.wordpiece import encode

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
"""Of weights/l2_supercat_256.safetensors in the package wordllama."""

WINDOW = 512
"""Nothing is cut at this length. It is where the mean of many words begins to say little about any of them."""

_UNKNOWN = 0
# Fitted by benchmarks/core/calibrate.py on STS benchmark, train; lowers the error on its dev part from .177 to .172.
_LIKENESS = Curve(steepness=3.22, middle=0.9)


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Any
    table: "Matrix"


class Static:
    """An embedder on the 256-dimensional vectors of WordLlama, read from the installed package."""

    def __init__(self) -> None:
        self._folder = _folder()
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def identity(self) -> Identity:
        """The version names the weights, and loading checks them."""
        return Identity(provider="static", model="wordllama-256", version=WEIGHTS_SHA256[:12], dimensions=256)

    @property
    def window(self) -> int:
        """512 tokens, as advice: a longer text is read whole."""
        return WINDOW

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count exactly."""
        return [len(ids) for ids in encode(self._load().tokenizer, texts, special=False)]

    def calibrate(self, cosine: float) -> float:
        """Map a cosine to how alike people would find two sentences."""
        return _LIKENESS(cosine)

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":  # noqa: ARG002  # one vector for both
        """Return one row per text, in order. A text without a single token counts as one unknown word."""
        return await asyncio.to_thread(self._embed, texts)

    async def shut(self) -> None:
        """Let go of the vectors. Embedding again loads them again."""
        with self._loading:
            self._loaded = None

    def _embed(self, texts: Sequence[str]) -> "Matrix":
        loaded = self._load()
        rows = np.zeros((len(texts), self.identity.dimensions), dtype=np.float32)
        for row, ids in enumerate(encode(loaded.tokenizer, texts, special=False)):
            np.add.reduce(loaded.table[ids or [_UNKNOWN]], axis=0, out=rows[row])
        return unit(rows)

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = _read(self._folder)
            return self._loaded


def _folder() -> Path:
    """Find the installed package without importing it: its own loader looks for the weights on the network."""
    package = importlib.util.find_spec("wordllama")
    if package is None or not package.submodule_search_locations:
        raise Misconfigured("The embedder static needs the package wordllama: pip install 'scrubjay[static]'")
    return Path(package.submodule_search_locations[0])


def _read(folder: Path) -> _Loaded:
    from tokenizers import Tokenizer  # noqa: PLC0415  # on first use

    try:
        weights = (folder / "weights" / "l2_supercat_256.safetensors").read_bytes()
        vocabulary = (folder / "tokenizers" / "l2_supercat_tokenizer_config.json").read_text("utf-8")
    except OSError as error:
        raise EmbedderUnavailable(
            f"The vectors of the embedder static cannot be read ({error}). Run pip install --force-reinstall wordllama"
        ) from error
    found = hashlib.sha256(weights).hexdigest()
    if found != WEIGHTS_SHA256:
        raise EmbedderUnavailable(
            f"The installed wordllama carries other vectors ({found[:12]}) than the embedder static was made for "
            f"({WEIGHTS_SHA256[:12]}). Run pip install 'wordllama>=0.3,<0.5'"
        )
    # A safetensors file: the length of a JSON header, the header, the numbers.
    size = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + size])["embedding.weight"]
    halves = np.frombuffer(weights, dtype=np.float16, offset=8 + size + header["data_offsets"][0])
    return _Loaded(Tokenizer.from_str(vocabulary), halves.reshape(header["shape"]).astype(np.float32))
