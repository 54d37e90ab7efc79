"""Episodes: memories of what happened, in order. An episode is a view of a memory, as a fact is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args, overload
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.answers import Hit
from scrubjay.model.checks import Json, check_moment, check_name, check_storable, in_utc, shown
from scrubjay.model.layout import indented
from scrubjay.model.memory import Memory, Trust
from scrubjay.model.scope import Scope
from scrubjay.model.working import Message

EpisodeKind: TypeAlias = Literal["message", "observation", "reflection", "plan", "result", "negotiation", "event"]
"""Something said, seen, thought, intended, achieved, negotiated, or anything else that happened."""

EPISODE_KINDS: Final[tuple[EpisodeKind, ...]] = get_args(EpisodeKind)

NEGOTIATION: Final = "negotiation"
MOST_TURNS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a negotiation: who said what, and when if that is known."""

    by: str
    said: str
    at: datetime | None = None

    def __post_init__(self) -> None:
        if self.by is None:
            raise InvalidInput("by is None: a turn names the party that spoke")
        check_name("by", self.by)
        if not isinstance(self.said, str) or not self.said.strip():
            raise InvalidInput(f"said is {shown(self.said)}: give it some text")
        check_storable("said", self.said)
        check_moment("at", self.at)

    def __str__(self) -> str:
        return indented(f"{self.by}: {self.said}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiation:
    """Who negotiated, what was said, turn by turn, and how it ended."""

    parties: tuple[str, ...]
    turns: tuple[Turn, ...] = ()
    outcome: str | None = None
    """How it ended, in words such as `agreed at 110 EUR`; None while it goes on."""

    def __post_init__(self) -> None:
        if not isinstance(self.parties, tuple) or not all(isinstance(party, str | None) for party in self.parties):
            raise InvalidInput(f"parties is {shown(self.parties)}: give a list of names")
        if len(set(self.parties)) != len(self.parties) or len(self.parties) < 2:
            raise InvalidInput(f"parties is {shown(self.parties)}: name at least two, each once")
        for party in self.parties:
            if party is None:
                raise InvalidInput("parties holds None: name each of them")
            check_name("parties", party)
        if not isinstance(self.turns, tuple) or len(self.turns) > MOST_TURNS:
            raise InvalidInput(f"turns is {shown(self.turns)}: use a list of at most {MOST_TURNS:,} turns")
        for turn in self.turns:
            if turn.by not in self.parties:
                raise InvalidInput(f"a turn is by {shown(turn.by)}, who is no party: parties are {self.parties}")
        if self.outcome is not None:
            if not isinstance(self.outcome, str) or not self.outcome.strip():
                raise InvalidInput(f"outcome is {shown(self.outcome)}: say how it ended, or leave it out")
            check_storable("outcome", self.outcome)

    @property
    def text(self) -> str:
        """The transcript: what a search should find it by."""
        heading = f"Negotiation between {', '.join(self.parties)}"
        ending = [indented(f"Outcome: {self.outcome}")] if self.outcome is not None else []
        return "\n".join([heading, *map(str, self.turns), *ending])

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them."""
        turns: list[Json] = [
            {"by": turn.by, "said": turn.said, **({"at": turn.at.isoformat()} if turn.at is not None else {})}
            for turn in self.turns
        ]
        kept: dict[str, Json] = {"parties": list(self.parties), "turns": turns}
        return kept | ({"outcome": self.outcome} if self.outcome is not None else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Something that happened: what, to whom, and when."""

    memory: Memory

    def __post_init__(self) -> None:
        if not self.memory.is_event:
            raise InvalidInput(
                f"memory {self.memory.id} is a {self.memory.kind}, not an episode: those are {', '.join(EPISODE_KINDS)}"
            )

    @property
    def id(self) -> UUID:
        """The id of its memory."""
        return self.memory.id

    @property
    def kind(self) -> str:
        """What sort of episode it is."""
        return self.memory.kind

    @property
    def content(self) -> str:
        """What was said, seen or done."""
        return self.memory.content

    @property
    def at(self) -> datetime:
        """When it happened, as far as clocks knew."""
        return self.memory.valid_from

    @property
    def position(self) -> int | None:
        """Its place in its session: exact, also when clocks are not. None outside a session."""
        return self.memory.position

    @property
    def scope(self) -> Scope:
        """Where it happened."""
        return self.memory.scope

    @property
    def author(self) -> str | None:
        """Who said or did it."""
        return self.memory.author

    @property
    def role(self) -> str | None:
        """Of a message: who spoke, in the words of chat models."""
        role = self.memory.data.get("role")
        return role if isinstance(role, str) else None

    @property
    def data(self) -> dict[str, Json]:
        """What else is kept with it."""
        return self.memory.data

    @property
    def trust(self) -> Trust:
        """How far to follow its words."""
        return self.memory.trust

    @property
    def negotiation(self) -> Negotiation | None:
        """The parties, the turns and the outcome, when it is a transcript of a negotiation."""
        if self.kind != NEGOTIATION or not isinstance(self.data.get("parties"), list):
            return None
        return negotiation_of(self.data)

    def __str__(self) -> str:
        return indented(f"{self.author or self.role or self.kind}: {self.content}")

    def __repr__(self) -> str:
        place = f" {self.position}" if self.position is not None else ""
        return f"<Episode {self.id} {self.kind}{place} {str(self)[:60]!r} ({self.scope})>"


def negotiation_of(fields: Mapping[str, Any]) -> Negotiation:
    """The negotiation that these fields spell. Raises InvalidInput, naming the field that is wrong."""
    parties, turns, outcome = fields.get("parties"), fields.get("turns") or [], fields.get("outcome")
    if isinstance(parties, str) or not isinstance(parties, Sequence):
        raise InvalidInput(f"parties is {shown(parties)}: name at least two, each once")
    if isinstance(turns, str) or not isinstance(turns, Sequence):
        raise InvalidInput(f"turns is {shown(turns)}: use a list such as [{{'by': 'buyer', 'said': '100 EUR?'}}]")
    return Negotiation(parties=tuple(parties), turns=tuple(_turn(one) for one in turns), outcome=outcome)


def _turn(given: Any) -> Turn:  # noqa: ANN401 -- what a caller or a store gives; the value checks itself
    match given:
        case Turn():
            return given
        case {"by": by, "said": said, **rest} if rest.keys() <= {"at"}:
            at: Any = rest.get("at")
            return Turn(by=by, said=said, at=_moment(at) if isinstance(at, str) else in_utc("at", at))
        case [by, said]:
            return Turn(by=by, said=said)
    raise InvalidInput(f"a turn is {shown(given)}: use {{'by': …, 'said': …}}, with `at` if it is known")


def _moment(text: str) -> datetime | None:
    try:
        return in_utc("at", datetime.fromisoformat(text))
    except ValueError as error:
        raise InvalidInput(f"at is {shown(text)}: use a moment such as 2026-03-01T12:00:00+00:00") from error


Happened: TypeAlias = Message | Episode
"""A message that the session still holds, or what was stored of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentContext(Sequence[Happened]):
    """What just happened in a session, in order. `str()` writes it, one below the other, in exactly `tokens` tokens."""

    happened: tuple[Happened, ...] = ()
    tokens: int = 0
    budget: int
    degraded: tuple[str, ...] = ()
    """The parts that could not take part, such as `working`: what is here is right, but some of it is missing."""

    @overload
    def __getitem__(self, place: int) -> Happened: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Happened, ...]: ...
    def __getitem__(self, place: int | slice) -> Happened | tuple[Happened, ...]:
        return self.happened[place]

    def __len__(self) -> int:
        return len(self.happened)

    def __iter__(self) -> Iterator[Happened]:
        return iter(self.happened)

    @property
    def text(self) -> str:
        """All of it, as `str()` writes it."""
        return str(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self.happened))

    def __repr__(self) -> str:
        return f"<RecentContext {self.tokens}/{self.budget} tokens, {len(self.happened)} entries>"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeHit:
    """An episode that answers, why it does, and what happened around it."""

    hit: Hit
    before: tuple[Episode, ...] = ()
    """Just before it in its session, in order."""
    after: tuple[Episode, ...] = ()

    @property
    def episode(self) -> Episode:
        """The one that was found."""
        return Episode(memory=self.hit.memory)

    @property
    def score(self) -> float:
        """How well it fits, from 0 to 1."""
        return self.hit.score

    @property
    def why(self) -> str:
        """Why it is an answer."""
        return self.hit.why

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.before, self.episode, *self.after)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeHits(Sequence[EpisodeHit]):
    """The episodes that answer one question, best first."""

    hits: tuple[EpisodeHit, ...]
    degraded: tuple[str, ...] = ()
    milliseconds: float = 0.0

    @overload
    def __getitem__(self, place: int) -> EpisodeHit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[EpisodeHit, ...]: ...
    def __getitem__(self, place: int | slice) -> EpisodeHit | tuple[EpisodeHit, ...]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[EpisodeHit]:
        return iter(self.hits)
