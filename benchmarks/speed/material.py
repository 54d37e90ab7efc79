"""What every system is told and asked: real stretches of prose, their vectors, and questions that have an answer.

Texts come in blocks of a thousand with a file of vectors beside each, kept for the next run. The first ten blocks are
really embedded. A later block gets the vectors of an earlier one, moved a little: embedding a million texts would take
an hour and tell nothing about a store.
"""

import asyncio
import hashlib
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scrubjay.model import Filter, Query, Scope
from scrubjay.ports import Embedder
from scrubjay.read.understand import understand
from scrubjay.write.redact import SecretRedactor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from texts import questions, sentences

BLOCK = 1_000
REAL = 10
"""Blocks that are really embedded."""

MOVED = 0.03
WORDS = 26
LONGEST = 40
"""Letters of a word; what is longer is an address or a piece of binary data."""

USERS = 100
"""Everybody owns one memory in a hundred: what the narrow scope leaves."""

WHO = 7
"""The user whose memories are asked for in the narrow scope."""

REDACTOR = SecretRedactor()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How many questions of each width there are. The first `warm` of each are not counted."""

    many: int
    warm: int


class Material:
    """Blocks of texts with vectors in a folder; block 0 holds what is added one by one, the rest what is stored."""

    def __init__(self, folder: Path, model: Embedder, data: Path | None) -> None:
        source = hashlib.sha256(str(data.resolve()).encode()).hexdigest()[:8] if data else "pydoc"
        self.folder = folder / f"{source}-{model.identity.provider}"
        self._model = model
        self._data = data

    def prepare(self, size: int) -> Iterator[tuple[int, int]]:
        """Make the blocks that are missing for so many memories; yields how many there are, of how many."""
        self.folder.mkdir(parents=True, exist_ok=True)
        needed = 1 + -(-size // BLOCK)
        if all(self._vectors(block).exists() for block in range(needed)):
            return
        texts = stretches(needed * BLOCK, self._data)
        for block in range(needed):
            if not self._vectors(block).exists():
                self._write(block, texts[block * BLOCK : (block + 1) * BLOCK])
            yield block + 1, needed

    def _write(self, block: int, texts: list[str]) -> None:
        if block <= REAL:
            vectors = asyncio.run(self._model.embed(texts))
        else:
            chance = np.random.default_rng(block)
            vectors = np.load(self._vectors(1 + (block - 1) % REAL))
            vectors = vectors + chance.normal(0, MOVED, vectors.shape).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self._texts(block).write_text(json.dumps(texts), encoding="utf-8")
        # The vectors come last and by a rename: a block whose vectors are there is whole.
        unfinished = self._vectors(block).with_suffix(".unfinished.npy")
        np.save(unfinished, np.asarray(vectors, np.float32))
        unfinished.replace(self._vectors(block))

    def _texts(self, block: int) -> Path:
        return self.folder / f"block-{block:05}.json"

    def _vectors(self, block: int) -> Path:
        return self.folder / f"block-{block:05}.npy"

    def ask(self, smallest: int, asked: Asked, folder: Path) -> None:
        """Write questions for both widths, each cut out of a text that even the smallest store holds.

        And whose vector is its own: where it is another's, meaning could only mislead. With them is what a question is
        taken apart into, so that it can be looked up as well.
        """
        smallest = min(smallest, REAL * BLOCK)
        blocks = range(1, 2 + (smallest - 1) // BLOCK)
        texts = [text for block in blocks for text in json.loads(self._texts(block).read_text("utf-8"))][:smallest]
        many = asked.many + asked.warm
        widths = {"all": questions(repeated(texts, many), many)}
        widths["1 %"] = questions(repeated(texts[WHO::USERS], many), many, seed=2)
        widths["parts"] = [part for some in list(widths.values()) for question in some for part in parts_of(question)]
        everything = [question for some in widths.values() for question in some]
        np.save(folder / "questions.npy", asyncio.run(self._model.embed(everything, question=True)))
        (folder / "questions.json").write_text(json.dumps(widths), encoding="utf-8")


def parts_of(question: str) -> list[str]:
    """What Scrubjay embeds of a question beside it: each side of one that compares, or what is left without framing."""
    understood = understand(Query(text=question, filter=Filter(scope=Scope())))
    return [part for part in (understood.sought, understood.title, *understood.clauses) if part not in ("", question)]


def repeated(texts: list[str], many: int) -> list[str]:
    """At least so many; of a text that comes twice, other words are asked."""
    return texts * -(-many // len(texts))


def stretches(many: int, data: Path | None) -> list[str]:
    """So many different texts of 26 words, the same every time: out of the data sets, or out of Python's own manual."""
    found: dict[str, None] = {}
    for text in endless(data):
        # Scrubjay stores no credentials, so a text that looks like one would not be the same text everywhere.
        if REDACTOR.redact(text)[0] == text:
            found[text] = None
            if len(found) == many:
                return list(found)
    raise SystemExit(f"--data names {data}, where no recall/*/corpus.jsonl has a text of {WORDS} words")


def endless(data: Path | None) -> Iterator[str]:
    """Stretches as they were written, each once, and then first halves of one with second halves of another."""
    chance = random.Random(0)
    real = list(dict.fromkeys(cut(data))) if data else sentences(BLOCK * REAL, words=WORDS)
    chance.shuffle(real)
    yield from real
    while real:
        first, second = (chance.choice(real).split() for _ in range(2))
        yield " ".join(first[: WORDS // 2] + second[WORDS // 2 :])


def cut(data: Path) -> Iterator[str]:
    """Every whole stretch of words in the corpora of the data folder, in order."""
    for corpus in sorted(data.glob("**/corpus.jsonl")):
        with corpus.open(encoding="utf-8") as lines:
            for line in lines:
                words = [word for word in json.loads(line)["text"].split() if len(word) <= LONGEST]
                for start in range(0, len(words) - WORDS + 1, WORDS):
                    yield " ".join(words[start : start + WORDS])
