"""What a careful person would write in an afternoon: SQLite for rows and words, NumPy for vectors, one sum of scores.

The floor that the library is measured against. It does no more than this: no versions, no scopes but one user, no
filters, no redaction, no reasons, one process.
"""

import re
import sqlite3
from pathlib import Path

import numpy as np

STOP = frozenset(
    re.findall(r"\w+", "a an and are as at be by for from has have in is it its of on or that the this to was with")
)


class ByHand:
    """A table, an FTS5 index and a matrix."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, user TEXT, content TEXT);"
            "CREATE VIRTUAL TABLE words USING fts5(content, user, tokenize = 'porter unicode61');"
        )
        self._matrix = np.empty((0, 0), np.float32)
        self._users = np.empty(0, np.int32)

    def add(self, texts: list[str], users: list[int], vectors: np.ndarray) -> None:
        rows = [(place, f"user{user}", text) for place, (text, user) in enumerate(zip(texts, users, strict=True))]
        with self._database:
            self._database.executemany("INSERT INTO memories VALUES (?, ?, ?)", rows)
            self._database.executemany("INSERT INTO words (rowid, user, content) VALUES (?, ?, ?)", rows)
        self._matrix = vectors
        self._users = np.array(users, np.int32)

    def recall(self, question: str, vector: np.ndarray, *, user: int | None = None, limit: int = 10) -> list[str]:
        rows = np.arange(len(self._matrix)) if user is None else np.flatnonzero(self._users == user)
        cosines = (self._matrix if user is None else self._matrix[rows]) @ vector
        best = np.argpartition(-cosines, min(100, len(cosines) - 1))[:100]
        meaning = {int(rows[place]): float(cosines[place]) for place in best}
        terms = [term for term in re.findall(r"\w+", question.lower()) if term not in STOP]
        match = "content : (" + " OR ".join(f'"{term}"' for term in terms) + ")"
        if user is not None:
            match += f" AND user : user{user}"
        found = self._database.execute(
            "SELECT rowid, bm25(words, 1.0, 0.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT 100",
            (match,),
        ).fetchall()
        words = {row: -score for row, score in found}
        ids = list(meaning | words)
        total = _standard(meaning, ids) + _standard(words, ids)
        chosen = [ids[place] for place in np.argsort(-total)[:limit]]
        marks = ",".join("?" * len(chosen))
        texts = dict(
            self._database.execute(f"SELECT id, content FROM memories WHERE id IN ({marks})", chosen).fetchall()
        )
        return [texts[row] for row in chosen]

    def close(self) -> None:
        self._database.close()


def _standard(scores: dict[int, float], ids: list[int]) -> np.ndarray:
    values = np.array([scores.get(row, 0.0) for row in ids])
    return (values - values.mean()) / (values.std() or 1.0)
