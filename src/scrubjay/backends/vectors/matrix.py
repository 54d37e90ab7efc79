"""The vectors of one tenant and one generation in memory, and exact search among them.

Each row is held twice: as half floats, which is what is stored, and as bytes with a scale, a quarter of the size of
floats and several times as fast to scan. The scan only decides what is worth a closer look: how far a byte score can be
from the true one is known, so every row that could still be among the best is scored again from its half floats.
The answer is the exact one, whatever the data; but from very many rows on, signs say first which are likely to be near.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from itertools import repeat
from threading import Lock
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import simsimd
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.backends.packed import packed_of
from scrubjay.backends.roll import Roll, Slots, heap_tops
from scrubjay.backends.sql.types import id_from
from scrubjay.backends.vectors.coded import Question, quantized
from scrubjay.backends.vectors.signs import Signs
from scrubjay.backends.vectors.whereabouts import Whereabouts
from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model import PLACE_NAMES
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.ports import Match

FEW: Final = 48
"""So few rows are scored from their half floats at once: a scan before would not pay."""

GATHERED: Final = 0.4
"""Below this share, copying the rows that a filter keeps is quicker than scanning those that it drops."""

WIDENED: Final = 256
"""Rows that are widened at a time when they are taken in: what it takes beside stays small."""

ASKED_AGAIN: Final = 256
HELD: Final = 16
"""Rows of one selection that are held as they are compared, and selections of which that is so: those asked last.

