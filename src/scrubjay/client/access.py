"""Keys and the audit log of a server."""

from typing import Final

from scrubjay.access import Access
from scrubjay.client.verb import Remote, elsewhere, verb

_OF_THE_DOOR: Final = "the server does it for every request"


class RemoteAccess(Remote, memory="access"):
    """API keys of the tenant, and its log. See `Access`: the verbs and their keywords are the same."""

    create_key = verb(Access.create_key, "POST", "/keys")
    keys = verb(Access.keys, "GET", "/keys")
    revoke = verb(Access.revoke, "DELETE", "/keys/{id}")
    rotate = verb(Access.rotate, "POST", "/keys/{id}/rotate")
    audit = verb(Access.audit, "GET", "/audit")
    authenticate = elsewhere(Access.authenticate, _OF_THE_DOOR)
    wants_keys = elsewhere(Access.wants_keys, _OF_THE_DOOR)
    spend = elsewhere(Access.spend, _OF_THE_DOOR)
