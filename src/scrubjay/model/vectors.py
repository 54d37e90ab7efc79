"""The vector engine and its mirror: what each holds, and what rebuilding did."""

from dataclasses import dataclass

from scrubjay.model.answers import Generation
from scrubjay.model.health import StoreHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Of how many memories there are vectors of one generation, and where."""

    generation: Generation
    marked: int
    """Memories that the records say are indexed with it."""
    engine: int | None
    """In the engine; None while that cannot be asked."""
    mirror: int | None = None
    """In the mirror; None where there is none."""
    unmirrored: int = 0
    """Marked memories that the mirror lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorsStatus:
    """How the vector engine and its mirror are doing."""

    engine: str
    """The short name that the records know it by; empty before anything was indexed."""
    health: StoreHealth
    is_mirrored: bool
    is_filling: bool
    """Whether the engine is being filled: until it has everything, the mirror answers."""
    waiting: int
    """Memories that wait to be indexed."""
    generations: tuple[Coverage, ...] = ()

    @property
    def advice(self) -> str:
        """What to do, in one sentence; empty when nothing has to be done."""
        if self.health.state == "down":
            return "bring the engine back; writes are kept, and what waits is indexed then"
        if self.is_mirrored and any(one.unmirrored for one in self.generations):
            return "the mirror lacks vectors that the engine may have: run `scrubjay vectors mirror`"
        if any(one.engine is not None and one.engine < one.marked for one in self.generations):
            run = "vectors rebuild" if self.is_mirrored else "reindex"
            return f"the engine lacks vectors that the records count on: run `scrubjay {run}`"
        if self.is_filling or self.waiting:
            return "run `scrubjay reindex`, or leave it to the background"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What rebuilding an engine did."""

    generations: tuple[int, ...]
    """Those that it has again, by their numbers."""
    memories: int
    """That were given to it, over all generations."""
    embedded: int
    """Those among them that had to be embedded, since the mirror lacked them."""
