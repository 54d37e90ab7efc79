"""OpenAI-compatible and Ollama servers, over real HTTP on the loopback."""

import json
import socket
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from scrubjay.errors import EmbedderUnavailable, Misconfigured
from scrubjay.models import server as server_module
from scrubjay.models.ollama import Ollama
from scrubjay.models.openai import OpenAI
from scrubjay.models.server import ATTEMPTS, _retry_after, batches_of
from scrubjay.ports import Calibrated
from scrubjay.testing.embedder import EmbedderSuite

QUICK = {"pause": 0.001, "timeout": 5.0}


@pytest.fixture
async def openai(server):
    embedder = OpenAI("some-model", url=f"{server.url}/v1/", key="sk-test-1", **QUICK)
    yield embedder
    await embedder.shut()


@pytest.fixture
async def ollama(server):
    embedder = Ollama("some-model", url=server.url, **QUICK)
    yield embedder
    await embedder.shut()


@pytest.fixture(params=["openai", "ollama"])
def embedder(request):
    return request.getfixturevalue(request.param)


class TestContract(EmbedderSuite):
    """What every embedder has to do, over HTTP."""


async def test_vectors_are_normalized_and_in_order(embedder, vectors):
    texts = [f"text number {number}" for number in range(7)]
    rows = await embedder.embed(texts)
    assert np.abs(rows - await vectors.embed(texts)).max() < 1e-5


async def test_openai_sends_the_key_the_model_and_the_texts(openai, server):
    await openai.embed(["hello"])
    [(path, headers, body)] = server.requests
    assert path == "/v1/embeddings"
    assert headers["authorization"] == "Bearer sk-test-1"
    assert body == {"model": "some-model", "input": ["hello"]}


async def test_ollama_is_told_not_to_cut(ollama, server):
    await ollama.embed(["hello"])
    [(path, headers, body)] = server.requests
    assert path == "/api/embed"
    assert "authorization" not in headers
    assert body == {"model": "some-model", "input": ["hello"], "truncate": False}


async def test_an_empty_text_is_sent_as_a_space(embedder, server):
    assert (await embedder.embed([""])).shape == (1, 256)
    assert server.bodies()[0]["input"] == [" "]


async def test_what_is_no_text_is_sent_as_a_question_mark(embedder, server):
    assert (await embedder.embed(["half \ud800 of a pair", "a ü of two bytes, a 🦜 of four"])).shape == (2, 256)
    assert server.bodies()[0]["input"] == ["half ? of a pair", "a ü of two bytes, a 🦜 of four"]


async def test_dimensions_are_discovered(embedder):
    assert embedder.identity.dimensions == 0
    await embedder.embed(["x"])
    assert embedder.identity.dimensions == 256


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072), ("text-embedding-ada-002", 1536)],
)
def test_dimensions_of_openai_models_are_known(model, dimensions):
    embedder = OpenAI(model)
    assert str(embedder.identity) == f"openai:{model}@1/{dimensions}"
    assert embedder.window == 8191


async def test_many_texts_go_in_batches(server, vectors):
    embedder = OpenAI("some-model", url=f"{server.url}/v1", batch=10, **QUICK)
    rows = await embedder.embed([f"text {number}" for number in range(25)])
    assert [len(body["input"]) for body in server.bodies()] == [10, 10, 5]
    assert np.abs(rows - await vectors.embed([f"text {number}" for number in range(25)])).max() < 1e-5
    await embedder.shut()


def test_batches_are_bounded_by_length_too():
    texts = ["a" * 30, "b" * 80, "c" * 500, "d" * 10, "e" * 10]
    groups = [list(group) for group in batches_of(texts, count=10, characters=100)]
    assert [[text[0] for text in group] for group in groups] == [["a"], ["b"], ["c"], ["d", "e"]]
    assert list(batches_of([], count=10, characters=100)) == []


async def test_questions_are_marked_for_models_that_want_it(server):
    embedder = Ollama("nomic-embed-text:latest", url=server.url, **QUICK)
    await embedder.embed(["hello"])
    await embedder.embed(["hello"], question=True)
    assert [body["input"] for body in server.bodies()] == [["search_document: hello"], ["search_query: hello"]]
    assert embedder.window == 2048
    await embedder.shut()


def test_count_is_never_fewer_than_the_tokens():
    from scrubjay.models.tokens import O200k
    from scrubjay.models.wordpiece import encode, wordpiece

    texts = ["hello world", "", "🎉🚀", "데이터베이스", "0xdeadbeef" * 40, "Ünïcödé", "½ ﬁ ㎞ ﷺ", "x" * 99]
    counts = OpenAI("text-embedding-3-small").count(texts)
    for text, count, ids in zip(texts, counts, encode(wordpiece(), texts), strict=True):
        assert count >= O200k().count(text)
        assert count >= len(ids)


async def test_a_limit_passes(embedder, server):
    server.troubles = [(429, {"retry-after": "0.2"}, "{}"), (503, {}, "busy")]
    began = time.perf_counter()
    assert (await embedder.embed(["x"])).shape == (1, 256)
    assert time.perf_counter() - began >= 0.2
    assert len(server.requests) == 3


