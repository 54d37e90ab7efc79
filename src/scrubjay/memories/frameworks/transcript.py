"""The transcript of a chat as a framework keeps it: its own items, in exact order, each given back as it was.

What was said and called in it is remembered as messages of the session: recall, context and consolidation know of it.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias, Unpack, cast

from scrubjay.core import Core
from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.memories.frameworks.values import BELIEVED, Packing, Typed, digest, files_in, inner, store, unpacked
from scrubjay.model import Filter, Json, Memory, Trust, Where, scope_of
from scrubjay.model.checks import CONTENT_LIMIT, check_several, shown
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.model.working import check_session
from scrubjay.ports import SILENT
from scrubjay.write.holding import files_of
from scrubjay.write.prepare import Telling
from scrubjay.write.reconcile import reconcile
from scrubjay.write.redact import redacted

SILENT_KIND: Final = "session_item"
"""An item that says nothing to people, such as an encrypted thought of a model: a quiet kind."""

ChatItem: TypeAlias = dict[str, Any]

_OPAQUE: Final = frozenset(
    {"call_id", "data", "encrypted_content", "file_data", "file_id", "id", "image_url", "response_id"}
)
"""Names of what is meant for machines and has to come back as it was. Nobody writes secrets there."""

_TRUST: Final = {"assistant": Trust.CONCLUDED, "tool": Trust.OBSERVED}
_JSON: Final = "json"
_PAGE: Final = 500


class Transcript:
    """The items of one session, of exactly this scope."""

    def __init__(self, core: Core, **where: Unpack[Where]) -> None:
        self._core = core
        self._where = where
        self._scope = scope_of(core.tenant, where)
        check_session(self._scope)
        self._place = digest(*self._scope.names())

    async def add(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Put these behind all others, together and in this order: all, or none. Secrets are taken out first."""
        check_several("items", items)
        scope, parts = self._core.scoped(self._where), self._core.parts
        clean = [self._without_secrets(place, item) for place, item in enumerate(items)]
        told = await parts.writer.drafts([_told(item) for item, _ in clean], scope) if clean else []
        packings = [Packing() for _ in told]
        drafts = [
            self._draft(memory, item, kinds, packing)
            for memory, (item, kinds), packing in zip(told, clean, packings, strict=True)
        ]
        await store(parts, list(zip(drafts, packings, strict=True)), reconcile)

    async def tail(self, limit: int | None = None) -> list[ChatItem]:
        """Return the newest items in the order they were added: all of them, or at most `limit`."""
        found = await self._newest(limit)
        said = [_said(memory) for memory in found]
        files = await self._files(found)
        return [json.loads(unpacked(one, files).content) for one in reversed(said)]

    async def pop(self) -> ChatItem | None:
        """Take the newest item away and return it; None when there is none. Of two who pop at once, each gets another.

        It is forgotten, with what was made of it.
        """
        while found := await self._newest(1):
            newest = found[0]
            files = await self._files([newest])
            # Whoever was quicker has closed it: then the one before it is the newest, or what stands in its place.
            with suppress(NotFound, Conflict):
                await self._core.forget(newest.id, reason="taken back", **self._where)
                return cast("ChatItem", json.loads(unpacked(_said(newest), files).content))
        return None

    async def clear(self) -> None:
        """Forget all items, with what was made of them."""
        while found := await self._newest(_PAGE):
            with suppress(NotFound, Conflict):
                await self._core.forget([memory.id for memory in found], reason="cleared", **self._where)

    async def _files(self, memories: Sequence[Memory]) -> dict[str, bytes]:
        hashes = [one for memory in memories for one in files_in(_said(memory))]
        return await files_of(self._core.parts.stores.blobs, self._scope, [memory.id for memory in memories], hashes)

    async def _newest(self, limit: int | None) -> list[Memory]:
        """The newest items, newest first."""
        records, now = self._core.parts.stores.records, self._core.parts.clock()
        asked = Filter(
            scope=self._core.scoped(self._where),
            reach="holds",
            kinds=(MESSAGE_KIND, SILENT_KIND),
            data={"chat.place": self._place},
            as_of=BELIEVED,
        )
        found: list[Memory] = []
        while limit is None or len(found) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page = await records.find(asked, now=now, limit=size, after=found[-1].id if found else None)
            found += page
            if len(page) < size:
                break
        return found

    def _without_secrets(self, place: int, item: Mapping[str, Any]) -> tuple[ChatItem, tuple[str, ...]]:
        if not isinstance(item, Mapping):
            raise InvalidInput(f"item {place} is {shown(item)}: give dicts, as the model takes them")
        try:
            copy: ChatItem = json.loads(json.dumps(item))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"item {place} is {shown(item)}, which is no JSON ({error}): use JSON values") from error
        redactor = self._core.parts.redactor
        if redactor is None:
            return copy, ()
        aside: list[Json] = []
        clean, kinds = redacted(redactor, {"item": _put_aside(copy, aside)})
        return cast("ChatItem", _put_back(clean["item"], aside)), kinds

    def _draft(self, told: Memory, item: ChatItem, kinds: Sequence[str], packing: Packing) -> Memory:
        """The memory with the item in it, exactly: as JSON in bytes, which may hold what no text field can."""
        packed = packing.add(Typed(_JSON, json.dumps(item, ensure_ascii=True, separators=(",", ":")).encode()))
        # Two alike are two: the id tells them apart.
        chat: dict[str, Json] = {"place": self._place, "id": str(told.id), "item": packed}
        return replace(
            told,
            data={**told.data, "chat": chat},
            redacted=tuple(sorted({*told.redacted, *kinds})),
            generation=SILENT if told.kind == SILENT_KIND else None,
        )


