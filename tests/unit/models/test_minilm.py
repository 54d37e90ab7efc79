"""The bundled model: the file is the recorded one, the vectors are those of the original, and calls do not mix."""

import asyncio
import hashlib
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from scrubjay.errors import EmbedderUnavailable
from scrubjay.models import minilm
from scrubjay.models.minilm import MODEL_SHA256, WINDOW, MiniLM, _batches
from scrubjay.ports import Calibrated
from scrubjay.testing.embedder import EmbedderSuite

ROOT = Path(__file__).parents[3]
REFERENCE = json.loads((Path(__file__).parent / "minilm_reference.json").read_text("utf-8"))
"""Vectors of the original float32 model, made with sentence-transformers 6.2."""


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM(threads=1)


class TestContract(EmbedderSuite):
    """What every embedder has to do."""


def test_the_shipped_files_are_the_recorded_ones():
    folder = files("scrubjay.models.minilm")
    found = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("model.onnx", "tokenizer.json")
    }
    script = (ROOT / "scripts" / "make_minilm.py").read_text("utf-8")
    recorded = dict(re.findall(r'^(\w+_SHA256) = "(\w+)"$', script, re.MULTILINE))
    readme = (folder / "README.md").read_text("utf-8")
    assert found == {"model.onnx": recorded["MODEL_SHA256"], "tokenizer.json": recorded["TOKENIZER_SHA256"]}
    assert found["model.onnx"] == MODEL_SHA256
    for checksum in recorded.values():
        assert checksum in readme


def test_the_model_is_small_enough_to_ship():
    assert len((files("scrubjay.models.minilm") / "model.onnx").read_bytes()) < 24_000_000


def test_identity_names_the_file():
    identity = MiniLM().identity
    assert str(identity) == f"minilm:all-MiniLM-L6-v2@{MODEL_SHA256[:12]}/384"


async def test_vectors_are_those_of_the_original(embedder):
    rows = await embedder.embed([entry["text"] for entry in REFERENCE])
    expected = np.array([entry["vector"] for entry in REFERENCE])
    cosines = (rows * expected).sum(axis=1)
    assert cosines.min() > 0.99, cosines
    assert cosines.mean() > 0.995, cosines


async def test_similarities_are_those_of_the_original(embedder):
    rows = await embedder.embed([entry["text"] for entry in REFERENCE])
    expected = np.array([entry["vector"] for entry in REFERENCE])
    assert np.abs(rows @ rows.T - expected @ expected.T).max() < 0.025


async def test_a_text_has_the_same_vector_alone_and_in_any_batch(embedder):
    texts = [entry["text"] for entry in REFERENCE] * 5
    together = await embedder.embed(texts)
    for place, text in enumerate(texts[:8]):
        [alone] = await embedder.embed([text])
        assert float(alone @ together[place]) > 0.99999
        assert together[place + 8] == pytest.approx(together[place], abs=1e-5)


async def test_order_is_restored(embedder):
    texts = [f"{number} " + "apple " * (number * 37 % 50) for number in range(60)]
    rows = await embedder.embed(texts)
    backwards = await embedder.embed(texts[::-1])
    assert np.abs(rows - backwards[::-1]).max() < 1e-4


def test_batches_keep_every_piece_once_and_stay_small():
    pieces = [(owner, [1] * (owner * 31 % 255 + 1)) for owner in range(300)]
    batches = list(_batches(pieces))
    assert sorted(owner for batch in batches for owner, _ in batch) == list(range(300))
    assert max(len(batch) * max(len(ids) for _, ids in batch) for batch in batches) <= minilm.BATCH_TOKENS


@pytest.mark.parametrize("text", ["", " ", "\n", "🚀" * 50, "\ud83d half a pair", "ß" * 500, "\x00", "नमस्ते दुनिया"])
async def test_any_text_has_a_vector(embedder, text):
    [row] = await embedder.embed([text])
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    assert embedder.count([text])[0] >= 2