async def test_it_gives_up_after_a_while(embedder, server):
    server.always = lambda _: (500, {}, "out of memory")
    with pytest.raises(
        EmbedderUnavailable, match=rf"some-model at {server.url}.* answered 500 after {ATTEMPTS} attempts"
    ):
        await embedder.embed(["x"])
    assert len(server.requests) == ATTEMPTS


async def test_a_server_that_asks_for_an_hour_is_not_waited_for(embedder, server):
    server.always = lambda _: (429, {"retry-after": "3600"}, "{}")
    with pytest.raises(EmbedderUnavailable, match="answered 429"):
        await embedder.embed(["x"])
    assert len(server.requests) == 1


def test_retry_after_is_read_as_seconds_and_as_a_date():
    assert _retry_after("2") == 2
    assert _retry_after("-1") == 0
    assert _retry_after("soon") is None
    assert _retry_after("") is None
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert _retry_after(later) == pytest.approx(60, abs=2)


async def test_pauses_grow_and_are_bounded(embedder):
    client = server_module.Server("m", url="http://h", headers={}, remedies={}, pause=1.0, timeout=1.0)
    for attempt, longest in ((1, 1), (2, 2), (3, 4), (12, server_module.LONGEST_PAUSE)):
        assert all(longest / 2 <= client._backoff(attempt) <= longest for _ in range(50))


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "Check SCRUBJAY_EMBEDDER_KEY"), (404, "Check the model's name|ollama pull some-model")]
)
async def test_a_refusal_is_not_repeated_and_names_the_remedy(embedder, server, status, remedy):
    server.always = lambda _: (status, {}, '{"error": "no"}')
    with pytest.raises(EmbedderUnavailable, match=remedy) as caught:
        await embedder.embed(["x"])
    assert len(server.requests) == 1
    assert "sk-test-1" not in str(caught.value)


MALFORMED = {
    "not JSON": "<html>welcome</html>",
    "another shape": json.dumps({"result": []}),
    "a list": "[]",
    "null": "null",
    "too few": json.dumps({"data": [], "embeddings": []}),
    "no numbers": json.dumps({"data": [{"index": 0, "embedding": ["a", "b"]}], "embeddings": [["a", "b"]]}),
    "not finite": '{"data": [{"index": 0, "embedding": [NaN, 1]}], "embeddings": [[NaN, 1]]}',
    "ragged": json.dumps({"data": [{"index": 0, "embedding": [[1], [1, 2]]}], "embeddings": [[[1], [1, 2]]]}),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_answer_is_an_error(embedder, server, name):
    server.always = lambda _: (200, {}, MALFORMED[name])
    with pytest.raises(EmbedderUnavailable, match=rf"some-model at {server.url}"):
        await embedder.embed(["x"])


async def test_a_model_that_changes_its_dimensions_is_refused(embedder, server):
    await embedder.embed(["x"])
    other = json.dumps({"data": [{"index": 0, "embedding": [1, 0, 0]}], "embeddings": [[1, 0, 0]]})
    server.always = lambda _: (200, {}, other)
    with pytest.raises(EmbedderUnavailable, match="3 dimensions, not 256"):
        await embedder.embed(["x"])


async def test_a_known_model_with_other_dimensions_is_refused(server):
    embedder = OpenAI("text-embedding-3-small", url=f"{server.url}/v1", **QUICK)
    with pytest.raises(EmbedderUnavailable, match="256 dimensions, not 1536"):
        await embedder.embed(["x"])
    await embedder.shut()


async def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    embedder = Ollama("some-model", url=url, **QUICK)
    with pytest.raises(EmbedderUnavailable, match=rf"ollama:some-model at {url} cannot be reached after {ATTEMPTS}"):
        await embedder.embed(["x"])
    await embedder.shut()


async def test_a_server_that_never_answers_is_left():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        embedder = Ollama("some-model", url=url, pause=0.001, timeout=0.05)
        # On a machine that stands still for a moment, the connection itself takes too long.
        with pytest.raises(EmbedderUnavailable, match=r"(Read|Connect)Timeout"):
            await embedder.embed(["x"])
        await embedder.shut()


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://h"])
def test_an_address_without_http_is_refused(url):
    with pytest.raises(Misconfigured, match="start it with http:// or https://"):
        Ollama("some-model", url=url)


@pytest.mark.parametrize("key", ["sk-…", "sk-1\n"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key):
    with pytest.raises(Misconfigured, match="SCRUBJAY_EMBEDDER_KEY holds characters") as caught:
        OpenAI("text-embedding-3-small", key=key)
    assert "sk-" not in str(caught.value)


def test_a_missing_httpx_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[openai\]'"):
        OpenAI("text-embedding-3-small")
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[ollama\]'"):
        Ollama("nomic-embed-text")


def test_they_do_not_claim_to_be_calibrated():
    assert not isinstance(OpenAI("text-embedding-3-small"), Calibrated)
