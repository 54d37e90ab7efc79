"""A conversation that has begun already: the library hears what was said, and does not answer it once more."""

from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

Heard: TypeAlias = SessionMessage | Exception
"""A message, or what keeps a line from being one: the library tells the client."""


def heard(line: bytes) -> Heard:
    """What a line says, as the library reads it."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return error


class _Passing:
    """One direction of the conversation, which is over when the one that it passes on is."""

    def __init__(self, rest: "ReadStream[Heard] | WriteStream[SessionMessage]") -> None:
        self._whole = rest

    async def aclose(self) -> None:
        """End it."""
        await self._whole.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Replayed(_Passing):
    """What the client says, from the beginning: first what was read before, then what comes."""

    def __init__(self, first: Heard, rest: "ReadStream[Heard]") -> None:
        super().__init__(rest)
        self._first: Heard | None = first
        self._rest = rest

    async def receive(self) -> Heard:
        """The next message. Raises anyio.EndOfStream after the last."""
        first, self._first = self._first, None
        return first if first is not None else await self._rest.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Heard:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Unrepeated(_Passing):
    """What is said to the client, without the answer that it has already."""

    def __init__(self, answered: types.RequestId, rest: "WriteStream[SessionMessage]") -> None:
        super().__init__(rest)
        self._answered: types.RequestId | None = answered
        self._rest = rest

    async def send(self, item: SessionMessage, /) -> None:
        """Say it, unless it was said."""
        said = item.message
        if (
            self._answered is not None
            and isinstance(said, types.JSONRPCResponse | types.JSONRPCError)
            and said.id == self._answered
        ):
            self._answered = None
            return
        await self._rest.send(item)
