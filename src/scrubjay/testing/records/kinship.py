"""What belongs together goes together: versions, and what was made from a memory, also while others write."""

import asyncio

import pytest

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import Memory, Scope, new_id
from scrubjay.ports import Decision, Forgotten, Known, Records
from scrubjay.testing.values import DAY, NOW, a_memory, a_scope, all_rows, keep_all, replace_by_key, some_memories, told

ROUNDS = 12
ASKED = ("forgotten: asked to", "forgotten: asked to, with its source", "forgotten, with its source")
"""Why what is named is forgotten, and what was made from it, here and elsewhere."""


async def _forgotten(store: Records, *memories: Memory, seen: Memory | None = None) -> Forgotten:
    ids = [memory.id for memory in memories]
    because, with_it, elsewhere = ASKED
    return await store.forget(
        a_scope(), ids, at=NOW + DAY, because=because, with_it=with_it, elsewhere=elsewhere, seen=seen
    )


def _corrected(old: Memory) -> tuple[list[Memory], Memory]:
    new = a_memory(f"{old.content}, corrected", created_at=NOW + DAY, derived_from=old.derived_from)
    return [new], old.closed(NOW + DAY, because="corrected", by=new.id)


async def _update(store: Records, old: Memory) -> Memory | None:
    """The next version of it, or None when somebody else was faster."""
    drafts, closed = _corrected(old)

    def decide(draft: Memory, known: Known) -> Decision:  # noqa: ARG001 -- it knows what it replaces
        return Decision(outcome="superseded", memory=draft, closes=(closed,), opens=(draft,))

    try:
        return (await store.write(drafts, decide))[0].memory
    except Conflict:
        return None


async def _made_from(store: Records, source: Memory) -> Memory | None:
    """Something made from it, or None when that is refused."""
    try:
        return (await told(store, a_memory(f"Made from {source.content}", derived_from=(source.id,))))[0]
    except InvalidInput:
        return None


