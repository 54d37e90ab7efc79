"""A file of memories, set aside until all of it has been looked at: on disk where it is large, and in no other's reach.

It is a private database of SQLite without a name. What fits into its cache never reaches the disk; the rest goes to a
file that nobody can open and that is gone with the process, wherever `TMPDIR` says. The texts in it are sealed with a
key that is nowhere else, where the package that encrypts is installed: what a store keeps encrypted does not lie about.
"""

import asyncio
import os
import pickle
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from hashlib import blake2b
from threading import Lock
from typing import Final, ParamSpec, TypeVar
from uuid import UUID

from scrubjay.errors import StoreUnavailable
from scrubjay.model import Memory

P = ParamSpec("P")
T = TypeVar("T")

_CACHE_KB: Final = 64 * 1024
_NEVER: Final = 2**62
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE: Final = 500

_TABLES: Final = (
    f"PRAGMA cache_size = -{_CACHE_KB}",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    """CREATE TABLE lines (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, slot BLOB, words BLOB,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, heir BLOB,
    fate INTEGER NOT NULL, is_believed INTEGER NOT NULL, turn INTEGER NOT NULL,
    told BLOB NOT NULL)""",
    "CREATE TABLE near (number INTEGER NOT NULL, rival BLOB NOT NULL, PRIMARY KEY (number, rival)) WITHOUT ROWID",
    "CREATE TABLE links (one INTEGER NOT NULL, other INTEGER NOT NULL, PRIMARY KEY (one, other)) WITHOUT ROWID",
)

_FRESH: Final = "fate = 1 AND is_believed"
_OVERLAPPING: Final = f"""\
SELECT number FROM (SELECT number, start, max(stop) OVER (PARTITION BY slot ORDER BY start, number
ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM lines WHERE slot IS NOT NULL AND {_FRESH})
WHERE start < before ORDER BY number"""
_REPEATED: Final = f"""\
SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY words ORDER BY number) AS place FROM lines
WHERE words IS NOT NULL AND {_FRESH}) WHERE place > 1 ORDER BY number"""
_LAST: Final = "SELECT max(also.turn) FROM links JOIN lines also ON also.number = other WHERE one = lines.number"
_LATER: Final = f"UPDATE lines SET turn = ({_LAST}) WHERE number IN (SELECT one FROM links) AND turn < ({_LAST})"


class Fate(IntEnum):
    """What is to become of a line."""

    KNOWN = 0
    """It is stored, and nothing changes."""
    NEW = 1
    CLOSING = 2
    """It is stored and believed, and is to be closed as the line says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory of the file, where it stands, and what is to become of it."""

    number: int
    memory: Memory
    fate: Fate

    @property
    def is_fresh(self) -> bool:
        """Whether it is to be stored, and believed."""
        return self.fate is Fate.NEW and self.memory.superseded_at is None