def _said(memory: Memory) -> dict[str, Any]:
    return inner(inner(memory.data, "chat"), "item")


def _told(item: ChatItem) -> Telling:
    """What the item tells: a message of the session, or nothing that people would read."""
    role, text = _words(item)
    if not text.strip():
        return {"kind": SILENT_KIND, "content": str(item.get("type") or "an item")}
    return {
        "kind": MESSAGE_KIND,
        "content": text[:CONTENT_LIMIT],
        "data": {"role": role},
        "trust": _TRUST.get(role, Trust.TOLD),
    }


def _words(item: ChatItem) -> tuple[str, str]:
    """Who says what in an item, as text."""
    match item:
        case {"type": "function_call", "name": str(name)}:
            return "assistant", _storable(f"calls {name}({item.get('arguments') or ''})")
        case {"type": "function_call_output"}:
            return "tool", _text(item.get("output"))
        case {"role": str(role)}:
            return role.lower(), _text(item.get("content"))
    return "", ""


def _text(content: object) -> str:
    """The text of a content: it is one, or a list of parts of which some have one."""
    if isinstance(content, str):
        return _storable(content)
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict)]
    said = [part.get("text") or part.get("refusal") or part.get("transcript") for part in parts]
    return _storable("\n".join(one for one in said if isinstance(one, str)))


def _storable(text: str) -> str:
    """The text without what no database holds: the output of a tool may have anything in it."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _put_aside(value: Any, aside: list[Json], name: str = "") -> Any:  # noqa: ANN401 -- any JSON value
    """The value with a number in place of each opaque one, which goes aside."""
    match value:
        case dict():
            return {key: _put_aside(one, aside, key) for key, one in value.items()}
        case list():
            return [_put_aside(one, aside) for one in value]
        case str() | int() if name in _OPAQUE:
            aside.append(value)
            return len(aside) - 1
    return value


def _put_back(value: Any, aside: Sequence[Json], name: str = "") -> Any:  # noqa: ANN401 -- any JSON value
    match value:
        case dict():
            return {key: _put_back(one, aside, key) for key, one in value.items()}
        case list():
            return [_put_back(one, aside) for one in value]
        case int() if name in _OPAQUE:
            return aside[value]
    return value
