"""What every store of keys, of the audit log and of kept answers has to do."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Scope
from scrubjay.model.access import Answer, ApiKey, AuditEntry, Bounds
from scrubjay.ports import Records
from scrubjay.ports.access import Answers, Audit, Claim, Found, Keys, StoredKey
from scrubjay.testing.values import NOW, a_memory, keep_all

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)


def a_key(id: str = "0f1e2d3c4b5a6978", **more: Any) -> StoredKey:  # noqa: ANN401 -- any field of a key
    """A key that may read and write, unless it is told otherwise."""
    rights = {"rights": ("read", "write"), "name": "ci", "tenant": "acme", "created_at": NOW}
    return StoredKey(key=ApiKey(id=id, **{**rights, **more}), digest=bytes(range(32)))


class KeysSuite:
    """Give it a fixture `keys`: a store without any."""

    async def test_a_key_comes_back_as_it_was_kept(self, keys: Keys) -> None:
        bounds = Bounds(users=("anna", "bob"), projects=("shop",), agents=("planner",))
        kept = a_key(bounds=bounds, expires_at=NOW + DAY, used_at=NOW)
        await keys.add(kept)
        assert await keys.find(kept.key.id) == kept
        assert await keys.find("0000000000000000") is None

    async def test_whether_there_is_any(self, keys: Keys) -> None:
        assert not await keys.any()
        await keys.add(a_key())
        await keys.revoke("acme", a_key().key.id, at=NOW)
        assert await keys.any()

    async def test_an_id_is_taken_once(self, keys: Keys) -> None:
        await keys.add(a_key())
        with pytest.raises(Conflict):
            await keys.add(a_key(tenant="other"))
        assert await keys.known("other") == []

    async def test_a_tenant_sees_its_own_keys_in_the_order_they_were_made(self, keys: Keys) -> None:
        late, early = a_key("aa", created_at=NOW + DAY), a_key("bb")
        for one in (late, early, a_key("cc", tenant="other")):
            await keys.add(one)
        assert await keys.known("acme") == [early.key, late.key]

    async def test_revoking_ends_a_key_once(self, keys: Keys) -> None:
        await keys.add(a_key())
        revoked = await keys.revoke("acme", a_key().key.id, at=NOW)
        assert revoked == replace(a_key().key, revoked_at=NOW)
        assert await keys.revoke("acme", a_key().key.id, at=NOW + DAY) == revoked
        found = await keys.find(a_key().key.id)
        assert found is not None
        assert found.key == revoked

    async def test_nobody_revokes_the_key_of_another_tenant(self, keys: Keys) -> None:
        await keys.add(a_key())
        assert await keys.revoke("other", a_key().key.id, at=NOW) is None
        assert await keys.find(a_key().key.id) == a_key()

    async def test_replacing_a_key_ends_it(self, keys: Keys) -> None:
        await keys.add(a_key("aa"))
        await keys.add(a_key("bb"), replaces="aa", until=NOW + MINUTE)
        assert [key.expires_at for key in await keys.known("acme")] == [NOW + MINUTE, None]

    async def test_a_key_that_ends_sooner_is_not_prolonged(self, keys: Keys) -> None:
        await keys.add(a_key("aa", expires_at=NOW + MINUTE))
        await keys.add(a_key("bb"), replaces="aa", until=NOW + DAY)
        assert (await keys.known("acme"))[0].expires_at == NOW + MINUTE

    async def test_nothing_is_kept_when_there_is_nothing_to_replace(self, keys: Keys) -> None:
        await keys.add(a_key("aa", tenant="other"))
        with pytest.raises(NotFound):
            await keys.add(a_key("bb"), replaces="aa", until=NOW)
        assert await keys.known("acme") == []

    async def test_use_is_noted_now_and_then(self, keys: Keys) -> None:
        await keys.add(a_key())
        for seconds in (0, 30, 59):
            at = NOW + timedelta(seconds=seconds)
            await keys.used(a_key().key.id, at=at, unless_since=at - MINUTE)
        assert (await keys.known("acme"))[0].used_at == NOW
        await keys.used(a_key().key.id, at=NOW + 2 * MINUTE, unless_since=NOW + MINUTE)
        assert (await keys.known("acme"))[0].used_at == NOW + 2 * MINUTE


class AuditSuite:
    """Give it a fixture `audit`: a log without entries."""

    async def test_entries_come_back_newest_first(self, audit: Audit) -> None:
        ids = (a_memory().id, a_memory().id)
        first = AuditEntry(at=NOW, tenant="acme", key="aa", action="memory.purged", target="2", ids=ids, request="r-1")
        second = AuditEntry(at=NOW + MINUTE, tenant="acme", key=None, action="key.created", target="bb")
        for entry in (first, second, replace(first, tenant="other")):
            await audit.note(entry)
        found = await audit.entries("acme", limit=10)
        assert [replace(entry, number=0) for entry in found] == [second, first]
        assert found[0].number > found[1].number > 0

    async def test_pages_and_moments(self, audit: Audit) -> None:
        for minute in range(5):
            at = NOW + minute * MINUTE
            await audit.note(AuditEntry(at=at, tenant="acme", key=None, action="key.created", target=str(minute)))
        page = await audit.entries("acme", limit=2)
        assert [entry.target for entry in page] == ["4", "3"]
        rest = await audit.entries("acme", limit=10, before=page[-1].number)
        assert [entry.target for entry in rest] == ["2", "1", "0"]
        late = await audit.entries("acme", limit=10, since=NOW + 3 * MINUTE)
        assert [entry.target for entry in late] == ["4", "3"]

    async def test_what_is_too_old_is_swept_and_numbers_go_on(self, audit: Audit) -> None:
        entries = [
            AuditEntry(at=NOW + minute * MINUTE, tenant=tenant, key=None, action="key.created", target=str(minute))
            for minute, tenant in enumerate(("acme", "other", "acme"))
        ]
        for entry in entries:
            await audit.note(entry)
        assert await audit.sweep(before=NOW + MINUTE) == 1
        [last] = await audit.entries("acme", limit=10)
        assert await audit.sweep(before=NOW + DAY) == 1
        assert await audit.entries("acme", limit=10) == [last]
        assert await audit.entries("other", limit=10) == []
        await audit.note(entries[0])
        assert [entry.number > last.number for entry in await audit.entries("acme", limit=1)] == [True]


CLAIM: Final = Claim(tenant="acme", name=b"n" * 32, request=b"r" * 32)
ANSWER: Final = Answer(status=201, headers={"content-type": "application/json"}, body=b'{"a": 1}')


class AnswersSuite:
    """Give it fixtures `answers`, a store without any, and `records`, the records beside it, which are empty."""

    async def begun(self, answers: Answers, claim: Claim = CLAIM, *, minutes: int = 0) -> Found | None:
        now = NOW + minutes * MINUTE
        return await answers.begin(claim, now=now, until=now + MINUTE)

    async def test_the_first_goes_on_and_the_second_is_told(self, answers: Answers) -> None:
        assert await self.begun(answers) is None
        assert await self.begun(answers) == Found(request=CLAIM.request, done=False, answer=None)

    async def test_an_answer_is_given_again(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.finish(CLAIM, ANSWER, until=NOW + DAY)
        other = replace(CLAIM, request=b"o" * 32)
        for claim in (CLAIM, other):
            assert await self.begun(answers, claim, minutes=5) == Found(request=CLAIM.request, done=True, answer=ANSWER)

    async def test_an_empty_answer_is_an_answer(self, answers: Answers) -> None:
        await self.begun(answers)
        empty = Answer(status=204, body=b"")
        await answers.finish(CLAIM, empty, until=NOW + DAY)
        assert await self.begun(answers) == Found(request=CLAIM.request, done=True, answer=empty)

    async def test_an_answer_that_cannot_be_kept_is_known_to_have_been_given(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.finish(CLAIM, None, until=NOW + DAY)
        assert await self.begun(answers) == Found(request=CLAIM.request, done=True, answer=None)

    async def test_what_came_to_nothing_may_be_sent_again(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.abandon(CLAIM)
        assert await self.begun(answers) is None

    async def test_an_answer_is_not_abandoned(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.finish(CLAIM, ANSWER, until=NOW + DAY)
        await answers.abandon(CLAIM)
        assert await self.begun(answers) is not None

    async def test_a_claim_and_an_answer_end(self, answers: Answers) -> None:
        await self.begun(answers)
        assert await self.begun(answers, minutes=2) is None
        await answers.finish(CLAIM, ANSWER, until=NOW + 10 * MINUTE)
        assert await self.begun(answers, minutes=9) is not None
        assert await self.begun(answers, minutes=11) is None

    async def test_a_claim_made_before_the_clock_was_set_back_is_free(self, answers: Answers) -> None:
        await self.begun(answers, minutes=180)
        assert await self.begun(answers, minutes=179) is not None, "clocks may differ a little"
        assert await self.begun(answers) is None
        assert await self.begun(answers) == Found(request=CLAIM.request, done=False, answer=None)
        await answers.finish(CLAIM, ANSWER, until=NOW + DAY)
        assert await self.begun(answers, minutes=-180) is not None, "an answer stays one"

    async def test_a_claim_lasts_while_it_is_held(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.hold(CLAIM, until=NOW + 5 * MINUTE)
        await answers.hold(replace(CLAIM, request=b"o" * 32), until=NOW + DAY)
        assert await self.begun(answers, minutes=4) == Found(request=CLAIM.request, done=False, answer=None)
        assert await self.begun(answers, minutes=6) is None

    async def test_a_claim_that_was_taken_over_is_its_new_owners(self, answers: Answers) -> None:
        first, second = replace(CLAIM, number=b"1"), replace(CLAIM, number=b"2")
        await self.begun(answers, first)
        assert await answers.hold(first, until=NOW + MINUTE)
        assert await self.begun(answers, second, minutes=2) is None
        assert not await answers.hold(first, until=NOW + DAY)
        await answers.abandon(first)
        await answers.finish(first, ANSWER, until=NOW + DAY)
        assert await self.begun(answers, minutes=2) == Found(request=CLAIM.request, done=False, answer=None)
        assert await answers.hold(second, until=NOW + 5 * MINUTE)
        await answers.finish(second, ANSWER, until=NOW + DAY)
        assert await self.begun(answers, minutes=6) == Found(request=CLAIM.request, done=True, answer=ANSWER)

    async def test_what_is_done_or_given_up_is_not_held(self, answers: Answers) -> None:
        await self.begun(answers)
        await answers.finish(CLAIM, ANSWER, until=NOW + MINUTE)
        given_up = replace(CLAIM, name=b"m" * 32)
        await self.begun(answers, given_up)
        await answers.abandon(given_up)
        for claim in (CLAIM, given_up):
            await answers.hold(claim, until=NOW + DAY)
        assert await self.begun(answers, given_up) is None
        assert await self.begun(answers, minutes=2) is None

    async def test_what_has_ended_is_swept(self, answers: Answers) -> None:
        await self.begun(answers)
        await self.begun(answers, replace(CLAIM, tenant="other"), minutes=5)
        assert await answers.sweep(now=NOW + 5 * MINUTE) == 0
        assert await answers.sweep(now=NOW + 7 * MINUTE) == 1

    async def test_tenants_and_names_do_not_meet(self, answers: Answers) -> None:
        assert await self.begun(answers) is None
        assert await self.begun(answers, replace(CLAIM, tenant="other")) is None
        assert await self.begun(answers, replace(CLAIM, name=b"m" * 32)) is None

    async def test_of_many_at_once_one_goes_on(self, answers: Answers) -> None:
        found = await asyncio.gather(*(self.begun(answers) for _ in range(8)))
        assert [one for one in found if one is None] == [None]

    async def test_emptied_answers_say_nothing_but_that_they_were_given(self, answers: Answers) -> None:
        other = replace(CLAIM, tenant="other")
        for claim in (CLAIM, other):
            await self.begun(answers, claim)
            await answers.finish(claim, ANSWER, until=NOW + DAY)
        await answers.empty("acme")
        assert await self.begun(answers) == Found(request=CLAIM.request, done=True, answer=None)
        assert await self.begun(answers, other) == Found(request=CLAIM.request, done=True, answer=ANSWER)

    async def test_a_purge_empties_answers_given_and_to_come(self, answers: Answers, records: Records) -> None:
        later = replace(CLAIM, name=b"m" * 32)
        memory = a_memory(scope=Scope(tenant="acme"))
        await records.write([memory], keep_all)
        for claim in (CLAIM, later):
            await self.begun(answers, claim)
        await answers.finish(CLAIM, ANSWER, until=NOW + DAY)
        await records.purge(Scope(tenant="acme"), [memory.id])
        await answers.finish(later, ANSWER, until=NOW + DAY)
        for claim in (CLAIM, later):
            assert await self.begun(answers, claim) == Found(request=CLAIM.request, done=True, answer=None)
