"""The roll of the memories that an index holds in memory: what a search filters them by, as columns of numbers."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.model import PLACE_NAMES, Filter

Slots = NDArray[np.intp]

ALWAYS: Final = np.iinfo(np.int64).max
"""Stands for an open end of validity, in microseconds."""

PLACES_ASKED: Final = 64
REMEMBERED: Final = 0.1
"""For so many places it is remembered which rows are there, if those are no more than this part of all."""

_USER: Final = PLACE_NAMES.index("user")

_NO_SLOTS: Final = np.empty(0, dtype=np.intp)


class Roll:
    """Rows of one tenant, each in a slot: where it belongs, of what kind it is, and when it holds.

    Appended to; a row that is replaced or gone is dead, and its slot is not used again. Not safe for threads.
    """

    def __init__(self, *, room: int = 0) -> None:
        self.scopes = Growing(np.int64, room=room)
        self.kinds = Growing(np.int64, room=room)
        self.live = Growing(np.bool_, room=room)
        self.present = Growing(np.bool_, room=room)
        self.since = Growing(np.int64, room=room)
        self.until = Growing(np.int64, room=room)
        self.dead = 0
        self._places = Growing(np.int32, len(PLACE_NAMES))
        self._kind_codes: dict[str, int] = {}
        self._name_codes: dict[str, int] = {"": 0}
        self._scope_codes: dict[int, int] = {}
        self._places_asked: dict[tuple[str, tuple[str | None, ...], str | None], tuple[int, Slots]] = {}
        self._newest_since = -ALWAYS
        self._soonest_until = ALWAYS

    def __len__(self) -> int:
        return len(self.live.all)

    @property
    def size(self) -> int:
        """The bytes that its columns take."""
        return sum(column.size for column in vars(self).values() if isinstance(column, Growing))

    def unknown_scopes(self, numbers: Iterable[int]) -> list[int]:
        """Those of these scope numbers whose names have not been told yet."""
        return list(set(numbers) - self._scope_codes.keys())

    def know_scopes(self, names: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        """Learn what scope numbers stand for: user, project, agent, session and workflow, empty where open."""
        codes = self._name_codes
        told = list(names)
        for number, _ in told:
            self._scope_codes[number] = len(self._scope_codes)
        if told:
            self._places.extend([[codes.setdefault(name, len(codes)) for name in place] for _, place in told])

    def enter(
        self,
        scopes: Sequence[int],
        kinds: Sequence[str],
        live: Sequence[bool],
        begins: Sequence[int],
        ends: Sequence[int | None],
    ) -> None:
        """Append these rows: one at least, in scopes whose names are known.

        Comes last when other columns grow as well: a thread that looks at as many rows as this has finds all of each.
        """
        self.scopes.extend([self._scope_codes[number] for number in scopes])
        codes = self._kind_codes
        self.kinds.extend([codes.setdefault(kind, len(codes)) for kind in kinds])
        self.since.extend(begins)
        self.until.extend([ALWAYS if end is None else end for end in ends])
        self._mind(begins, self.until.all[-len(scopes) :].tolist())
        self.present.extend(np.ones(len(scopes), dtype=np.bool_))
        self.live.extend(live)

    def retell(self, slot: int, *, live: bool, begin: int, end: int | None) -> None:
        """Note when the row in this slot holds, which has changed."""
        until = ALWAYS if end is None else end
        self._mind([begin], [until])
        self.since.all[slot], self.until.all[slot], self.live.all[slot] = begin, until, live

    def _mind(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        self._newest_since = max(self._newest_since, *begins)
        self._soonest_until = min(self._soonest_until, *ends)

    def bury(self, slots: "Slots | Sequence[int]") -> None:
        """Note that the rows in these slots are gone, or have been entered anew."""
        self.live.all[slots] = False
        self.present.all[slots] = False
        self.dead += len(slots)

    def chosen(self, filter: Filter, *, now: int | None) -> Slots:
        """The slots that scope and kinds admit and, unless `now` is None, that are live and hold at that time."""
        places = self.placed(filter)
        if places is None:
            return np.flatnonzero(self.admits(filter, slice(None), now=now))
        return places[self.admits(filter, places, now=now, placed=True)]

    def placed(self, filter: Filter) -> Slots | None:
        """The slots whose scope the filter admits; None when it names no place. Who asks again pays for new rows only.

        A slot never changes its scope, so what was found stays so.
        """
        names = filter.scope.names()
        if not any(names):
            return None
        key, many = (filter.reach, names, filter.scope.bound), len(self)
        known, slots = self._places_asked.pop(key, (0, _NO_SLOTS))
        if known < many:
            admitted = self._admitted_places(filter)
            if admitted is not None:
                newer = np.flatnonzero(admitted.take(self.scopes.all[known:many])) + known
                slots = np.concatenate((slots, newer)) if known else newer
        if len(slots) <= REMEMBERED * many:
            while len(self._places_asked) >= PLACES_ASKED:
                self._places_asked.pop(next(iter(self._places_asked)))
            self._places_asked[key] = (many, slots)
        return slots

    def admits(
        self, filter: Filter, slots: Slots | slice, *, now: int | None, placed: bool = False
    ) -> NDArray[np.bool_]:
        """Whether each of these slots is admitted, as in `chosen`; with `placed`, their scopes are known to be."""
        admitted = (self.present if now is None else self.live).all[slots]
        places = None if placed else self._admitted_places(filter)
        if places is not None:
            admitted = admitted & places.take(self.scopes.all[slots])
        if filter.kinds:
            # In this order: another thread may add a kind meanwhile.
            codes = [self._kind_codes[kind] for kind in filter.kinds if kind in self._kind_codes]
            wanted = np.zeros(len(self._kind_codes), dtype=np.bool_)
            wanted[codes] = True
            admitted = admitted & wanted.take(self.kinds.all[slots])
        elif out := [self._kind_codes[kind] for kind in filter.leaves_out if kind in self._kind_codes]:
            admitted = admitted & ~np.isin(self.kinds.all[slots], out)
        if now is not None and now < self._newest_since:
            admitted = admitted & (self.since.all[slots] <= now)
        if now is not None and now >= self._soonest_until:
            admitted = admitted & (self.until.all[slots] > now)
        return admitted

    def _admitted_places(self, filter: Filter) -> NDArray[np.bool_] | None:
        """Which of the scopes the filter admits, by code; None for all."""
        admitted, binding = None, filter.scope.binding if filter.reach == "sees" else {}
        places = self._places.all
        inside: NDArray[np.bool_] | None = None
        for field, place, name in zip(PLACE_NAMES, places.T, filter.scope.names(), strict=True):
            if name is None and field not in binding:
                continue
            named = place == self._name_codes.get(name, -1) if name is not None else np.zeros(len(place), np.bool_)
            if field in binding:
                inside = named if inside is None else inside & named
            if name is not None:
                named = named | (place == 0) if filter.reach == "sees" else named
                admitted = named if admitted is None else admitted & named
        if inside is not None:
            inside = inside | (places[:, _USER] == 0)
            admitted = inside if admitted is None else admitted & inside
        return admitted


def heap_tops(scores: NDArray[Any], limit: int) -> NDArray[Any]:
    """The best of each of many heaps of scores: the best of these are nearly the best of all, and quicker to find."""
    heaps = len(scores) // 16
    return scores if heaps < 16 * limit else scores[: heaps * 16].reshape(16, heaps).max(axis=0)