async def test_a_text_beyond_the_window_is_read_to_its_end(embedder):
    start = "The invoice was paid in March and filed by the accountant. " * 40
    end = "Penguins huddle together on the Antarctic ice to keep warm. " * 40
    assert embedder.count([start])[0] > WINDOW
    rows = await embedder.embed([start, start + end, "penguins in Antarctica"])
    assert rows[1] @ rows[2] > rows[0] @ rows[2] + 0.2


async def test_counts_are_what_the_model_reads(embedder):
    counts = embedder.count([entry["text"] for entry in REFERENCE])
    assert counts == [7, 8, 17, 39, 19, 9, 3, 162]
    assert embedder.count(["word " * 5000]) == [5002]
    full = "word " * (WINDOW - 2)
    assert len(embedder._pieces([full])) == 1
    assert len(embedder._pieces([full + "word"])) == 2


async def test_many_tasks_share_one_model():
    embedder = MiniLM(threads=1)
    texts = [f"Task {number} waits for {'nothing ' * (number % 9)}" for number in range(24)]
    answers = await asyncio.gather(*(embedder.embed([text, "shared"]) for text in texts))
    expected = await embedder.embed([*texts, "shared"])
    for place, rows in enumerate(answers):
        assert np.abs(rows - expected[[place, -1]]).max() < 1e-4


async def test_the_event_loop_stays_free(embedder):
    await embedder.embed(["loaded"])
    turns = 0
    work = asyncio.create_task(embedder.embed(["One sentence of about ten words to keep it busy."] * 200))
    while not work.done():
        await asyncio.sleep(0.001)
        turns += 1
    # A loop that is blocked turns once for each batch, at most.
    assert turns > 20


async def test_a_question_is_left_to_one_thread_and_has_the_same_vector():
    embedder = MiniLM(threads=2)
    brief = "Where are the keys?"
    [alone] = await embedder.embed([brief])
    assert list(embedder._sessions) == [1]
    [*_, among_many] = await embedder.embed([f"{brief} {number}" for number in range(9)] + [brief])
    assert list(embedder._sessions) == [1, 2]
    assert among_many == pytest.approx(alone, abs=1e-6)


async def test_it_embeds_again_after_shut(embedder):
    [before] = await embedder.embed(["again"])
    await embedder.shut()
    [after] = await embedder.embed(["again"])
    assert after == pytest.approx(before, abs=1e-6)


async def test_a_damaged_model_file_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    monkeypatch.setattr(minilm, "files", lambda _: tmp_path)
    with pytest.raises(EmbedderUnavailable, match=rf"minilm cannot be loaded from {tmp_path}.*Install scrubjay again"):
        await MiniLM().embed(["x"])


async def test_a_missing_model_file_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm, "files", lambda _: tmp_path)
    with pytest.raises(EmbedderUnavailable, match="Install scrubjay again"):
        await MiniLM().embed(["x"])


async def test_code_is_found_by_what_it_does(embedder):
    functions = [
        "def load(path):\n    with open(path) as handle:\n        return json.load(handle)",
        "def mean(values):\n    return sum(values) / len(values)",
        "def send(host, port, data):\n    sock = socket.create_connection((host, port))\n    sock.sendall(data)",
    ]
    rows = await embedder.embed([*functions, "read a json file", "average of a list", "transmit bytes over tcp"])
    assert (rows[3:] @ rows[:3].T).argmax(axis=1).tolist() == [0, 1, 2]


def test_it_is_calibrated(embedder):
    assert isinstance(embedder, Calibrated)


def test_choosing_it_loads_nothing_heavy():
    code = (
        "import sys; from scrubjay.models import embedder_of, tokens_of; tokens_of('auto');"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'httpx', 'rs_bpe'}; assert not heavy & set(sys.modules);"
        "embedder_of('minilm'); assert not (heavy - {'numpy'}) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