class Staging:
    """The lines of a file, each memory once, to be asked for as if all of them were in memory."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._seal, self._open = _cipher()
        self._lock = Lock()
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in _TABLES:
            self._file.execute(statement)
        self.last = 0
        """The highest number that a line has."""

    async def aside(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do something with it on another thread, so that others are served meanwhile."""

        def alone() -> T:
            with self._lock:
                return work(*given, **named)

        return await asyncio.to_thread(alone)

    def shut(self) -> None:
        """Let go of everything, once what is done aside has come to its end: whoever waited for it may be cancelled."""
        # SQLite does not survive that what somebody works with is closed.
        with self._lock:
            self._file.close()

    def put(self, lines: Iterable[Line]) -> None:
        """Take these in, each in the place of the one with its id."""
        taken = list(lines)
        rows = [self._row(line) for line in taken]
        self.last = max([self.last, *(line.number for line in taken)])
        with _room():
            self._file.execute("BEGIN")
            self._file.executemany("DELETE FROM lines WHERE id = ?", [(row[1],) for row in rows])
            self._file.executemany(f"INSERT INTO lines VALUES ({', '.join('?' * 11)})", rows)
            self._file.execute("COMMIT")

    def _row(self, line: Line) -> tuple[int | bytes | None, ...]:
        memory = line.memory
        scope = "\0".join(name or "" for name in memory.scope.names())
        is_open = memory.valid_to is None
        words = memory.fingerprint + bytes([memory.encrypted]) if is_open and not memory.is_event else None
        return (
            line.number,
            memory.id.bytes,
            self._digest(scope, memory.key.encode()) if memory.key is not None else None,
            self._digest(scope, words) if words is not None else None,
            _microseconds(memory.valid_from),
            _NEVER if memory.valid_to is None else _microseconds(memory.valid_to),
            memory.superseded_by.bytes if memory.superseded_by is not None else None,
            line.fate,
            memory.superseded_at is None,
            line.number,
            # Not as JSON: to read that again, with all its checks, takes six times as long.
            self._seal(pickle.dumps(memory, pickle.HIGHEST_PROTOCOL)),
        )

    def _digest(self, scope: str, mark: bytes) -> bytes:
        return blake2b(scope.encode() + b"\0\0" + mark, digest_size=16, key=self._key).digest()

    def _lines(self, where: str, values: Sequence[object] = ()) -> list[Line]:
        found = self._file.execute(f"SELECT number, told, fate FROM lines WHERE {where}", values).fetchall()
        return [Line(number=number, memory=self._read(told), fate=Fate(fate)) for number, told, fate in found]

    def _read(self, told: bytes) -> Memory:
        memory: Memory = pickle.loads(self._open(told))  # noqa: S301 -- written by this object, where nobody else writes
        return memory

    def by_ids(self, ids: Sequence[UUID]) -> dict[UUID, Line]:
        """The lines that have these ids, by id."""
        found: list[Line] = []
        for start in range(0, len(ids), _PAGE):
            some = ids[start : start + _PAGE]
            found += self._lines(f"id IN ({', '.join('?' * len(some))})", [one.bytes for one in some])
        return {line.memory.id: line for line in found}

    def numbered(self, number: int) -> Line:
        """The line with this number."""
        return self._lines("number = ?", [number])[0]

    # What contradicts what

    def note_near(self, pairs: Sequence[tuple[int, UUID]]) -> None:
        """Note of lines which stored memories each of them has the key or the words of."""
        with _room():
            self._file.executemany(
                "INSERT OR IGNORE INTO near VALUES (?, ?)", [(number, one.bytes) for number, one in pairs]
            )

    def near(self) -> Iterator[list[tuple[Line, UUID]]]:
        """The lines that are to be believed, each with a stored memory that it is near to, many at a time, in order."""
        after = (-1, b"")
        page = (
            f"SELECT number, rival FROM near JOIN lines USING (number) WHERE {_FRESH} AND (number, rival) > (?, ?) "
            f"ORDER BY number, rival LIMIT {_PAGE}"
        )
        while found := self._file.execute(page, after).fetchall():
            yield [(self.numbered(number), UUID(bytes=rival)) for number, rival in found]
            after = found[-1]

    def overlapping(self) -> list[int]:
        """The lines that speak of a key at a time of which another one speaks, too: all but the first of each time."""
        return [number for (number,) in self._file.execute(_OVERLAPPING)]

    def repeated(self) -> list[int]:
        """The lines that say what another one says, both for good: all but the first."""
        return [number for (number,) in self._file.execute(_REPEATED)]

    def beside(self, number: int) -> list[Line]:
        """The lines that are to be believed and have the key of this one, or its words; itself among them."""
        slot, words = self._file.execute("SELECT slot, words FROM lines WHERE number = ?", [number]).fetchone()
        same, value = ("words", words) if slot is None else ("slot", slot)
        return self._lines(f"{same} = ? AND {_FRESH} ORDER BY number", [value])

    # In which order

    def link(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Let lines be stored together, in the transaction of the last of them."""
        both = [*pairs, *((other, one) for one, other in pairs)]
        with _room():
            self._file.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", both)

    def heirs(self) -> list[tuple[int, int]]:
        """Each line that closes something, with that which takes its place in the end, where that is to be stored."""
        closing = self._file.execute(f"SELECT number, heir FROM lines WHERE fate = {Fate.CLOSING} AND heir IS NOT NULL")
        return [(number, heir) for number, one in closing.fetchall() if (heir := self._last_heir(one)) is not None]

    def _last_heir(self, heir: bytes | None) -> int | None:
        seen: set[bytes] = set()
        while heir is not None and heir not in seen:
            seen.add(heir)
            row = self._file.execute(f"SELECT number, heir, {_FRESH} FROM lines WHERE id = ?", [heir]).fetchone()
            if row is None or row[2]:
                return row and int(row[0])
            heir = row[1]
        return None

    def arrange(self) -> None:
        """Put the lines in the order in which they are stored: that of the file, but what is linked goes together."""
        with _room():
            while self._file.execute(_LATER).rowcount > 0:
                pass
            self._file.execute("CREATE INDEX in_turn ON lines (turn, number)")

    def index_marks(self) -> None:
        """Be ready to be asked what stands beside what: all lines are there."""
        with _room():
            for column in "slot", "words":
                self._file.execute(f"CREATE INDEX by_{column} ON lines ({column}) WHERE {column} IS NOT NULL")

    def batches(self, size: int) -> Iterator[tuple[int, list[Line]]]:
        """Those that change something, in the order in which they are stored, and how many lines those stand for.

        About so many lines at a time; what is linked is not parted.
        """
        after = (-1, -1)
        page = f"SELECT turn, number FROM lines WHERE (turn, number) > (?, ?) ORDER BY turn, number LIMIT {size}"
        while found := self._file.execute(page, after).fetchall():
            turn = found[-1][0]
            among = "(turn, number) > (?, ?) AND turn <= ?"
            lines = self._lines(f"{among} AND fate != {Fate.KNOWN:d} ORDER BY turn, number", [*after, turn])
            [(many, last)] = self._file.execute(
                f"SELECT count(*), max(number) FILTER (WHERE turn = ?) FROM lines WHERE {among}", [turn, *after, turn]
            )
            yield many, lines
            after = (turn, last)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


@contextmanager
def _room() -> Iterator[None]:
    """In the block, a disk that is full is said so."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(
            f"the file cannot be set aside to be checked ({error}): make room in {tempfile.gettempdir()}, or let "
            "TMPDIR name another place. Nothing was imported"
        ) from error


def _cipher() -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
    """How to seal a text and how to open it again, with a key that only these two know."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- an extra
    except ImportError:  # Whoever has nothing encrypted may do without it.
        return bytes, bytes
    cipher, counted = AESGCM(AESGCM.generate_key(128)), iter(range(_NEVER))

    def seal(text: bytes) -> bytes:
        nonce = next(counted).to_bytes(12, "big")
        return nonce + cipher.encrypt(nonce, text, None)

    return seal, lambda sealed: cipher.decrypt(sealed[:12], sealed[12:], None)