Whoever works in a narrow scope asks for the same rows again and again, and to widen a hundred takes 35 µs.
"""

_SESSION: Final = PLACE_NAMES.index("session")

DIGITS: Final = 7
"""Scores are rounded to this, so that equal vectors have equal scores in whatever order a sum was taken."""


class Row(NamedTuple):
    """A row of the table `vectors`, as a matrix takes it in. A vector of None says that the memory lost this part."""

    row: int
    change: int
    id: bytes
    start: int
    stop: int
    scope: int
    kind: str
    live: bool
    since: int
    until: int | None
    vector: bytes | None


class Held(NamedTuple):
    """Few rows as they are compared and told, in the order of their ids and parts: whichever score alike stay in it."""

    exact: NDArray[np.float64]
    lengths: NDArray[np.float64]
    told: Sequence[NDArray[Any]]
    """The columns of `_told`, as objects."""


class Matrix(Roll):
    """A roll with the vectors of its rows.

    Not safe for threads, with one exception: `nearest` works on rows that were chosen before, and may run while
    others append.
    """

    def __init__(self, dimensions: int, *, room: int = 0) -> None:
        super().__init__(room=room)
        self.dimensions = dimensions
        self.codes = Growing(np.int8, dimensions, room=room)
        self.halves = Growing(np.float16, dimensions, room=room)
        self.scales = Growing(np.float32, room=room)
        self.lengths = Growing(np.float64, room=room)
        self.missed = Growing(np.float32, room=room)
        self.rows = Growing(np.int64, room=room)
        self.changes = Growing(np.int64, room=room)
        self.ids = Growing(np.uint8, 16, room=room)
        self.owners = Growing(np.int64, room=room)
        self.spans = Growing(np.int32, 2, room=room)
        self.signs = Signs(dimensions)
        self._whereabouts = Whereabouts(self.ids, self.present)
        self._divided = False
        self._held: OrderedDict[bytes, Held] = OrderedDict()
        self._held_lock = Lock()

    @property
    def size(self) -> int:
        """The bytes it takes, about."""
        with self._held_lock:
            held = sum(one.exact.nbytes for one in self._held.values())
        return super().size + self.signs.size + held + self._whereabouts.size

    def check_dimensions(self, dimensions: int) -> None:
        """Refuse a vector of another size."""
        if dimensions != self.dimensions:
            raise InvalidInput(
                f"vectors of {dimensions} and of {self.dimensions} dimensions cannot be compared: ask with the model "
                "that made this generation"
            )

    def absorb(self, chunk: Sequence[Sequence[Any]], *, since: int) -> None:
        """Take in rows shaped like `Row`. What was held of these memories before slot `since` is replaced by them.

        All rows of a memory change together, so they come together; but a long feed comes in chunks, which may part
        them. `since` is the length at the start of the feed.
        """
        if since:
            self.bury(self._whereabouts.leave((row[2] for row in chunk), before=since))
        columns = list(zip(*(row for row in chunk if row[10] is not None), strict=True))
        if not columns:
            return
        rows, changes, ids, starts, stops, scopes, kinds, live, begins, ends, blobs = columns
        self._append_vectors(blobs)
        self.rows.extend(rows)
        self.changes.extend(changes)
        self.ids.extend(np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 16))
        self._note(self._whereabouts.enter(ids, len(self.owners.all)))
        self.spans.extend(np.array((starts, stops)).T)
        self.enter(scopes, kinds, live, begins, ends)
        self._whereabouts.settle()

    def _note(self, owners: Sequence[int]) -> None:
        """Note the first slot of the memory of each new row, which stands for the memory."""
        first = len(self.owners.all)
        self.owners.extend(owners)
        self._divided = self._divided or owners != list(range(first, first + len(owners)))

    def _append_vectors(self, blobs: Sequence[bytes]) -> None:
        if widths := {len(blob) for blob in blobs} - {2 * self.dimensions}:
            raise StoreDamaged(
                f"a vector of {min(widths)} bytes is among those of {2 * self.dimensions}: "
                "run `scrubjay doctor --fix`, then `scrubjay reindex`"
            )
        for start in range(0, len(blobs), WIDENED):
            some = blobs[start : start + WIDENED]
            self._append_halves(np.frombuffer(b"".join(some), dtype="<f2").reshape(len(some), self.dimensions))
        self.signs.keep_up(self.halves.all)

    def _append_halves(self, halves: NDArray[np.float16]) -> None:
        exact = halves.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
        lengths[lengths == 0] = 1.0
        unit = (exact / lengths[:, None]).astype(np.float32)
        codes, scales = quantized(unit)
        unit -= codes * scales[:, None]
        self.codes.extend(codes)
        self.halves.extend(halves)
        self.scales.extend(scales)
        self.lengths.extend(lengths)
        # Last: a search that goes on meanwhile takes as many of the others as there are of these.
        self.missed.extend(np.sqrt(np.einsum("ij,ij->i", unit, unit)))

    def compacted(self) -> "Matrix":
        """A copy without the dead rows."""
        keep = np.flatnonzero(self.present.all)
        copy = Matrix(self.dimensions, room=len(keep))
        for name, column in vars(self).items():
            if isinstance(column, Growing):
                getattr(copy, name).extend(column.all if name == "_places" else column.all[keep])
        copy._kind_codes, copy._name_codes = self._kind_codes, self._name_codes
        copy._scope_codes = self._scope_codes
        copy._newest_since, copy._soonest_until = self._newest_since, self._soonest_until
        copy.signs.keep_up(copy.halves.all)
        # All rows of a memory go together, so the first one of those that are left is left too.
        copy.owners.all[:] = np.searchsorted(keep, copy.owners.all)
        copy._divided = bool(np.any(copy.owners.all != np.arange(len(keep))))
        copy._whereabouts.settle_all()
        return copy

    def slots_of(self, ids: Sequence[UUID]) -> Slots:
        """Where the vectors of these memories are, as far as there are any, in the order of the slots."""
        return self._whereabouts.of(list(dict.fromkeys(packed_of(ids))))

    def nearest(self, asked: Question, slots: Slots, limit: int) -> list[Match]:
        """The memories nearest to the question among these slots, best first, each once.

        Exact among fewer than `signs.MANY`; of the nearest among more, one in a thousand to one in a hundred is missed.
        """
        likely = self.signs.likely(asked, slots, limit)
        # Of long texts, all that is likely may be parts of a few.
        if likely is slots or not self._divided or len(np.unique(self.owners.all[likely])) >= limit:
            slots = likely
        if len(slots) > max(FEW, 2 * limit):
            return self.ranked(asked, slots[self.worth_a_look(asked, slots, limit)], limit)
        return (
            self._ranked_again(asked, slots, limit) if len(slots) <= ASKED_AGAIN else self.ranked(asked, slots, limit)
        )

    def worth_a_look(self, asked: Question, slots: Slots, limit: int) -> Slots:
        """Which of the slots may be among the best, by their bytes: all that are, and few that are not."""
        missed = self.missed.all
        codes, scales = self.codes.all[: len(missed)], self.scales.all[: len(missed)]
        whole = len(slots) >= GATHERED * len(missed)
        if not whole:
            codes, scales, missed = codes.take(slots, axis=0), scales.take(slots), missed.take(slots)
        scores = np.asarray(simsimd.cdist(asked.coded.codes, codes, metric="dot", out_dtype="float32"))[0] * scales
        if whole and len(slots) < len(scores):
            scores, missed = scores.take(slots), missed.take(slots)
        # Let a row be its bytes plus e, and the question its bytes plus f: a byte score is off by |e| + |f|(1 + |e|) at
        # most. So the best rows are truly worth their score less that, and who may be better than one of them has a
        # byte score that is as high or higher with as much added.
        off = (missed * (1 + asked.coded.missed) + (asked.coded.missed + 1e-6)) / asked.coded.scale
        return np.flatnonzero(scores + off >= self._least(scores - off, slots, limit))

    def _least(self, scores: NDArray[Any], slots: Slots, limit: int) -> float:
        """A score that rows of `limit` memories or more reach, as high as is cheap to find; -inf if there are fewer."""
        tops = heap_tops(scores, limit)
        take = limit
        while take < len(scores):
            if take >= len(tops):
                tops = scores
            least = float(np.partition(tops, len(tops) - take)[len(tops) - take])
            if not self._divided or len(np.unique(self.owners.all[slots[scores >= least]])) >= limit:
                return least
            take *= 2
        return -math.inf

    def ranked(self, asked: Question, slots: Slots, limit: int) -> list[Match]:
        """The memories of these slots by their exact scores, best first, each once with its best part."""
        scores = self.halves.all.take(slots, axis=0).astype(np.float64) @ asked.exact
        scores = np.round(scores / self.lengths.all.take(slots), DIGITS)
        if len(slots) > limit:
            best = np.flatnonzero(scores >= self._least(scores, slots, limit))
            slots, scores = slots.take(best), scores.take(best)
        order = np.lexsort((*self._by_id(slots), -scores))
        if not self._divided:
            order = order[:limit]
        return self._each_once(scores.take(order), self._told(slots.take(order)), limit)

    def _ranked_again(self, asked: Question, slots: Slots, limit: int) -> list[Match]:
        """The same for few slots, which are probably asked for again."""
        held = self._held_of(slots)
        scores = (held.exact @ asked.exact / held.lengths).round(DIGITS)
        order = (-scores).argsort(kind="stable")
        if not self._divided:
            order = order[:limit]
        return self._each_once(scores.take(order), [column.take(order).tolist() for column in held.told], limit)

    def _held_of(self, slots: Slots) -> Held:
        """These rows as they are compared. What is in a slot never changes, so what was made once stays right."""
        key = slots.tobytes()
        with self._held_lock:
            held = self._held.pop(key, None)
            if held is not None:
                self._held[key] = held
                return held
        slots = slots.take(np.lexsort(self._by_id(slots)))
        exact = self.halves.all.take(slots, axis=0).astype(np.float64)
        held = Held(exact, self.lengths.all.take(slots), [np.array(column, object) for column in self._told(slots)])
        with self._held_lock:
            self._held[key] = held
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return held

    def _by_id(self, slots: Slots) -> tuple[NDArray[Any], ...]:
        """What orders rows that score alike: their ids, then their parts; the last counts most."""
        ids, spans = self.ids.all.take(slots, axis=0).view(">u8"), self.spans.all.take(slots, axis=0)
        return spans[:, 1], spans[:, 0], ids[:, 1], ids[:, 0]

    def _told(self, slots: Slots) -> tuple[list[Any], ...]:
        """What a match says of each of these rows, but for its score."""
        ids = map(id_from, self.ids.all.take(slots, axis=0).view("V16").ravel().tolist())
        starts, stops = self.spans.all.take(slots, axis=0).T.tolist()
        outside = self._places.all[:, _SESSION].take(self.scopes.all.take(slots)) == 0
        alone = outside & (self.kinds.all.take(slots) != self._kind_codes.get(MESSAGE_KIND, -1))
        return list(ids), starts, stops, alone.tolist(), outside.tolist()

    def _each_once(self, scores: NDArray[np.float64], told: Sequence[list[Any]], limit: int) -> list[Match]:
        """The matches of these rows, best first, each memory once."""
        ids, *rest = told
        found = zip(ids, scores.tolist(), *rest, strict=True)
        # What `Match` does itself, but for a hundred at once and without a call of each.
        matches: list[Match] = list(map(tuple.__new__, repeat(Match), found))
        if self._divided:
            # The best part of a memory comes first, and stands for it.
            parts = {match.id: match for match in reversed(matches)}
            matches = [match for match in matches if parts[match.id] is match][:limit]
        return matches
