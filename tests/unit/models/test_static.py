"""Static vectors from the installed WordLlama."""

import hashlib
import shutil
import sys

import numpy as np
import pytest

from scrubjay.errors import EmbedderUnavailable, Misconfigured
from scrubjay.models import static
from scrubjay.models.static import WEIGHTS_SHA256, Static, _folder
from scrubjay.ports import Calibrated
from scrubjay.testing.embedder import EmbedderSuite


@pytest.fixture(scope="module")
def embedder() -> Static:
    return Static()


class TestContract(EmbedderSuite):
    """What every embedder has to do."""


def test_identity_names_the_weights(embedder):
    assert str(embedder.identity) == f"static:wordllama-256@{WEIGHTS_SHA256[:12]}/256"
    weights = (_folder() / "weights" / "l2_supercat_256.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == WEIGHTS_SHA256


async def test_paraphrases_are_found(embedder):
    known = [
        "The customer wants a refund for the broken phone",
        "Heavy rain flooded the streets of the city",
        "She plays the violin in an orchestra",
        "The unit tests fail on Windows",
    ]
    asked = [
        "buyer asks for money back because the device is damaged",
        "the town's roads were under water after a storm",
        "a musician performing with a string instrument",
        "test suite is red on a Microsoft operating system",
    ]
    rows = await embedder.embed([*known, *asked])
    assert (rows[4:] @ rows[:4].T).argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["", " ", "🚀", "\ud83d half a pair", "\x00", "नमस्ते"])
async def test_any_text_has_a_vector(embedder, text):
    [row] = await embedder.embed([text])
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


async def test_long_texts_are_read_to_their_end(embedder):
    rows = await embedder.embed(["money " * 2000, "money " * 2000 + "penguin " * 2000, "penguin"])
    assert rows[1] @ rows[2] > rows[0] @ rows[2] + 0.2


def test_it_is_calibrated(embedder):
    assert isinstance(embedder, Calibrated)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    monkeypatch.setattr(static.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[static\]'"):
        Static()


async def test_other_weights_are_refused(tmp_path, monkeypatch):
    shutil.copytree(_folder() / "tokenizers", tmp_path / "tokenizers")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"other")
    monkeypatch.setattr(static, "_folder", lambda: tmp_path)
    with pytest.raises(EmbedderUnavailable, match="carries other vectors"):
        await Static().embed(["x"])


async def test_missing_weights_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(static, "_folder", lambda: tmp_path)
    with pytest.raises(EmbedderUnavailable, match="force-reinstall wordllama"):
        await Static().embed(["x"])
