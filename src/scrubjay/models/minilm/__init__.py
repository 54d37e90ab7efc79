"""The bundled model: all-MiniLM-L6-v2 in int8, for prose and code, without a download, a key or a GPU."""

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from scrubjay.errors import EmbedderUnavailable
from scrubjay.model import Identity
from scrubjay.models.calibration import Curve
from scrubjay.models.onnx import onnx_runtime
from scrubjay.models.vectors import unit
from scrubjay.models.wordpiece import encode, wordpiece
from scrubjay.off_loop import in_turn

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

MODEL_SHA256 = "f6dd2558bfee91bb343994bba6f92d83f5f84b49ea0f5c164c207cef0f406e1c"
"""Of model.onnx. A test compares it; loading does not, to be quick."""

WINDOW = 256
"""Tokens that the model reads of one text, the two that mark its start and end included."""

BATCH_TOKENS = 1024
"""Padded tokens in one run: enough to keep several cores busy, little enough to stay in their caches."""

BRIEF_LETTERS = 2_000
"""Characters that are embedded at once. More of them take turns, or the threads for all would be one caller's."""

BRIEF_TOKENS = 32
"""A run of so few, such as a question, is made by one thread: to wake others for each of its steps takes longer.

It leaves the other cores to the search by words, which runs meanwhile. Its vectors are the same to the last bit.
"""

_Batch: TypeAlias = list[tuple[int, list[int]]]
"""Pieces of texts, as token ids, each with the position of its text."""

_START, _END = 101, 102
# Fitted by benchmarks/core/calibrate.py on STS benchmark, train; lowers the error on its dev part from .177 to .150.
_LIKENESS = Curve(steepness=3.26, middle=0.964)


class MiniLM:
    """An embedder that runs in the process, on the processor. Loaded on first use; safe to share between threads.

    A text longer than the window is not cut: its vector is the mean of the vectors of its windows, by their length.
    That blurs what it says, so callers split long texts and keep a vector for each part.
    """

    def __init__(self, *, threads: int = 0) -> None:
        self._threads = threads or _cores()
        self._loading = threading.Lock()
        self._sessions: dict[int, Any] = {}  # by how many threads each has

    @property
    def identity(self) -> Identity:
        """Always the same for one release of Scrubjay."""
        return Identity(provider="minilm", model="all-MiniLM-L6-v2", version=MODEL_SHA256[:12], dimensions=384)

    @property
    def window(self) -> int:
        """256 tokens, with the two that mark start and end, which `count` counts too."""
        return WINDOW

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count exactly, with the two tokens that mark start and end."""
        return [len(ids) for ids in encode(wordpiece(), texts)]

    def calibrate(self, cosine: float) -> float:
        """Map a cosine to how alike people would find two sentences."""
        return _LIKENESS(cosine)

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":  # noqa: ARG002  # one vector for both
        """Return one row per text, in order, the same however the texts are grouped.

        The work is done on a worker thread, a small batch at a time, and long lists take turns, so that a question does
        not wait for them.
        """
        rows = np.zeros((len(texts), self.identity.dimensions), dtype=np.float32)
        if not texts:
            return rows
        letters = sum(map(len, texts))
        run = asyncio.to_thread if letters <= BRIEF_LETTERS else in_turn
        batches, first = await run(self._begin, texts)
        for place, batch in enumerate(batches):
            vectors = first if place == 0 else await run(self._run, batch)
            for (owner, ids), vector in zip(batch, vectors, strict=True):
                rows[owner] += vector * len(ids)
        return unit(rows)

    async def shut(self) -> None:
        """Let go of the model. Embedding again loads it again."""
        with self._loading:
            self._sessions.clear()

    def _begin(self, texts: Sequence[str]) -> "tuple[list[_Batch], Matrix]":
        """Cut the texts, and embed the first batch. A question is one batch, and so waits for a thread once."""
        batches = list(_batches(self._pieces(texts)))
        return batches, self._run(batches[0])

    def _pieces(self, texts: Sequence[str]) -> _Batch:
        """Cut each text into windows of token ids, each with the position of its text."""
        return [
            (owner, [_START, *inner[start : start + WINDOW - 2], _END])
            for owner, inner in enumerate(encode(wordpiece(), texts, special=False))
            for start in range(0, max(1, len(inner)), WINDOW - 2)
        ]

    def _run(self, batch: _Batch) -> "Matrix":
        ids = np.zeros((len(batch), max(len(tokens) for _, tokens in batch)), dtype=np.int64)
        session = self._loaded(1 if ids.size <= BRIEF_TOKENS else self._threads)
        mask = np.zeros_like(ids)
        for row, (_, tokens) in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        vectors: Matrix = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    def _loaded(self, threads: int) -> Any:  # noqa: ANN401  # onnxruntime has no types
        """The model with so many threads. How many is settled when it is loaded, so it may be there twice."""
        with self._loading:
            if threads not in self._sessions:
                self._sessions[threads] = _load(threads)
            return self._sessions[threads]


def _batches(pieces: _Batch) -> Iterator[_Batch]:
    """Group pieces of like length, longest first, so that little is padded."""
    batch: _Batch = []
    for piece in sorted(pieces, key=lambda piece: len(piece[1]), reverse=True):
        if batch and (len(batch) + 1) * len(batch[0][1]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def _cores() -> int:
    """Those that this process may use: a container is often given fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load(threads: int) -> Any:  # noqa: ANN401  # onnxruntime has no types
    try:
        onnxruntime = onnx_runtime()
        from onnxruntime.capi import onnxruntime_pybind11_state as faults  # noqa: PLC0415  # on first use
    except ImportError as error:
        raise EmbedderUnavailable(
            f"The bundled model minilm needs onnxruntime, which cannot be imported here ({error}). Install it, or set "
            "SCRUBJAY_EMBEDDER to another model or to none"
        ) from error

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin between runs are quicker by a hair and keep whole cores from everybody else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        with as_file(files(__name__) / "model.onnx") as path:
            return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (
        OSError,
        faults.Fail,
        faults.InvalidGraph,
        faults.InvalidProtobuf,
        faults.NoSuchFile,
        faults.NotImplemented,
        faults.RuntimeException,
    ) as error:
        raise EmbedderUnavailable(
            f"The bundled model minilm cannot be loaded from {files(__name__)} ({error}). Install scrubjay again"
        ) from error