class KinshipSuite:
    """Nothing is left of what was forgotten or purged, in whatever order things happen."""

    async def test_forget_closes_what_was_named_and_what_was_made_from_it(self, store: Records) -> None:
        source, other = await told(store, *some_memories(2))
        [wider] = await told(store, a_memory("Wider", scope=Scope(), derived_from=(source.id,)))
        [lesson, narrower, hers] = await told(
            store,
            a_memory("Lesson", derived_from=(wider.id, other.id)),
            a_memory("Narrower", scope=a_scope(session="s"), derived_from=(source.id,)),
            a_memory("Another's", scope=a_scope("bob"), derived_from=(wider.id,)),
        )
        await store.close(a_scope(), [lesson.id], at=NOW, because="earlier")
        [through] = await told(store, a_memory("Through what is closed", derived_from=(lesson.id,)))
        closed, derived = await _forgotten(store, source)
        assert closed == [source.closed(NOW + DAY, because="forgotten: asked to")]
        assert [(one.id, one.closed_because) for one in derived] == [
            (wider.id, "forgotten, with its source"),
            (narrower.id, "forgotten: asked to, with its source"),
            (hers.id, "forgotten, with its source"),
            (through.id, "forgotten: asked to, with its source"),
        ], "why somebody asked is told to those who could read the source"
        left = [one.id for one in await all_rows(store, Scope()) if one.superseded_at is None]
        assert left == [other.id]

    async def test_forget_reaches_nothing_when_nothing_that_was_named_is_held_or_believed(self, store: Records) -> None:
        [wider] = await told(store, a_memory("Wider", scope=Scope()))
        [made] = await told(store, a_memory("Made", derived_from=(wider.id,)))
        assert await _forgotten(store, wider) == ([], [])
        assert await store.get(a_scope(), [wider.id, made.id]) == [wider, made]
        closed, derived = await _forgotten(store, made)
        assert (len(closed), derived) == (1, [])
        assert await _forgotten(store, made) == ([], [])

    async def test_forget_of_what_was_replaced_closes_nothing(self, store: Records) -> None:
        one, other = await told(store, *some_memories(2))
        new = await _update(store, one)
        assert new is not None
        with pytest.raises(Conflict, match=str(one.id)):
            await _forgotten(store, other, one)
        assert await store.get(a_scope(), [other.id, new.id]) == [other, new]

    async def test_forget_of_what_was_seen_otherwise_closes_nothing(self, store: Records) -> None:
        [source] = await told(store, a_memory())
        [made] = await told(store, a_memory("Made", derived_from=(source.id,)))
        await store.adjust(a_scope(), source.id, importance=0.9)
        with pytest.raises(Conflict):
            await _forgotten(store, source, seen=source)
        assert [one.superseded_at for one in await store.get(a_scope(), [source.id, made.id])] == [None, None]

    @pytest.mark.parametrize("gone", ["forgotten", "forgotten with its source", "purged", "another tenant's"])
    async def test_nothing_is_made_from_what_is_not_there_any_more(self, store: Records, gone: str) -> None:
        [first] = await told(store, a_memory("First", scope=a_scope(tenant="acme" if "tenant" in gone else "default")))
        source = first
        if gone == "purged":
            await store.purge(a_scope(), [first.id])
        elif gone != "another tenant's":
            [second] = await told(store, a_memory("Second", derived_from=(first.id,)))
            await _forgotten(store, first)
            source = first if gone == "forgotten" else second
        with pytest.raises(InvalidInput, match=f"derived_from names {source.id}"):
            await store.write([a_memory("Beside it"), a_memory("Made", derived_from=(source.id,))], keep_all)
        assert [one.content for one in await all_rows(store, Scope()) if one.superseded_at is None] == []

    @pytest.mark.parametrize("because", ["expired", "archived: file", "pruned: not recalled for long"])
    async def test_what_was_closed_in_another_way_stays_a_source(self, store: Records, because: str) -> None:
        closed, replaced = await told(store, *some_memories(2))
        await store.close(a_scope(), [closed.id], at=NOW, because=because)
        await _update(store, replaced)
        [made] = await told(store, a_memory("Made", derived_from=(closed.id, replaced.id)))
        assert await store.derived(a_scope(), [replaced.id, closed.id]) == [made.id]

    async def test_a_source_may_come_in_the_same_batch(self, store: Records) -> None:
        source = a_memory("Source")
        made = a_memory("Made", derived_from=(source.id,))
        assert await told(store, source, made) == [source, made]

    async def test_what_is_loaded_names_whatever_it_names(self, store: Records) -> None:
        [gone] = await told(store, a_memory("Forgotten"))
        await _forgotten(store, gone)
        await store.load([made := a_memory("Made", derived_from=(gone.id, new_id()))])
        version = await _update(store, made)
        assert version is not None
        assert version.derived_from == made.derived_from, "the next version is made from what the last one was"

    async def test_what_was_forgotten_may_be_opened_again(self, store: Records) -> None:
        [gone] = await told(store, a_memory("Forgotten"))
        await _forgotten(store, gone)
        again = a_memory("Forgotten", derived_from=(gone.id,))
        reopened = Decision(outcome="stored", memory=again, opens=(again,), reopens=True)
        [done] = await store.write([again], lambda _draft, _known: reopened)
        assert done.memory == again

    async def test_purge_takes_what_was_made_from_it_in_any_scope(self, store: Records) -> None:
        source, other = await told(store, *some_memories(2))
        [wider] = await told(store, a_memory("Wider", scope=Scope(), derived_from=(source.id, other.id)))
        [lesson] = await told(store, a_memory("Lesson", derived_from=(wider.id,)))
        gone = await store.purge(a_scope(), [source.id])
        assert (gone[0], {one.id for one in gone}) == (source, {source.id, wider.id, lesson.id})
        assert await all_rows(store, Scope()) == [other]
        assert await store.derived(a_scope(), [other.id]) == []

    async def test_purge_with_versions_takes_all_that_the_memory_and_its_key_ever_were(self, store: Records) -> None:
        values = [a_memory(content, key="k", created_at=NOW + day * DAY) for day, content in enumerate("abc")]
        elsewhere = a_memory("a", key="k", scope=a_scope("bob"))
        await store.write([*values, elsewhere], replace_by_key)
        await _forgotten(store, values[2])
        await store.write([again := a_memory("d", key="k", created_at=NOW + 2 * DAY)], replace_by_key)
        [note] = await told(store, a_memory("A note"))
        newer = await _update(store, note)
        assert newer is not None
        gone = await store.purge(a_scope(), [values[1].id, note.id], versions=True)
        named = {one.id for one in (*values, again, note, newer)}
        assert ({one.id for one in gone}, len(gone)) == (named, len(named))
        assert [one.id for one in await all_rows(store, Scope())] == [elsewhere.id]

    async def test_what_is_made_beside_a_forget_is_refused_or_goes_with_it(self, store: Records) -> None:
        for source in await told(store, *some_memories(ROUNDS)):
            made, _ = await asyncio.gather(_made_from(store, source), _forgotten(store, source))
            if made is not None:
                [left] = await store.get(a_scope(), [made.id])
                assert left.closed_because == "forgotten: asked to, with its source"

    async def test_what_is_made_beside_a_purge_is_refused_or_goes_with_it(self, store: Records) -> None:
        for source in await told(store, *some_memories(ROUNDS)):
            made, gone = await asyncio.gather(_made_from(store, source), store.purge(a_scope(), [source.id]))
            assert [one.id for one in gone] == [source.id, *([made.id] if made is not None else [])]
        assert await all_rows(store, Scope()) == []

    async def test_an_update_beside_a_purge_is_refused_or_goes_with_it(self, store: Records) -> None:
        for old in await told(store, *some_memories(ROUNDS)):
            new, gone = await asyncio.gather(_update(store, old), store.purge(a_scope(), [old.id], versions=True))
            assert {one.id for one in gone} == {old.id, *([new.id] if new is not None else [])}
        assert await all_rows(store, Scope()) == []

    async def test_of_an_update_and_a_forget_at_once_one_is_refused(self, store: Records) -> None:
        for old in await told(store, *some_memories(ROUNDS)):
            new, done = await asyncio.gather(_update(store, old), _forgotten(store, old), return_exceptions=True)
            assert (new is None) == isinstance(done, Forgotten)
            assert new is None or isinstance(done, Conflict)
