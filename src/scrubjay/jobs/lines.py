"""Rows, blobs and sessions as JSON objects, whole: the lines of a backup, and what content hashes are taken of."""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from scrubjay.model import PLACE_NAMES, Json, Memory, Scope
from scrubjay.model.access import ApiKey, AuditEntry, bounds_of, rights_of
from scrubjay.model.portable import from_json, moment_text, to_json
from scrubjay.model.work import Trouble
from scrubjay.model.working import Session, message_from, message_text, scratch_from, scratch_text
from scrubjay.ports import Blob, Entry, WholeBlob, WholeSession
from scrubjay.ports.access import StoredKey
from scrubjay.ports.at_rest import KeptElsewhere
from scrubjay.ports.encryption import WrappedKey

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


_MOMENTS: Final = ("first_at", "last_at", "retry_at", "parked_at")
"""Of a trouble."""

_OF_A_KEY: Final = ("created_at", "expires_at", "revoked_at", "used_at")
"""Moments of an API key."""


def digest_of(item: Memory | WholeBlob | WholeSession | AuditEntry) -> bytes:
    """The content hash of a row, a blob, a session or an entry of the audit log."""
    match item:
        case Memory():
            line = row_line(item)
        case WholeBlob():
            line = {"tenant": item.tenant, "hash": item.blob.hash, "holders": [str(one) for one in item.holders]}
        case AuditEntry():
            line = entry_line(item)
        case _:
            line = session_line(item)
    return sha256(json.dumps(line, separators=(",", ":")).encode()).digest()


# Rows


def row_line(memory: Memory) -> dict[str, Json]:
    """A row with its tenant, and with the generation that it is marked with."""
    return {"tenant": memory.scope.tenant, "generation": memory.generation, "memory": to_json(memory)}


def row_from(line: Mapping[str, Any]) -> Memory:
    """The row that was written so."""
    return replace(from_json(line["memory"], line["tenant"]), generation=line["generation"])


def row_lines(memories: Sequence[Memory], entries: Mapping[int, Sequence[Entry]]) -> Iterator[dict[str, Json]]:
    """Rows, each with its vectors in every generation."""
    vectors: dict[UUID, dict[str, Json]] = {}
    for number, some in entries.items():
        for one in some:
            vectors.setdefault(one.id, {})[str(number)] = _packed(one)
    for memory in memories:
        line = row_line(memory)
        if memory.id in vectors:
            line["vectors"] = vectors[memory.id]
        yield line


def entries_from(memory: Memory, line: Mapping[str, Any]) -> Iterator[tuple[int, Entry]]:
    """The vectors of a row, each with its generation."""
    for number, packed in line.get("vectors", {}).items():
        yield int(number), _unpacked(memory, packed)


def _packed(one: Entry) -> dict[str, Json]:
    """Spans and vectors, as half floats where that loses nothing and as floats otherwise, little-endian."""
    halves = one.vectors.astype("<f2")
    exact = bool((halves == one.vectors).all())
    numbers = halves if exact else one.vectors.astype("<f4")
    spans: list[Json] = [list(span) for span in one.spans]
    return {"spans": spans, "type": "f2" if exact else "f4", "numbers": b64encode(numbers.tobytes()).decode()}


def _unpacked(memory: Memory, packed: dict[str, Any]) -> Entry:
    import numpy as np  # noqa: PLC0415 -- only those who restore need it

    spans = tuple((start, stop) for start, stop in packed["spans"])
    numbers = np.frombuffer(b64decode(packed["numbers"]), dtype=f"<{packed['type']}").astype(np.float32)
    vectors: Matrix = numbers.reshape(len(spans), -1)
    return Entry.of(memory, spans, vectors)


# Blobs


def blob_line(whole: WholeBlob) -> dict[str, Json]:
    """A blob, compressed on its own: what compresses the file sees only text of base 64."""
    return {
        "tenant": whole.tenant,
        "blob": whole.blob.hash,
        "base": whole.blob.base,
        "holders": [str(owner) for owner in whole.holders],
        "content": b64encode(zlib.compress(whole.blob.content, 6)).decode(),
    }


def blob_from(line: Mapping[str, Any]) -> WholeBlob:
    """The blob that was written so."""
    return WholeBlob(
        tenant=line["tenant"],
        blob=Blob(zlib.decompress(b64decode(line["content"])), base=line["base"]),
        holders=tuple(UUID(owner) for owner in line["holders"]),
    )


# Access


def api_key_line(stored: StoredKey) -> dict[str, Json]:
    """An API key: what is known of it, and the hash of its secret."""
    key = stored.key
    moments = {name: getattr(key, name) for name in _OF_A_KEY}
    bounds: dict[str, Json] = {name: list(names) for name, names in asdict(key.bounds).items()}
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "digest": stored.digest.hex(),
        "rights": list(key.rights),
        **bounds,
        **{name: moment_text(at) if at is not None else None for name, at in moments.items()},
    }


