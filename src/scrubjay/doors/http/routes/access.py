"""Keys and the audit log, for whoever looks after a tenant."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from scrubjay.doors.http import answers
from scrubjay.doors.http.access import Anybody, KeysJay, visit_of
from scrubjay.doors.http.admitted import Admitted
from scrubjay.doors.http.bodies import access as bodies
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.doors.http.routes.room import Room

keys = Room("/keys", tag="access", memory="access")
log = Room("/audit", tag="access", memory="access")
asking = APIRouter(tags=["access"], responses=RESPONSES, route_class=Admitted)

KeyId = Annotated[str, Path(description="A key's id, such as 0f1e2d3c4b5a6978.")]


@asking.get("/whoami", summary="Who is asking?", operation_id="access_whoami", response_model_exclude_none=True)
async def whoami(jay: Anybody, request: Request) -> answers.Caller:
    """Say whose memory this is, and what the key that asks may do there. Any key may ask."""
    return answers.Caller.of(visit_of(request).key, tenant=jay.tenant)


@keys.post("", "create_key", summary="Make a key", status_code=201)
async def create_key(jay: KeysJay, key: bodies.KeyToMake) -> object:
    """Make a key for the tenant of the one that asks. Its text is in this answer and nowhere else: keep it safe."""
    return await jay.access.create_key(**key.keywords())


@keys.get("", "keys", summary="List the keys")
async def list_keys(jay: KeysJay) -> object:
    """List all keys of the tenant, revoked and expired ones too. What they open with is not known to anybody here."""
    return await jay.access.keys()


@keys.delete("/{id}", "revoke", summary="Revoke a key")
async def revoke(jay: KeysJay, id: KeyId) -> object:
    """End a key. The next request with it is refused."""
    return await jay.access.revoke(id)


@keys.post("/{id}/rotate", "rotate", summary="Replace a key")
async def rotate(jay: KeysJay, id: KeyId, how: bodies.Rotation) -> object:
    """Make a new key that may do the same; the old one ends, at once or after `grace` seconds."""
    return await jay.access.rotate(id, **how.keywords())


@log.get("", "audit", summary="What was done")
async def audit(jay: KeysJay, asked: Annotated[bodies.Logged, Query()]) -> object:
    """Return what was done to keys and taken out of the memory, newest first: who, what and when, never content."""
    return await jay.access.audit(**asked.keywords())
