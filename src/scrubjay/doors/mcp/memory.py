"""The memory behind the tools: opened by the first call that needs it, so that the handshake waits for nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from scrubjay.errors import Misconfigured
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.client import RemoteScrubjay
    from scrubjay.service import Scrubjay


class LazyMemory:
    """A memory that opens when it is first asked for, and closes once."""

    def __init__(self, opened: Callable[[], Awaitable["Scrubjay"]]) -> None:
        self._opened = opened
        self._opening: asyncio.Task[Scrubjay] | None = None

    async def get(self) -> "Scrubjay":
        """The open memory. Raises what keeps it from opening; the next call tries again."""
        if self._opening is None or (self._opening.done() and self._failed()):
            self._opening = asyncio.create_task(self._open(), name="scrubjay-opening")
        # A call that is cancelled must not take the memory of the others with it.
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        """Finish what is under way and let go of everything. Safe when it was never opened."""
        if self._opening is None:
            return
        await asyncio.wait([self._opening])
        if not self._failed():
            await self._opening.result().close()

    async def _open(self) -> "Scrubjay":
        return await self._opened()

    def _failed(self) -> bool:
        opening = self._opening
        return opening is None or opening.cancelled() or opening.exception() is not None


def opener(settings: Settings) -> Callable[[], Awaitable["Scrubjay"]]:
    """How to open the memory that the settings name: this machine's own, or a server's when there is a URL."""
    return _remote(settings) if settings.url else _embedded(settings)


def _embedded(settings: Settings) -> Callable[[], Awaitable["Scrubjay"]]:
    async def opened() -> "Scrubjay":
        # Loading takes a second: on a thread, so that a ping is answered meanwhile.
        wire = await asyncio.to_thread(_wire)
        jay = wire(settings)
        try:
            return await jay.start()
        except BaseException:
            await jay.close()
            raise

    return opened


def _wire() -> Callable[[Settings], "Scrubjay"]:
    from scrubjay.wiring import wire  # noqa: PLC0415 -- loads the service; the handshake needs none of it

    return wire


def _remote(settings: Settings) -> Callable[[], Awaitable["Scrubjay"]]:
    async def opened() -> "Scrubjay":
        connect = await asyncio.to_thread(_connect)
        remote = connect(settings.url, key=settings.key.get_secret_value() or None)
        # The same verbs and values, so the tools need not know the difference.
        return cast("Scrubjay", await remote.start())

    return opened


def _connect() -> "Callable[..., RemoteScrubjay]":
    try:
        from scrubjay.client import connect_async  # noqa: PLC0415 -- the same, and httpx is an extra
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"SCRUBJAY_URL needs {error.name}, which is not installed: pip install 'scrubjay[client]'"
        ) from error
    return connect_async
