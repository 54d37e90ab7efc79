"""Rerankers: a real cross-encoder file, real HTTP on the loopback, and that library's published interface."""

import json
import shutil
import sys
from importlib.machinery import ModuleSpec
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

from scrubjay.backends.breaker import Breaker
from scrubjay.errors import Misconfigured, RerankerUnavailable
from scrubjay.models.cross_encoder import LibraryReranker, OnnxReranker
from scrubjay.models.reranker import ServerReranker, TeiReranker, reranker_of

QUESTION = "which database does staging use"
TEXTS = ["Lunch is at noon", "The staging database is PostgreSQL", "Staging is slow"]


@pytest.fixture
def folder(tmp_path):
    """A cross-encoder that counts the words that question and text have in common."""
    shutil.copy(Path(__file__).with_name("overlap.onnx"), tmp_path / "model.onnx")
    tokenizer = files("scrubjay.models.minilm") / "tokenizer.json"
    (tmp_path / "tokenizer.json").write_text(tokenizer.read_text("utf-8"), "utf-8")
    return tmp_path


def scored(body):
    """What a server answers that counts words in common, best first, as such servers do."""
    texts = body.get("documents") or body.get("texts")
    asked = set(body["query"].lower().split())
    found = [(place, len(asked & set(text.lower().split()))) for place, text in enumerate(texts)]
    found.sort(key=lambda one: -one[1])
    if "documents" in body:
        return 200, {}, json.dumps({"results": [{"index": at, "relevance_score": score} for at, score in found]})
    return 200, {}, json.dumps([{"index": at, "score": score} for at, score in found])


# In a folder


async def test_a_folder_is_read_in_the_order_of_the_texts(folder):
    reranker = OnnxReranker(folder)
    assert await reranker.scores(QUESTION, TEXTS) == [0.0, 2.0, 1.0]
    assert await reranker.scores(QUESTION, []) == []
    await reranker.shut()
    await reranker.ping()
    assert await reranker.scores(QUESTION, TEXTS[1:]) == [2.0, 1.0]


async def test_many_texts_of_many_lengths_keep_their_places(folder):
    texts = [" ".join(["staging"] * (place % 7)) or "none" for place in range(50)]
    assert await OnnxReranker(folder).scores("staging", texts) == [float(place % 7) for place in range(50)]


async def test_what_is_too_long_or_no_text_is_read_as_far_as_it_goes(folder):
    scores = await OnnxReranker(folder).scores("staging " * 2_000, ["staging " * 5_000, "\ud800 staging", ""])
    assert scores[0] > scores[1] > scores[2] == 0.0


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(Misconfigured, match=r"where no model\.onnx is"):
        reranker_of(f"onnx:{tmp_path}")


@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("model.onnx", "no model", "cannot be loaded"),
        ("tokenizer.json", "no JSON", "is no tokenizer"),
        ("tokenizer.json", "{}", "is no tokenizer"),
    ],
)
async def test_a_broken_file_says_which(folder, file, content, error):
    (folder / file).write_text(content)
    with pytest.raises(RerankerUnavailable, match=error):
        await OnnxReranker(folder).scores(QUESTION, TEXTS)


async def test_a_model_with_several_numbers_is_refused(folder):
    bundled = files("scrubjay.models.minilm") / "model.onnx"
    (folder / "model.onnx").write_bytes(bundled.read_bytes())
    with pytest.raises(RerankerUnavailable, match="gave 384 numbers for each text"):
        await OnnxReranker(folder).scores(QUESTION, TEXTS)


async def test_a_model_that_wants_something_else_is_refused(folder):
    model = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(model.replace(b"token_type_ids", b"pixels_of_cats"))
    with pytest.raises(RerankerUnavailable, match=r"cannot read a question and a text \(.*pixels_of_cats"):
        await OnnxReranker(folder).scores(QUESTION, TEXTS)


# On a server


async def test_a_server_is_asked_as_cohere_and_jina_are(server):
    server.always = scored
    reranker = ServerReranker("some/model", url=f"{server.url}/v1/", key="key-1")
    assert await reranker.scores(QUESTION, TEXTS) == [0.0, 2.0, 1.0]
    path, headers, body = server.requests[0]
    assert path == "/v1/rerank"
    assert headers["authorization"] == "Bearer key-1"
    assert body == {"model": "some/model", "query": QUESTION, "documents": TEXTS, "top_n": 3}
    await reranker.shut()


