"""What a careful person writes in an afternoon: SQLite for rows and words, NumPy for vectors, one sum of scores.

The floor. No versions, no scopes but one user, no redaction, no reasons, one process.
"""

import re
import sqlite3
from pathlib import Path

import numpy as np
from inhabit import Embedding

STOP = frozenset(
    re.findall(r"\w+", "a an and are as at be by for from has have in is it its of on or that the this to was with")
)
CANDIDATES = 100


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        self._embedding = embedding
        self._database = sqlite3.connect(folder / "by-hand.db")
        self._database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE TABLE IF NOT EXISTS memories (id INTEGER PRIMARY KEY, user TEXT, content TEXT, vector BLOB);"
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(content, user, tokenize = 'porter unicode61');"
        )
        self._matrix = np.empty((0, 0), np.float32)
        self._rows = 0
        self._owned: dict[str, list[int]] = {}
        stored = self._database.execute("SELECT user, vector FROM memories ORDER BY id")
        while rows := stored.fetchmany(10_000):
            self._learn([user for user, _ in rows], np.array([np.frombuffer(blob, np.float32) for _, blob in rows]))

    async def add(self, texts: list[str], users: list[str]) -> None:
        vectors = self._embedding(texts)
        rows = range(self._rows, self._rows + len(texts))
        with self._database:
            self._database.executemany(
                "INSERT INTO memories VALUES (?, ?, ?, ?)",
                zip(rows, users, texts, (vector.tobytes() for vector in vectors), strict=True),
            )
            self._database.executemany(
                "INSERT INTO words (rowid, user, content) VALUES (?, ?, ?)",
                zip(rows, (word_of(user) for user in users), texts, strict=True),
            )
        self._learn(users, vectors)

    async def add_one(self, text: str, user: str) -> None:
        await self.add([text], [user])

    async def ask(self, question: str, user: str | None) -> list[str]:
        vector = self._embedding([question])[0]
        if user is None:
            cosines, owned = self._matrix[: self._rows] @ vector, None
        else:
            owned = self._owned.get(user, [])
            cosines = self._matrix[owned] @ vector
        best = np.argpartition(-cosines, min(CANDIDATES, len(cosines) - 1))[:CANDIDATES]
        meaning = {int(place) if owned is None else owned[place]: float(cosines[place]) for place in best}
        words = self._by_words(question, user)
        ids = list(meaning | words)
        total = standard(meaning, ids) + standard(words, ids)
        chosen = [ids[place] for place in np.argsort(-total)[:10]]
        marks = ",".join("?" * len(chosen))
        texts = dict(self._database.execute(f"SELECT id, content FROM memories WHERE id IN ({marks})", chosen))
        return [texts[row] for row in chosen]

    def _by_words(self, question: str, user: str | None) -> dict[int, float]:
        terms = [term for term in re.findall(r"\w+", question.lower()) if term not in STOP]
        if not terms:
            return {}
        match = "content : (" + " OR ".join(f'"{term}"' for term in terms) + ")"
        if user is not None:
            match += f" AND user : {word_of(user)}"
        found = self._database.execute(
            "SELECT rowid, bm25(words, 1.0, 0.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ?",
            (match, CANDIDATES),
        )
        return {row: -score for row, score in found}

    async def count(self) -> int:
        return self._database.execute("SELECT count(*) FROM memories").fetchone()[0]

    async def shut(self) -> None:
        self._database.close()

    def _learn(self, users: list[str], vectors: np.ndarray) -> None:
        """Append to the matrix, which doubles when it is full."""
        needed = self._rows + len(vectors)
        if needed > len(self._matrix):
            grown = np.empty((max(1_000, needed, 2 * len(self._matrix)), vectors.shape[1]), np.float32)
            if self._rows:
                grown[: self._rows] = self._matrix[: self._rows]
            self._matrix = grown
        self._matrix[self._rows : needed] = vectors
        for row, user in enumerate(users, self._rows):
            self._owned.setdefault(user, []).append(row)
        self._rows = needed


def word_of(user: str) -> str:
    """A user as one word of the index."""
    return user.replace("-", "")


def standard(scores: dict[int, float], ids: list[int]) -> np.ndarray:
    values = np.array([scores.get(row, 0.0) for row in ids])
    return (values - values.mean()) / (values.std() or 1.0)
