"""Scrubjay under the OpenAI Agents SDK: a session that remembers, shared by all processes on the same stores.

    with scrubjay.open() as jay:
        await Runner.run(agent, "Where is my order?", session=ScrubjaySession("chat-7", jay, user="ada"))

It is the SDK's `Session` protocol. The SDK itself is not imported: pip install 'scrubjay[openai-agents]' brings it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Unpack

from scrubjay.adapters.bridge import Bridge
from scrubjay.errors import InvalidInput
from scrubjay.memories.frameworks.transcript import Transcript
from scrubjay.model import Where
from scrubjay.model.checks import check_whole, shown
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay


class ScrubjaySession:
    """The history of one conversation, as the SDK's runner reads and writes it.

    What was said and called is also remembered as messages of the session `session_id`: `recall`, `context` and
    consolidation know of it. The rest of the scope is given as keywords, and the same id in another scope is another
    conversation. `session_settings` is the SDK's; its limit holds wherever none is given.
    """

    def __init__(
        self,
        session_id: str,
        jay: Scrubjay | SyncScrubjay,
        *,
        session_settings: Any = None,  # noqa: ANN401 -- the SDK's own class, which is not imported, or a dict
        **where: Unpack[Where],
    ) -> None:
        if where.get("session") is not None:
            raise InvalidInput(f"session is {where['session']!r}: leave it out, it is the session_id {session_id!r}")
        self.session_id = session_id
        self.session_settings = session_settings
        self._bridge = Bridge(jay)
        where["session"] = session_id
        self._transcript = Transcript(self._bridge.jay, **where)

    async def get_items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the items of the conversation in order: all, or the newest `limit`."""
        most = limit if limit is not None else self._usual_limit()
        if most is not None:
            check_whole("limit", most, least=0, most=2**31)
        return await self._bridge.awaited(partial(self._transcript.tail, most))

    async def add_items(self, items: list[dict[str, Any]]) -> None:
        """Put these behind all others, together and in this order: all, or none. Durable on return."""
        await self._bridge.awaited(partial(self._transcript.add, items))

    async def pop_item(self) -> dict[str, Any] | None:
        """Take the newest item away and return it; None when there is none."""
        return await self._bridge.awaited(self._transcript.pop)

    async def clear_session(self) -> None:
        """Forget the whole conversation."""
        await self._bridge.awaited(self._transcript.clear)

    def _usual_limit(self) -> int | None:
        settings = self.session_settings
        if settings is None:
            return None
        limit = settings.get("limit") if isinstance(settings, Mapping) else getattr(settings, "limit", None)
        if limit is not None and not isinstance(limit, int):
            raise InvalidInput(f"the limit of session_settings is {shown(limit)}: use a whole number, or None")
        return limit