async def test_tei_is_asked_in_its_own_words(server):
    server.always = scored
    reranker = TeiReranker(url=server.url)
    assert await reranker.scores(QUESTION, TEXTS) == [0.0, 2.0, 1.0]
    assert server.bodies() == [{"query": QUESTION, "texts": TEXTS, "raw_scores": True, "truncate": True}]
    await reranker.shut()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((401, {}, "{}"), "Check SCRUBJAY_RERANKER_KEY"),
        ((404, {}, "{}"), "to which /rerank is added"),
        ((200, {}, "<html>"), "not JSON"),
        ((200, {}, '{"results": [{"index": 0, "relevance_score": 1}]}'), "where 3 scores should be"),
        ((200, {}, '{"data": []}'), "where 3 scores should be"),
        ((200, {}, json.dumps({"results": [{"index": n, "relevance_score": "nan"} for n in range(3)]})), "no number"),
    ],
)
async def test_what_a_server_says_wrong_names_the_remedy(server, answer, error):
    server.always = lambda _: answer
    reranker = ServerReranker("model", url=server.url, pause=0.001)
    with pytest.raises(RerankerUnavailable, match=error):
        await reranker.scores(QUESTION, TEXTS)
    await reranker.shut()


async def test_a_server_that_is_down_costs_one_wait(server):
    server.always = lambda _: (503, {}, "{}")
    reranker = ServerReranker("model", url=server.url, pause=0.001, guard=Breaker("model", failures=1))
    for _ in range(3):
        with pytest.raises(RerankerUnavailable):
            await reranker.scores(QUESTION, TEXTS)
    assert len(server.requests) == 5  # the attempts of the first, and none of the others
    await reranker.shut()


async def test_a_server_that_answered_lately_is_not_asked_whether_it_is_there(server):
    server.always = scored
    reranker = ServerReranker("model", url=server.url, pause=0.001)
    await reranker.ping()
    await reranker.ping()
    assert len(server.requests) == 1
    server.always = lambda _: (400, {}, "{}")
    with pytest.raises(RerankerUnavailable):
        await reranker.scores(QUESTION, TEXTS)
    with pytest.raises(RerankerUnavailable):
        await reranker.ping()
    await reranker.shut()


async def test_a_server_that_does_not_answer_is_not_waited_for():
    reranker = ServerReranker("model", url="http://127.0.0.1:9", pause=60, seconds=0.05)
    with pytest.raises(RerankerUnavailable, match=r"did not answer within 0\.05 seconds"):
        await reranker.scores(QUESTION, TEXTS)
    await reranker.shut()


# By name


def test_nothing_is_nothing():
    assert reranker_of("") is None
    assert reranker_of("none") is None


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("cohere", "SCRUBJAY_RERANKER is 'cohere': use onnx:FOLDER"),
        ("onnx:", "use onnx:FOLDER"),
        ("server:model", "SCRUBJAY_RERANKER_URL is empty"),
        ("sentence-transformers:x", r"pip install 'scrubjay\[sentence-transformers\]'"),
    ],
)
def test_a_bad_name_is_refused_with_what_to_do(spec, error):
    with pytest.raises(Misconfigured, match=error):
        reranker_of(spec)


def test_an_address_and_a_key_are_looked_at():
    with pytest.raises(Misconfigured, match="start it with http"):
        reranker_of("tei", url="gpu-box:8080")
    with pytest.raises(Misconfigured, match="SCRUBJAY_RERANKER_KEY holds characters"):
        reranker_of("server:model", url="http://gpu-box", key="ké\ny")


# Of the library, which brings torch and is not installed for tests


class CrossEncoder:
    def __init__(self, name):
        if name == "no/such":
            raise OSError("no/such is not a local folder")
        self.answer = {"of/labels": [0.1, 0.9], "no/number": float("nan")}.get(name)

    def predict(self, pairs, *, batch_size, show_progress_bar):
        assert batch_size
        assert not show_progress_bar
        if self.answer is not None:
            return [self.answer] * len(pairs)
        # As its tokenizers do, which take nothing but text.
        assert "".join(map("".join, pairs)).encode()
        return [len(set(question.split()) & set(text.lower().split())) for question, text in pairs]


@pytest.fixture
def library(monkeypatch):
    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.CrossEncoder = CrossEncoder
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.mark.usefixtures("library")
async def test_the_library_is_asked_for_pairs():
    reranker = LibraryReranker("cross-encoder/ms-marco-MiniLM-L6-v2")
    assert await reranker.scores(QUESTION, TEXTS) == [0.0, 2.0, 1.0]
    assert await reranker.scores(QUESTION, []) == []
    assert await reranker.scores(f"{QUESTION} \ud800", TEXTS) == [0.0, 2.0, 1.0]
    await reranker.ping()
    await reranker.shut()


@pytest.mark.usefixtures("library")
async def test_a_model_that_is_not_there_says_so():
    with pytest.raises(RerankerUnavailable, match="cannot be loaded"):
        await LibraryReranker("no/such").scores(QUESTION, TEXTS)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("model", "error"), [("of/labels", "gave 2 numbers for each text"), ("no/number", "a score that is no number")]
)
async def test_a_model_of_the_library_that_does_not_rerank_says_so(model, error):
    with pytest.raises(RerankerUnavailable, match=error):
        await LibraryReranker(model).scores(QUESTION, TEXTS)
