"""Kept answers behind encryption: an answer says what a memory says, so a tenant that has keys has it sealed."""

from dataclasses import replace
from datetime import datetime

from scrubjay.backends.encryption.ring import Ring, bound_to
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.model.access import Answer
from scrubjay.model.sealed import SEAL
from scrubjay.ports.access import Answers, Claim, Found

_SEAL = SEAL.encode()
_BYTES = "latin-1"
"""The encoding in which every byte is one character, and comes back as it was."""


class EncryptedAnswers:
    """The `Answers` port over another one."""

    def __init__(self, answers: Answers, vault: KeyVault) -> None:
        self._answers = answers
        self._vault = vault

    async def begin(self, claim: Claim, *, now: datetime, until: datetime) -> Found | None:
        """Claim the name until then, or return what is known under it. None: it is claimed, go on."""
        found = await self._answers.begin(claim, now=now, until=until)
        if found is None or found.answer is None or not found.answer.body.startswith(_SEAL):
            return found
        sealed = found.answer
        # Of the request that was answered: this one may say something else, and is told so.
        answered = replace(claim, request=found.request)

        async def work(rings: Rings) -> Answer:
            return replace(sealed, body=open_answer(rings[claim.tenant], answered, sealed.body))

        return replace(found, answer=await self._vault.with_rings([claim.tenant], work))

    async def hold(self, claim: Claim, *, until: datetime) -> bool:
        """Let the claim last until then: its request is still worked on. False when it was taken over."""
        return await self._answers.hold(claim, until=until)

    async def finish(self, claim: Claim, answer: Answer | None, *, until: datetime) -> None:
        """Keep the answer until then; None when it cannot be kept, and only that it was given is."""

        async def work(rings: Rings) -> None:
            kept = answer
            if kept is not None and (ring := rings[claim.tenant]).keys:
                # It was done, and that is kept; what it says may only be sealed with the newest key.
                kept = None if ring.passed else replace(kept, body=seal_answer(ring, claim, kept.body))
            await self._answers.finish(claim, kept, until=until)

        await self._vault.with_rings([claim.tenant] if answer is not None else [], work)

    async def abandon(self, claim: Claim) -> None:
        """Forget the claim: the request came to nothing, and may be sent again."""
        await self._answers.abandon(claim)

    async def empty(self, tenant: str) -> None:
        """Take from the tenant's answers what they say, also from those whose requests are still under way."""
        await self._answers.empty(tenant)

    async def sweep(self, *, now: datetime) -> int:
        """Delete what has ended, of every tenant; return how many those were."""
        return await self._answers.sweep(now=now)


def seal_answer(ring: Ring, claim: Claim, body: bytes) -> bytes:
    """The body of an answer as it is stored."""
    return ring.seal_text(body.decode(_BYTES), bound=_of_answer(claim)).encode()


def open_answer(ring: Ring, claim: Claim, body: bytes) -> bytes:
    """The body as it was given; one that is not sealed comes back as it is."""
    if not body.startswith(_SEAL):
        return body
    return ring.open_text(body.decode(), bound=_of_answer(claim)).encode(_BYTES)


def _of_answer(claim: Claim) -> str:
    return bound_to("answer", claim.name.hex(), claim.request.hex())
