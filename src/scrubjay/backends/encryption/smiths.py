"""How each kind of thing that lies beside memories is sealed anew, and which keys it needs as it is."""

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from scrubjay.backends.encryption.answers import open_answer, seal_answer
from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.stored import keys_of, numbers_in, resealed_memory
from scrubjay.backends.encryption.upkeep import of_trouble
from scrubjay.backends.encryption.vault import Rules
from scrubjay.backends.encryption.working import open_message, open_scratch, seal_message, seal_scratch
from scrubjay.model.sealed import key_in
from scrubjay.model.work import Trouble
from scrubjay.ports.at_rest import Archived, AtRest, KeptAnswer, Said

Item = TypeVar("Item")


class Smith(Protocol[Item]):
    """Knows how one kind of thing is sealed."""

    def tenant(self, item: Item) -> str:
        """Whose it is."""

    def keys(self, item: Item, ring: Ring, rules: Rules) -> list[int]:
        """The number of the key of each text in it; `PLAIN` for one that should be encrypted and is not."""

    def resealed(self, item: Item, ring: Ring, rules: Rules) -> Item:
        """The same, with each of those texts sealed with the newest key. Its plain text is as it was."""


@dataclass(frozen=True, slots=True)
class Place(Generic[Item]):
    """Where things of one kind lie, and who knows how they are sealed."""

    store: AtRest[Item]
    smith: Smith[Item]


class SessionSmith:
    """Messages and scratch values."""

    def tenant(self, item: Said) -> str:
        """Whose session it is."""
        return item.scope.tenant

    def keys(self, item: Said, ring: Ring, rules: Rules) -> list[int]:  # noqa: ARG002 -- the protocol's shape
        """The number of the key of each message and value."""
        texts = [one.content for one in item.messages]
        texts += [one.value if isinstance(one.value, str) else "" for one in item.scratch]
        return numbers_in(texts, is_secret=rules.encrypt == "all")

    def resealed(self, item: Said, ring: Ring, rules: Rules) -> Said:
        """The same, sealed with the newest key. What is in plain and may be stays as it is."""
        scope, encrypts = item.scope, rules.encrypt == "all"

        def is_right(said: object) -> bool:
            number = key_in(said) if isinstance(said, str) else None
            return number == ring.newest or (number is None and not encrypts)

        messages = [
            one if is_right(one.content) else seal_message(ring, scope, open_message(ring, scope, one))
            for one in item.messages
        ]
        values = [
            one if is_right(one.value) else seal_scratch(ring, scope, open_scratch(ring, scope, one))
            for one in item.scratch
        ]
        return replace(item, messages=tuple(messages), scratch=tuple(values))


class AnswerSmith:
    """Kept answers: sealed for every tenant that has keys."""

    def tenant(self, item: KeptAnswer) -> str:
        """Whose request it answers."""
        return item.claim.tenant

    def keys(self, item: KeptAnswer, ring: Ring, rules: Rules) -> list[int]:  # noqa: ARG002 -- the protocol's shape
        """The number of the key of its body."""
        return numbers_in([item.body[:64].decode("latin-1")], is_secret=bool(ring.keys))

    def resealed(self, item: KeptAnswer, ring: Ring, rules: Rules) -> KeptAnswer:  # noqa: ARG002 -- likewise
        """The same, sealed with the newest key."""
        return replace(item, body=seal_answer(ring, item.claim, open_answer(ring, item.claim, item.body)))


class TroubleSmith:
    """Work that failed."""

    def tenant(self, item: Trouble) -> str:
        """Whose work it is."""
        return item.scope.tenant

    def keys(self, item: Trouble, ring: Ring, rules: Rules) -> list[int]:  # noqa: ARG002 -- the protocol's shape
        """The number of the key of what it was about."""
        return numbers_in([item.body or ""], is_secret=rules.encrypt == "all")

    def resealed(self, item: Trouble, ring: Ring, rules: Rules) -> Trouble:  # noqa: ARG002 -- likewise
        """The same, sealed with the newest key."""
        bound = of_trouble(item.scope, item.item)
        return replace(item, body=ring.seal_text(ring.open_text(item.body or "", bound=bound), bound=bound))


class ArchiveSmith:
    """Archived episodes, which are sealed as memories are."""

    def tenant(self, item: Archived) -> str:
        """Whose episodes they are."""
        return item.tenant

    def keys(self, item: Archived, ring: Ring, rules: Rules) -> list[int]:  # noqa: ARG002 -- the protocol's shape
        """The number of the oldest key that each episode needs."""
        return [min(needed) for one in item.memories if (needed := keys_of(one, rules))]

    def resealed(self, item: Archived, ring: Ring, rules: Rules) -> Archived:
        """The same, sealed with the newest key."""
        memories = [
            resealed_memory(ring, one, rules) if set(keys_of(one, rules)) - {ring.newest} else one
            for one in item.memories
        ]
        return replace(item, memories=tuple(memories))
