"""Doing a request once, however often it is sent: the first one is worked on, the others get its answer."""

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from hashlib import sha256
from typing import Final

from scrubjay.errors import AnotherRequest, ScrubjayError, UnderWay
from scrubjay.model import new_id
from scrubjay.model.access import HELD, Answer, Caller
from scrubjay.ports import Clock
from scrubjay.ports.access import Answers, Claim

KEPT: Final = timedelta(hours=24)
"""How long an answer is kept for those who did not get it."""

MOST_BYTES: Final = 1024 * 1024
"""The largest answer that is kept. Of a larger one it is only known that it was given."""

_SIGN_SECONDS: Final = HELD.total_seconds() / 4


class Once:
    """The requests of one caller that carry a name of their own. Neither the name nor what they say is stored."""

    def __init__(self, answers: Answers, caller: Caller, *, tenant: str, clock: Clock) -> None:
        self._answers = answers
        self._caller = caller
        self._tenant = tenant
        self._clock = clock

    def claim(self, name: str, request: bytes) -> Claim:
        """The claim to do this request under this name. Both are kept as digests that only the name itself can make."""
        whose = f"{self._caller.key or ''}\n{name}".encode()
        return Claim(
            tenant=self._tenant,
            name=sha256(whose).digest(),
            request=hmac.digest(sha256(name.encode()).digest(), request, sha256),
            number=new_id().bytes,
        )

    async def begin(self, claim: Claim) -> Answer | None:
        """Return the answer that was given before; None: go on, have it held meanwhile, and finish or abandon it.

        Raises AnotherRequest when the name came with another request, and UnderWay when the first is still worked on
        or its answer could not be kept.
        """
        now = self._clock()
        found = await self._answers.begin(claim, now=now, until=now + HELD)
        if found is None:
            return None
        if not hmac.compare_digest(found.request, claim.request):
            raise AnotherRequest
        if not found.done:
            raise UnderWay
        if found.answer is None:
            raise UnderWay(
                "this request was done before, but its answer is not kept: it was too large or secret, or something "
                "was purged since. Read what is stored, and use a new Idempotency-Key for a new request"
            )
        return found.answer

    @asynccontextmanager
    async def held(self, claim: Claim) -> AsyncIterator[None]:
        """Hold the claim while its request is worked on. Should this process die, the next one may soon go on.

        Raises UnderWay when the process stood still for so long that another one has begun: what is not done yet is
        left to that one.
        """

        async def give_signs(working: asyncio.Timeout) -> None:
            while True:
                await asyncio.sleep(_SIGN_SECONDS)
                with suppress(ScrubjayError):  # The store is away for a moment: the next sign comes soon.
                    if not await self._is_still_held(claim):
                        working.reschedule(0.0)
                        return

        try:
            async with asyncio.timeout(None) as working:
                signs = asyncio.create_task(give_signs(working))
                try:
                    yield
                finally:
                    signs.cancel()
        except TimeoutError as error:
            if not working.expired():
                raise
            raise UnderWay from error

    async def _is_still_held(self, claim: Claim) -> bool:
        now = self._clock()
        if await self._answers.hold(claim, until=now + HELD):
            return True
        # It lapsed, and was swept. As long as nobody else has begun, it is taken again.
        return await self._answers.begin(claim, now=now, until=now + HELD) is None

    async def finish(self, claim: Claim, answer: Answer | None) -> None:
        """Keep the answer for a day; without one, or of one that is too large, only that it was given."""
        kept = answer if answer is not None and len(answer.body) <= MOST_BYTES else None
        await self._answers.finish(claim, kept, until=self._clock() + KEPT)

    async def abandon(self, claim: Claim) -> None:
        """Let the request be sent again: it came to nothing."""
        await self._answers.abandon(claim)
