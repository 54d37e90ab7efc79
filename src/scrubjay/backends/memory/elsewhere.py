"""Notes of what is kept in other places, on a dict: the reference."""

from datetime import datetime

from scrubjay.ports.at_rest import KeptElsewhere


class MemoryElsewhere:
    """The `Elsewhere` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], KeptElsewhere] = {}

    async def kept(self, what: str) -> list[KeptElsewhere]:
        """Return where it was kept, and since when, the oldest first; nothing when it was always here."""
        return [note for note in self.whole() if note.what == what]

    async def keep(self, what: str, place: str, *, at: datetime) -> None:
        """Note that it is kept in this place, too."""
        self._notes.setdefault((what, place), KeptElsewhere(what, place, at))

    async def forget(self, what: str, *, but: str) -> None:
        """Note that nothing of it is kept elsewhere, but in this place."""
        self._notes = {name: note for name, note in self._notes.items() if note.what != what or note.place == but}

    def whole(self) -> tuple[KeptElsewhere, ...]:
        """Everything that is noted, the oldest first."""
        return tuple(sorted(self._notes.values(), key=lambda note: (note.at, note.what, note.place)))
