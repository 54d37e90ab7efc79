"""Episodes and sessions of a server: a line for each verb, where what it takes can be sent as it is."""

from collections.abc import Mapping
from typing import Any, Final, Unpack, cast

from scrubjay.client.verb import Remote, Route, like, verb
from scrubjay.errors import InvalidInput
from scrubjay.memories.episodes import Episodes
from scrubjay.memories.episodes.telling import EpisodeTold, Told
from scrubjay.memories.working import WorkingMemory
from scrubjay.model import Remembered, Where
from scrubjay.model.checks import check_several, shown
from scrubjay.model.episodes import Negotiation
from scrubjay.model.working import Message
from scrubjay.read.narrow import places

_STORE: Final = Route(method="POST", path="/episodes", many="episodes")


class RemoteEpisodes(Remote, memory="episodes"):
    """What happened, in order. See `Episodes`: the verbs and their keywords are the same."""

    @like(Episodes.store_episode, _STORE)
    async def store_episode(self, content: Told = "", **details: Unpack[EpisodeTold]) -> Remembered:
        """A message or a negotiation is sent as its fields."""
        if isinstance(content, str):
            return (await self._stored([{**details, **({"content": content} if content else {})}], {}))[0]
        if details.keys() - Where.__annotations__.keys():
            raise InvalidInput(f"an episode is {shown(content)}: its details are in it, so give only the scope")
        return (await self._stored([content], places(details)))[0]

    @like(Episodes.store_many, _STORE)
    async def store_many(self, episodes: Any, *, progress: Any = None, **where: Unpack[Where]) -> list[Remembered]:  # noqa: ANN401 -- as the verb takes them
        """The same for each of them."""
        check_several("episodes", episodes)
        done = await self._stored(list(episodes), where)
        if progress is not None:
            progress(len(done))
        return done

    async def _stored(self, episodes: list[Any], where: Where) -> list[Remembered]:
        told = [_fields(one) for one in episodes]
        shared = {name: value for name, value in where.items() if value is not None}
        return cast(
            "list[Remembered]", self._read(list[Remembered], await self._ask(_STORE, {"episodes": told, **shared}))
        )

    fetch_recent_context = verb(Episodes.fetch_recent_context, "GET", "/episodes/recent")
    timeline = verb(Episodes.timeline, "GET", "/episodes", holds="episodes")
    recall = verb(Episodes.recall, "POST", "/episodes/recall", reads=True)


class RemoteWorking(Remote, memory="working"):
    """The messages and the scratchpad of a session. See `WorkingMemory`: the verbs and their keywords are the same."""

    append = verb(WorkingMemory.append, "POST", "/working/messages")
    recent = verb(WorkingMemory.recent, "GET", "/working/messages")
    set = verb(WorkingMemory.set, "PUT", "/working/scratch")
    get = verb(WorkingMemory.get, "GET", "/working/scratch/value")
    scratch = verb(WorkingMemory.scratch, "GET", "/working/scratch")
    delete = verb(WorkingMemory.delete, "DELETE", "/working/scratch", holds="deleted")
    extend = verb(WorkingMemory.extend, "POST", "/working/extend")
    end = verb(WorkingMemory.end, "POST", "/working/end")
    session = verb(WorkingMemory.session, "GET", "/working/session")
    sessions = verb(WorkingMemory.sessions, "GET", "/working/sessions")


def _fields(told: object) -> object:
    """An episode as a server takes it: the fields of a message or a negotiation under the names that episodes have."""
    match told:
        case str():
            return {"content": told}
        case Message():
            given = {
                "id": told.id,
                "at": told.at,
                "role": told.role,
                "content": told.content,
                "author": told.name,
                "tool_calls": told.tool_calls,
                "tool_call_id": told.tool_call_id,
            }
            return {name: value for name, value in given.items() if value}
        case Negotiation() | Mapping():
            return told
    raise InvalidInput(f"an episode is {shown(told)}: give a text, a Message, a Negotiation or a dict with `content`")
