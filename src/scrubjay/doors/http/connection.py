"""A connection: it hears a request in time and within bounds, and is let go of when nobody reads at its other end.

Strangers get this far, before anything asks for a key. The server's own protocol waits for a head for ever, keeps one
of any size, and holds an answer for as long as its reader likes.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TELLS: Final = sys.platform == "linux"
"""Whether the system tells how much of an answer it holds that the other end has not taken."""

if sys.platform == "linux":
    import fcntl
    import termios

HEAD_SECONDS: Final = 20.0
"""For the head of a request to come; and for the rest of a body that nobody waits for any more."""

HEAD_BYTES: Final = 65_536
"""Of a head. What was read in one go with its end may be longer."""

READ_SECONDS: Final = 60.0
"""A reader that takes nothing at all for so long, while an answer waits for it, is cut off."""

UNTOLD: Final = 15
"""How many times as long where the system does not tell what it holds of an answer: it may be megabytes, and nothing of
ours moves until a good part of that is read."""


class Connection(HttpToolsProtocol):
    """One connection of the server."""

    _due: asyncio.TimerHandle | None = None
    """When it is hung up, unless a request begins."""
    _unread: asyncio.TimerHandle | None = None
    """When it is seen whether the reader took anything."""
    _came = 0
    """Bytes since the end of a head or a piece of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server's own
        """Wait for the first request, for a while."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._expect_nothing()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    # What comes in

    def data_received(self, data: bytes) -> None:
        """Read on. A head that does not end is refused, and so is one that takes too long."""
        self._came += len(data)
        super().data_received(data)
        if self._came > HEAD_BYTES and not self.transport.is_closing():
            self._refuse()
        if self._is_idle():
            self._expect()
        else:
            self._expect_nothing()

    def on_headers_complete(self) -> None:
        """A request has begun."""
        self._came = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A body is counted by whoever reads it."""
        self._came = 0
        super().on_body(body)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _refuse(self) -> None:
        if self._is_idle():
            self.send_400_response(f"The head of the request has more than {HEAD_BYTES:,} bytes.")
        else:
            self.transport.abort()

    def _expect(self) -> None:
        if self._due is None:
            self._due = self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _expect_nothing(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _hang_up(self) -> None:
        if self._is_idle():
            self.transport.abort()

    # What goes out

    def pause_writing(self) -> None:
        """More waits for the reader than should: see whether it reads."""
        super().pause_writing()
        self._watch(self._waiting())

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _waiting(self) -> int:
        """Bytes that the reader has not taken: those that wait here, and those that the system holds, if it tells."""
        waiting = self.transport.get_write_buffer_size()
        socket = self.transport.get_extra_info("socket")
        if TELLS and socket is not None:
            with suppress(OSError):
                held = fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4))
                waiting += int.from_bytes(held, sys.byteorder)
        return waiting

    def _watch(self, waiting: int) -> None:
        self._unread = self.loop.call_later(READ_SECONDS * (1 if TELLS else UNTOLD), self._look, waiting)

    def _look(self, before: int) -> None:
        waiting = self._waiting()
        if waiting >= before:
            self.transport.abort()
        else:
            self._watch(waiting)
