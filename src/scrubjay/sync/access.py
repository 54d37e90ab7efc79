"""Keys and the audit log without `await`. Forwards only."""

from scrubjay.access import Access
from scrubjay.sync.forward import Blocking, forward


class SyncAccess(Blocking[Access]):
    """Keys and the audit log, without `await`. See `Access`: the verbs and their keywords are the same."""

    create_key = forward(Access.create_key)
    keys = forward(Access.keys)
    revoke = forward(Access.revoke)
    rotate = forward(Access.rotate)
    authenticate = forward(Access.authenticate)
    wants_keys = forward(Access.wants_keys)
    audit = forward(Access.audit)
    spend = forward(Access.spend)
