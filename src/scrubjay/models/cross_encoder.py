"""Cross-encoders that run in the process: one in a folder, through ONNX, or any of sentence-transformers."""

import asyncio
import importlib.util
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from scrubjay.errors import Misconfigured, RerankerUnavailable
from scrubjay.models.onnx import onnx_runtime

WINDOW: Final = 512
"""Tokens that such a model reads of question and text together."""

BATCH: Final = 16
"""Pairs in one run, of like length, so that little is padded."""


class OnnxReranker:
    """A cross-encoder in a folder: `model.onnx` and `tokenizer.json`. Loaded on first use; safe to share.

    What does not fit into the window is cut at its end, the longer of question and text first.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        for file in ("model.onnx", "tokenizer.json"):
            if not (folder / file).is_file():
                raise Misconfigured(
                    f"SCRUBJAY_RERANKER is onnx:{folder}, where no {file} is: name the folder of a cross-encoder"
                )
        self._folder = folder
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The folder, as the setting names it."""
        return f"onnx:{self._folder}"

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers, a batch at a time on a worker thread. Raises RerankerUnavailable."""
        scores = [0.0] * len(texts)
        by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(by_length), BATCH):
            places = by_length[start : start + BATCH]
            judged = await asyncio.to_thread(self._run, question, [texts[place] for place in places])
            for place, score in zip(places, judged, strict=True):
                scores[place] = score
        return scores

    async def ping(self) -> None:
        """Return once it is loaded."""
        await asyncio.to_thread(self._load)

    async def shut(self) -> None:
        """Let go of the model. Asking again loads it again."""
        with self._loading:
            self._loaded = None

    def _run(self, question: str, texts: Sequence[str]) -> list[float]:
        from onnxruntime.capi import onnxruntime_pybind11_state as faults  # noqa: PLC0415  # loaded by now

        session, tokenizer = self._load()
        pairs = [(_whole(question), _whole(text)) for text in texts]
        encodings = tokenizer.encode_batch(pairs)
        given = {
            "input_ids": np.array([one.ids for one in encodings], dtype=np.int64),
            "attention_mask": np.array([one.attention_mask for one in encodings], dtype=np.int64),
            "token_type_ids": np.array([one.type_ids for one in encodings], dtype=np.int64),
        }
        wanted = {one.name for one in session.get_inputs()}
        try:
            rows = session.run(None, {name: given[name] for name in wanted & given.keys()})[0]
        except (ValueError, faults.Fail, faults.InvalidArgument, faults.RuntimeException) as error:
            raise RerankerUnavailable(
                f"The reranker {self.name} cannot read a question and a text ({error}). Name a cross-encoder in "
                "SCRUBJAY_RERANKER"
            ) from error
        return _one_each(rows, texts, self.name)

    def _load(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _opened(self._folder, self._threads)
            return self._loaded


class LibraryReranker:
    """A cross-encoder of the library sentence-transformers, from a folder or from its hub."""

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise Misconfigured(
                f"The reranker sentence-transformers:{model} needs that package: "
                "pip install 'scrubjay[sentence-transformers]'"
            )
        self._model = model
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """As the setting names it."""
        return f"sentence-transformers:{self._model}"

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers, on a worker thread. Raises RerankerUnavailable."""
        return await asyncio.to_thread(self._run, question, texts) if texts else []

    async def ping(self) -> None:
        """Return once it is loaded."""
        await asyncio.to_thread(self._load)

    async def shut(self) -> None:
        """Let go of the model. Asking again loads it again."""
        with self._lock:
            self._loaded = None

    def _run(self, question: str, texts: Sequence[str]) -> list[float]:
        model = self._load()
        pairs = [(_whole(question), _whole(text)) for text in texts]
        # Its models are not all safe to run from two threads at once.
        with self._lock:
            judged = model.predict(pairs, batch_size=BATCH, show_progress_bar=False)
        return _one_each(judged, texts, self.name)

    def _load(self) -> Any:  # noqa: ANN401  # that library may not be there to take types from
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> Any:  # noqa: ANN401  # that library may not be there to take types from
        from sentence_transformers import CrossEncoder  # noqa: PLC0415  # on first use

        try:
            return CrossEncoder(self._model)
        except (OSError, ValueError) as error:
            raise RerankerUnavailable(
                f"The reranker {self.name} cannot be loaded ({error}). Check its name, and that its hub can be reached"
            ) from error


def _one_each(judged: Any, texts: Sequence[str], name: str) -> list[float]:  # noqa: ANN401  # numbers of some shape
    """The score of each text. Raises RerankerUnavailable when it is not one number, or none at all."""
    numbers = np.asarray(judged, dtype=np.float64)
    if numbers.size != len(texts):
        raise RerankerUnavailable(
            f"The reranker {name} gave {numbers.size / len(texts):g} numbers for each text, and one is needed. Name a "
            "cross-encoder with one score in SCRUBJAY_RERANKER"
        )
    if not np.isfinite(numbers).all():
        raise RerankerUnavailable(f"The reranker {name} gave a score that is no number. Check that the model reranks")
    return [float(score) for score in numbers.reshape(-1)]


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which are no text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _opened(folder: Path, threads: int) -> tuple[Any, Any]:
    """The session and the tokenizer of the model in this folder."""
    onnxruntime = onnx_runtime()
    from onnxruntime.capi import onnxruntime_pybind11_state as faults  # noqa: PLC0415  # on first use
    from tokenizers import Tokenizer  # noqa: PLC0415  # on first use

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # As for the bundled model: threads that spin keep whole cores from everybody else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    except (OSError, faults.Fail, faults.InvalidGraph, faults.InvalidProtobuf, faults.NotImplemented) as error:
        raise RerankerUnavailable(f"The reranker in {folder} cannot be loaded ({error}). Download it again") from error
    tokenizer = Tokenizer.from_str(_described(folder / "tokenizer.json"))
    tokenizer.enable_truncation(WINDOW)
    tokenizer.enable_padding()
    return session, tokenizer


def _described(path: Path) -> str:
    """The text of a tokenizer's file, once it looks like one: its library tells a broken one only by a bare error."""
    try:
        text = path.read_text("utf-8")
        json.loads(text)["model"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RerankerUnavailable(f"{path} is no tokenizer ({error!r}). Download it again") from error
    return text
