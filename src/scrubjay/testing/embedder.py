"""What every embedding model has to do."""

import asyncio
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from scrubjay.ports import Embedder

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

SAME: Final = 0.98
"""Two embeddings of one text are at least this alike. Quantized models differ a little with the batch."""

ODD_TEXTS: Final = {
    "punctuation": "!?!… --- ***",
    "emoji": "🚀👩‍👩‍👧‍👦",
    "right to left": "שלום עולם",
    "cjk": "東京タワーは高い",
    "quotes": """it's "fine" \\ `x` {y} %s""",
    "code": "def f(x: int) -> int:\n    return x ** 2\n",
    "one letter": "x",
    "white space": " \t\n x \u2028 ",
    "controls": "\x07\x1b[31m\ufeff\ufffd",
}


def likeness(one: "Matrix", other: "Matrix") -> float:
    """The cosine of two rows of unit length."""
    return float(one @ other)


class EmbedderSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `embedder` that yields one."""

    async def test_one_row_of_unit_length_per_text(self, embedder: Embedder) -> None:
        rows = await embedder.embed(["Prefers tabs over spaces", "The server runs on port 7285", "x"])
        assert rows.shape == (3, embedder.identity.dimensions)
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-3)

    async def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        await embedder.embed(["Some text first"])
        assert (await embedder.embed([])).shape == (0, embedder.identity.dimensions)

    async def test_identity_is_the_same_before_and_after(self, embedder: Embedder) -> None:
        identity = embedder.identity
        assert all((identity.provider, identity.model, identity.version))
        await embedder.embed(["Some text"])
        assert embedder.identity.dimensions > 0
        assert (embedder.identity.provider, embedder.identity.model) == (identity.provider, identity.model)

    async def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        [first] = await embedder.embed(["Prefers tabs over spaces"])
        [second] = await embedder.embed(["Prefers tabs over spaces"])
        assert likeness(first, second) == pytest.approx(1.0, abs=1e-4)

    async def test_rows_come_in_the_order_of_the_texts_whatever_their_length(self, embedder: Embedder) -> None:
        texts = [f"Number {place} says " + "more and more " * (place * 7 % 23) for place in range(40)]
        rows = await embedder.embed(texts)
        for place in (0, 1, 17, 39):
            [alone] = await embedder.embed([texts[place]])
            assert likeness(rows[place], alone) > SAME, texts[place]

    async def test_texts_alike_are_nearer_than_texts_apart(self, embedder: Embedder) -> None:
        about, alike, apart = await embedder.embed(
            ["The cat sat on the mat", "A cat is sitting on a mat", "Quarterly revenue grew by ten percent"]
        )
        assert likeness(about, alike) > likeness(about, apart)

    async def test_a_question_finds_its_answer(self, embedder: Embedder) -> None:
        answers = await embedder.embed(["The database password is rotated monthly", "Lunch is served at noon"])
        [question] = await embedder.embed(["how often is the database password rotated"], question=True)
        assert question.shape == (embedder.identity.dimensions,)
        assert likeness(question, answers[0]) > likeness(question, answers[1])

    @pytest.mark.parametrize("text", ODD_TEXTS)
    async def test_odd_texts_have_a_vector_too(self, embedder: Embedder, text: str) -> None:
        [row] = await embedder.embed([ODD_TEXTS[text]])
        assert np.isfinite(row).all()
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-3)

    async def test_counts_grow_with_the_text(self, embedder: Embedder) -> None:
        short, long = embedder.count(["One sentence here.", "One sentence here. " * 20])
        assert 0 < short < long
        assert embedder.count([]) == []

    async def test_the_window_has_room(self, embedder: Embedder) -> None:
        assert embedder.window >= 16

    async def test_concurrent_calls_do_not_mix(self, embedder: Embedder) -> None:
        texts = [f"Text of caller {place}" for place in range(8)]
        together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
        for text, [row] in zip(texts, together, strict=True):
            [alone] = await embedder.embed([text])
            assert likeness(row, alone) > SAME

    async def test_shutting_twice_is_safe(self, embedder: Embedder) -> None:
        await embedder.embed(["Some text"])
        await embedder.shut()
        await embedder.shut()
