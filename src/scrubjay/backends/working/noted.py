"""What can be said of a session whose store is away: that which was noted since, and nothing else."""

from collections.abc import Sequence
from datetime import datetime

from scrubjay.errors import StoreUnavailable
from scrubjay.model import Scope
from scrubjay.model.working import Message, Scratch, Session
from scrubjay.ports.working import Operation


class Noted:
    """A session as the changes leave it that were noted for it, in their order."""

    def __init__(self, scope: Scope, operations: Sequence[Operation]) -> None:
        self.scope = scope
        self.messages: dict[object, Message] = {}
        self._pad: dict[str, Scratch | None] = {}
        """Values by name; None for one that was deleted."""
        self._is_whole = False
        """Whether nothing is on the scratchpad but what is in `_pad`."""
        self._started_at: datetime | None = None
        self._expires_at: datetime | None = None
        self._ended_at: datetime | None = None
        for operation in operations:
            self._make(operation)

    def is_over(self, now: datetime) -> bool:
        """Whether it is known to be over."""
        return self._ended_at is not None or (self._expires_at is not None and self._expires_at <= now)

    def value(self, name: str, now: datetime) -> Scratch | None:
        """The value of this name. Raises StoreUnavailable when only the store can tell."""
        if self.is_over(now):
            return None
        if name not in self._pad and not self._is_whole:
            raise StoreUnavailable(f"scratch value {name!r} is where working memory is away. Try again when it is back")
        return self._pad.get(name)

    def pad(self, now: datetime) -> list[Scratch]:
        """All values by name. Raises StoreUnavailable when only the store can tell."""
        if self.is_over(now):
            return []
        if not self._is_whole:
            raise StoreUnavailable("the scratchpad is where working memory is away. Try again when it is back")
        return [value for _, value in sorted(self._pad.items()) if value is not None]

    def session(self) -> Session | None:
        """What is known of the session; None when nothing was noted."""
        if self._started_at is None or self._expires_at is None:
            return None
        return Session(
            scope=self.scope,
            messages=len(self.messages),
            first=0,
            bytes=self.bytes,
            started_at=self._started_at,
            expires_at=self._expires_at,
            ended_at=self._ended_at,
        )

    @property
    def bytes(self) -> int:
        """What the noted messages take."""
        return sum(message.bytes for message in self.messages.values())

    def _make(self, operation: Operation) -> None:
        if operation.do in ("append", "set"):
            self._renew(operation)
        self.messages |= {message.id: message for message in operation.messages if message.id not in self.messages}
        match operation.do:
            case "set" if operation.scratch is not None:
                self._pad[operation.scratch.name] = operation.scratch
            case "delete" if operation.name is not None:
                self._pad[operation.name] = None
            case "extend" if operation.ttl is not None and not self.is_over(operation.at):
                self._expires_at = operation.at + operation.ttl
            case "end" if not self.is_over(operation.at):
                self._started_at = self._started_at or operation.at
                self._expires_at = self._expires_at or operation.at
                self._ended_at = operation.at
                self._clear()

    def _renew(self, operation: Operation) -> None:
        if self.is_over(operation.at):
            self._clear()
            self._started_at, self._ended_at = operation.at, None
        self._started_at = self._started_at or operation.at
        if operation.ttl is not None:
            self._expires_at = operation.at + operation.ttl

    def _clear(self) -> None:
        self._pad.clear()
        self._is_whole = True
