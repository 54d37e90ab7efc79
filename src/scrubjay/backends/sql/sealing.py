"""Whoever stores what is encrypted makes sure, in the same transaction, that it has the newest key of its tenant.

A write may hang between the moment in which it was sealed and its commit, for an hour and more where a process stands
still. By then the key may be gone, and what it wrote could not be read by anybody.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection

from scrubjay.backends.sql.driver import driver_of
from scrubjay.model import Memory
from scrubjay.model.sealed import SEAL, key_in
from scrubjay.ports.encryption import KeyReplaced

_NEWEST: Final = "SELECT max(number) FROM data_keys WHERE tenant = ?"

# The lock lets `SqlDataKeys.settled` wait until this transaction ends. Whoever wraps the key anew is not in its way.
_LOCKED: Final = (
    "SELECT number FROM data_keys WHERE tenant = %(tenant)s ORDER BY number DESC LIMIT 1 FOR KEY SHARE OF data_keys"
)


def check_memories(connection: Connection, written: Sequence[Memory], *, closed: Sequence[Memory] = ()) -> None:
    """Raise KeyReplaced when one of these is sealed with a key that is not the newest one.

    Of those that are only `closed`, why is what counts: what they say is there already.
    """
    sealed: dict[str, set[int]] = {}
    for one in written:
        if one.content.startswith(SEAL):
            sealed.setdefault(one.scope.tenant, set()).add(key_in(one.content) or 0)
    for one in (*written, *closed):
        if one.closed_because is not None and one.closed_because.startswith(SEAL):
            sealed.setdefault(one.scope.tenant, set()).add(key_in(one.closed_because) or 0)
    # In one order: on a server, two who lock keys of several tenants would wait for each other.
    for tenant in sorted(sealed):
        check_keys(connection, tenant, sealed[tenant])


def check_texts(connection: Connection, tenant: str, texts: Iterable[object]) -> None:
    """The same for texts of one tenant. What is no text is not sealed."""
    check_keys(connection, tenant, {key_in(text) for text in texts if isinstance(text, str)})


def check_keys(connection: Connection, tenant: str, numbers: Iterable[int | None]) -> None:
    """The same for what was sealed with the keys of these numbers; None stands for what is not sealed."""
    used = {number for number in numbers if number is not None}
    if not used:
        return
    newest = _newest(connection, tenant)
    for number in used:
        if number != newest:
            raise KeyReplaced(tenant, number)


def _newest(connection: Connection, tenant: str) -> int | None:
    if connection.dialect.name == "sqlite":
        found = driver_of(connection).execute(_NEWEST, (tenant,)).fetchone()
    else:
        found = connection.exec_driver_sql(_LOCKED, {"tenant": tenant}).fetchone()
    return found[0] if found is not None else None
