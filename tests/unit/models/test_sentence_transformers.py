"""The library itself brings torch and is not installed for tests: what stands in has its published interface."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest

from scrubjay.errors import EmbedderUnavailable, Misconfigured
from scrubjay.models.sentence_transformers import SentenceTransformers
from scrubjay.models.wordpiece import encode, wordpiece


class Tokenizer:
    def __call__(self, texts, *, truncation, verbose):
        assert not truncation
        return {"input_ids": encode(wordpiece(), texts)}


class SentenceTransformer:
    opened = 0
    max_seq_length = 128
    tokenizer = Tokenizer()

    def __init__(self, name):
        if name == "no/such":
            raise OSError("no/such is not a local folder")
        type(self).opened += 1
        self.met = []

    def encode(self, texts, *, batch_size, convert_to_numpy, show_progress_bar):
        assert convert_to_numpy
        assert not show_progress_bar
        self.met.extend(texts)
        return np.array([[len(text), 1.0, 0.0] for text in texts])


@pytest.fixture
def library(monkeypatch):
    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(SentenceTransformer, "opened", 0)


def test_a_missing_library_names_the_extra():
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[sentence-transformers\]'"):
        SentenceTransformers("all-mpnet-base-v2")


async def test_rows_are_normalized_and_in_order(library):
    embedder = SentenceTransformers("all-mpnet-base-v2")
    assert SentenceTransformer.opened == 0
    rows = await embedder.embed(["x" * length for length in range(1, 80)])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert (np.diff(rows[:, 0]) > 0).all()
    assert rows.dtype == np.float32
    assert str(embedder.identity) == "sentence-transformers:all-mpnet-base-v2@1/3"
    assert SentenceTransformer.opened == 1


async def test_no_texts_give_no_rows(library):
    embedder = SentenceTransformers("all-mpnet-base-v2")
    assert (await embedder.embed([])).shape == (0, 0)
    assert embedder.count([]) == []


async def test_the_model_says_its_window_and_counts(library):
    embedder = SentenceTransformers("all-mpnet-base-v2")
    assert embedder.window == 128
    assert embedder.count(["hello world", "word " * 300]) == [4, 302]


async def test_questions_are_marked_for_models_that_want_it(library):
    embedder = SentenceTransformers("intfloat/e5-small-v2")
    await embedder.embed(["hello"])
    await embedder.embed(["hello"], question=True)
    assert embedder._loaded.met == ["passage: hello", "query: hello"]
    assert embedder.count(["hello"])[0] >= len(wordpiece().encode("passage: hello").ids)


async def test_a_model_that_is_not_there_says_what_to_do(library):
    with pytest.raises(
        EmbedderUnavailable, match=r"sentence-transformers:no/such cannot be loaded.*Check the model's name"
    ):
        await SentenceTransformers("no/such").embed(["x"])


async def test_shutting_lets_go_and_embedding_loads_again(library):
    embedder = SentenceTransformers("all-mpnet-base-v2")
    await embedder.embed(["x"])
    await embedder.shut()
    await embedder.shut()
    await embedder.embed(["x"])
    assert SentenceTransformer.opened == 2
