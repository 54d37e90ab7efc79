"""Answers that are kept for requests that are sent again, in the record database."""

from datetime import datetime
from functools import partial
from typing import Final

from sqlalchemy import ColumnElement, Connection, Update, and_, delete, insert, or_, select, update

from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema_access import kept_answers
from scrubjay.model.access import Answer
from scrubjay.ports.access import Claim, Found, is_of_another_clock

_COLUMNS: Final = kept_answers.c

_PURGED: Final = -1
"""The status of an answer that must not be kept: something was purged since its request began."""


class SqlAnswers:
    """The `Answers` port. A crash of the machine may forget a claim or an answer; the request is then done again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, claim: Claim, *, now: datetime, until: datetime) -> Found | None:
        """Claim the name until then, or return what is known under it. None: it is claimed, go on."""
        is_stale = partial(is_of_another_clock, now=now, longest=until - now)
        wanted = select(kept_answers).where(_named(claim)).with_for_update()

        def work(connection: Connection) -> Found | None:
            row = connection.execute(wanted).first()
            if row is not None and now < row.until and (row.done or not is_stale(row.until)):
                kept = row.body is not None
                answer = Answer(status=row.status, headers=row.headers or {}, body=row.body) if kept else None
                return Found(request=row.request[: len(claim.request)], done=row.done, answer=answer)
            # What this claim takes the place of is held; one that came since it was looked for is left alone.
            over = _COLUMNS.until <= now if row is None else or_(_COLUMNS.until <= now, _named(claim))
            connection.execute(delete(kept_answers).where(over))
            # Of two who insert at once, one is told that another was faster, and looks again.
            connection.execute(
                insert(kept_answers).values(
                    tenant=claim.tenant, name=claim.name, request=_held(claim), done=False, status=0, until=until
                )
            )
            return None

        return await self._database.note(work)

    async def hold(self, claim: Claim, *, until: datetime) -> bool:
        """Let the claim last until then: its request is still worked on. False when it was taken over."""
        mine = update(kept_answers).where(_mine(claim), _COLUMNS.done.is_(False)).values(until=until)
        return await self._database.note(lambda connection: connection.execute(mine).rowcount > 0)

    async def finish(self, claim: Claim, answer: Answer | None, *, until: datetime) -> None:
        """Keep the answer until then; None when it cannot be kept, and only that it was given is."""
        mine = update(kept_answers).where(_mine(claim))

        def work(connection: Connection) -> None:
            if answer is not None:
                sealing.check_texts(connection, claim.tenant, [beginning_of(answer.body)])
                said = {"status": answer.status, "headers": dict(answer.headers), "body": answer.body}
                connection.execute(mine.where(_COLUMNS.status != _PURGED).values(**said))
            connection.execute(mine.values(done=True, until=until, request=claim.request))

        await self._database.note(work)

    async def abandon(self, claim: Claim) -> None:
        """Forget the claim: the request came to nothing, and may be sent again."""
        mine = delete(kept_answers).where(_mine(claim), _COLUMNS.done.is_(False))
        await self._database.note(lambda connection: connection.execute(mine))

    async def empty(self, tenant: str) -> None:
        """Take from the tenant's answers what they say, also from those whose requests are still under way."""
        await self._database.write(lambda connection: connection.execute(without_answers(tenant)))

    async def sweep(self, *, now: datetime) -> int:
        """Delete what has ended, of every tenant; return how many those were."""
        over = delete(kept_answers).where(_COLUMNS.until <= now)
        return await self._database.note(lambda connection: connection.execute(over).rowcount)


def beginning_of(body: bytes) -> str:
    """As much of an answer as says with which key it is sealed."""
    return body[:64].decode("latin-1")


def without_answers(tenant: str) -> Update:
    """The statement that takes from the tenant's answers what they say, also from those that are still to come."""
    return update(kept_answers).where(_COLUMNS.tenant == tenant).values(body=None, headers=None, status=_PURGED)


def _named(claim: Claim) -> ColumnElement[bool]:
    return and_(_COLUMNS.tenant == claim.tenant, _COLUMNS.name == claim.name)


def _mine(claim: Claim) -> ColumnElement[bool]:
    return and_(_named(claim), _COLUMNS.request == _held(claim))


def _held(claim: Claim) -> bytes:
    """What stands for the request while it is worked on: with the number of this sending, for it may be taken over."""
    return claim.request + claim.number