def api_key_from(line: Mapping[str, Any]) -> StoredKey:
    """The API key that was written so."""
    moments = {name: datetime.fromisoformat(line[name]) if line[name] is not None else None for name in _OF_A_KEY}
    key = ApiKey(
        id=line["id"],
        tenant=line["tenant"],
        name=line["name"],
        rights=rights_of(line["rights"]),
        bounds=bounds_of(users=line["users"], projects=line["projects"], agents=line["agents"]),
        **cast("dict[str, Any]", moments),
    )
    return StoredKey(key=key, digest=bytes.fromhex(line["digest"]))


def entry_line(entry: AuditEntry) -> dict[str, Json]:
    """An entry of the audit log."""
    return {
        "logged": entry.number,
        "at": moment_text(entry.at),
        "tenant": entry.tenant,
        "key": entry.key,
        "action": entry.action,
        "target": entry.target,
        "ids": [str(one) for one in entry.ids],
        "request": entry.request,
    }


def entry_from(line: Mapping[str, Any]) -> AuditEntry:
    """The entry that was written so."""
    return AuditEntry(
        number=line["logged"],
        at=datetime.fromisoformat(line["at"]),
        tenant=line["tenant"],
        key=line["key"],
        action=line["action"],
        target=line["target"],
        ids=tuple(UUID(one) for one in line["ids"]),
        request=line["request"],
    )


# Data keys


def key_line(key: WrappedKey) -> dict[str, Json]:
    """A data key, wrapped: worth nothing without the master key, and everything with it."""
    return {
        "tenant": key.tenant,
        "number": key.number,
        "master": key.master,
        "wrapped": b64encode(key.wrapped).decode(),
        "created_at": moment_text(key.created_at),
    }


def key_from(line: Mapping[str, Any]) -> WrappedKey:
    """The data key that was written so."""
    return WrappedKey(
        tenant=line["tenant"],
        number=line["number"],
        master=line["master"],
        wrapped=b64decode(line["wrapped"]),
        created_at=datetime.fromisoformat(line["created_at"]),
    )


def note_line(note: KeptElsewhere) -> dict[str, Json]:
    """A note of what is kept elsewhere."""
    return {"what": note.what, "place": note.place, "at": moment_text(note.at)}


def note_from(line: Mapping[str, Any]) -> KeptElsewhere:
    """The note that was written so."""
    return KeptElsewhere(line["what"], line["place"], datetime.fromisoformat(line["at"]))


# Sessions


def session_line(whole: WholeSession) -> dict[str, Json]:
    """A session with all that is kept of it."""
    return {
        "tenant": whole.scope.tenant,
        "session": list(whole.scope.names()),
        "life": _life(whole.session) if whole.session is not None else None,
        "messages": [message_text(message) for message in whole.messages],
        "scratch": {one.name: scratch_text(one) for one in whole.scratch},
        "troubles": [_trouble_line(one) for one in whole.troubles],
        "distilled": whole.distilled,
    }


def session_from(line: Mapping[str, Any]) -> WholeSession:
    """The session that was written so."""
    scope = Scope(tenant=line["tenant"], **dict(zip(PLACE_NAMES, line["session"], strict=True)))
    session = _session(scope, line["life"], len(line["messages"])) if line["life"] is not None else None
    first = session.first if session is not None else 0
    return WholeSession(
        scope=scope,
        session=session,
        messages=tuple(message_from(body, first + place) for place, body in enumerate(line["messages"])),
        scratch=tuple(scratch_from(name, body) for name, body in line["scratch"].items()),
        troubles=tuple(_trouble_from(scope, one) for one in line["troubles"]),
        distilled=line["distilled"],
    )


def _life(session: Session) -> dict[str, Json]:
    return {
        "first": session.first,
        "bytes": session.bytes,
        "started_at": moment_text(session.started_at),
        "expires_at": moment_text(session.expires_at),
        "ended_at": moment_text(session.ended_at) if session.ended_at is not None else None,
    }


def _session(scope: Scope, life: Mapping[str, Any], messages: int) -> Session:
    return Session(
        scope=scope,
        messages=messages,
        first=life["first"],
        bytes=life["bytes"],
        started_at=datetime.fromisoformat(life["started_at"]),
        expires_at=datetime.fromisoformat(life["expires_at"]),
        ended_at=datetime.fromisoformat(life["ended_at"]) if life["ended_at"] is not None else None,
    )


def _trouble_line(trouble: Trouble) -> dict[str, Json]:
    moments = {name: getattr(trouble, name) for name in _MOMENTS}
    plain: dict[str, Json] = {name: getattr(trouble, name) for name in ("step", "item", "error", "tries", "body")}
    return plain | {name: moment_text(at) if at is not None else None for name, at in moments.items()}


def _trouble_from(scope: Scope, line: Mapping[str, Any]) -> Trouble:
    moments = {name: datetime.fromisoformat(line[name]) if line[name] is not None else None for name in _MOMENTS}
    return Trouble(**{**line, **moments}, scope=scope)
