"""What every store of blobs has to prove."""

import asyncio
import random

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob, Blobs, Room
from scrubjay.ports.blobs import MOST_BYTES, parts_owner

HERE = Scope(tenant="acme")
THERE = Scope(tenant="zeta")


class BlobsSuite:
    """Give a fixture `blobs` with an empty store."""

    async def test_what_is_kept_comes_back(self, blobs: Blobs) -> None:
        contents = [b"", b"one", bytes(range(256)) * 400, "ünïcode\r\n".encode()]
        kept = [Blob(content) for content in contents]
        assert await blobs.keep(HERE, new_id(), kept) == sum(map(len, contents))
        assert await blobs.get(HERE, [blob.hash for blob in kept]) == {blob.hash: blob.content for blob in kept}

    async def test_a_hash_is_the_usual_one(self, blobs: Blobs) -> None:
        await blobs.keep(HERE, new_id(), [Blob(b"abc")])
        known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        assert await blobs.get(HERE, [known, "0" * 64]) == {known: b"abc"}

    async def test_the_same_content_is_stored_once(self, blobs: Blobs) -> None:
        first, second = new_id(), new_id()
        blob = Blob(b"shared " * 100)
        assert await blobs.keep(HERE, first, [blob, blob]) == 700
        assert await blobs.keep(HERE, second, [blob]) == 0
        assert (await blobs.room(HERE)).blobs == 1
        assert await blobs.held(HERE, [first, second, new_id()]) == {first: (blob.hash,), second: (blob.hash,)}

    async def test_what_is_missing_is_named_in_order(self, blobs: Blobs) -> None:
        await blobs.keep(HERE, new_id(), [Blob(b"here")])
        asked = ["f" * 64, Blob(b"here").hash, "a" * 64, "f" * 64]
        assert await blobs.missing(HERE, asked) == ["f" * 64, "a" * 64]
        assert await blobs.missing(HERE, []) == []

    async def test_another_tenant_sees_nothing(self, blobs: Blobs) -> None:
        owner, blob = new_id(), Blob(b"secret")
        await blobs.keep(HERE, owner, [blob])
        assert await blobs.get(THERE, [blob.hash]) == {}
        assert await blobs.missing(THERE, [blob.hash]) == [blob.hash]
        assert await blobs.held(THERE, [owner]) == {}
        assert await blobs.room(THERE) == Room()
        assert await blobs.release(THERE, [owner]) == 0
        with pytest.raises(NotFound):
            await blobs.hold(THERE, new_id(), [blob.hash])
        assert await blobs.keep(THERE, owner, [blob]) == 6, "it may not learn that somebody has it"
        assert await blobs.release(THERE, [owner]) == 1
        assert await blobs.get(HERE, [blob.hash]) == {blob.hash: b"secret"}

    async def test_it_lives_as_long_as_it_is_held(self, blobs: Blobs) -> None:
        first, second, blob, other = new_id(), new_id(), Blob(b"shared"), Blob(b"mine")
        await blobs.keep(HERE, first, [blob, other])
        await blobs.hold(HERE, second, [blob.hash])
        assert await blobs.release(HERE, [first]) == 1
        assert await blobs.get(HERE, [blob.hash, other.hash]) == {blob.hash: b"shared"}
        assert await blobs.release(HERE, [first, second, new_id()]) == 1
        assert await blobs.room(HERE) == Room()
        assert await blobs.release(HERE, [second]) == 0

    async def test_holding_what_is_not_there_holds_nothing(self, blobs: Blobs) -> None:
        owner, blob = new_id(), Blob(b"there")
        await blobs.keep(HERE, new_id(), [blob])
        with pytest.raises(NotFound, match="f" * 64):
            await blobs.hold(HERE, owner, [blob.hash, "f" * 64])
        assert await blobs.held(HERE, [owner]) == {}

    async def test_a_version_comes_back_whatever_it_builds_on(self, blobs: Blobs) -> None:
        chance = random.Random(7)  # noqa: S311 -- the same every time, which is the point
        lines = [f"line {place} {chance.random()}\n" for place in range(400)]
        versions: list[Blob] = []
        owners = [new_id() for _ in range(30)]
        for owner in owners:
            lines[chance.randrange(len(lines))] = f"changed {chance.random()}\n"
            del lines[chance.randrange(len(lines))]
            lines.insert(chance.randrange(len(lines)), "new\n")
            versions.append(Blob("".join(lines).encode(), base=versions[-1].hash if versions else None))
            await blobs.keep(HERE, owner, [versions[-1]])
        assert await blobs.get(HERE, [one.hash for one in versions]) == {one.hash: one.content for one in versions}
        room = await blobs.room(HERE)
        assert room.bytes == sum(len(one.content) for one in versions)
        gone = chance.sample(range(30), 15)
        assert await blobs.release(HERE, [owners[place] for place in gone]) == 15
        left = [one for place, one in enumerate(versions) if place not in gone]
        assert await blobs.get(HERE, [one.hash for one in versions]) == {one.hash: one.content for one in left}

    async def test_a_base_that_is_not_there_does_not_matter(self, blobs: Blobs) -> None:
        blob = Blob(b"alone", base="f" * 64)
        await blobs.keep(HERE, new_id(), [blob, Blob(b"itself", base=Blob(b"itself").hash)])
        assert await blobs.get(HERE, [blob.hash]) == {blob.hash: b"alone"}

    async def test_many_at_once(self, blobs: Blobs) -> None:
        kept = [Blob(str(place).encode()) for place in range(1_200)]
        owner = new_id()
        await blobs.keep(HERE, owner, kept)
        assert len(await blobs.get(HERE, [blob.hash for blob in kept])) == 1_200
        assert len((await blobs.held(HERE, [owner]))[owner]) == 1_200
        assert await blobs.release(HERE, [owner]) == 1_200

    async def test_keeping_and_releasing_at_once_loses_nothing(self, blobs: Blobs) -> None:
        shared = [Blob(f"file {place}".encode()) for place in range(5)]

        async def come_and_go() -> None:
            owner = new_id()
            await blobs.keep(HERE, owner, shared)
            assert len(await blobs.get(HERE, [blob.hash for blob in shared])) == 5, "what one holds is there"
            await blobs.release(HERE, [owner])

        await asyncio.gather(*(come_and_go() for _ in range(20)))
        assert await blobs.room(HERE) == Room()

    async def test_parts_live_as_long_as_what_lists_them(self, blobs: Blobs) -> None:
        first, second = new_id(), new_id()
        files = [Blob(b"one"), Blob(b"two"), Blob(b"alone")]
        inner = Blob(b"inner", parts=(files[0].hash, files[1].hash))
        outer, other = Blob(b"outer", parts=(inner.hash,)), Blob(b"other", parts=(files[1].hash,))
        with pytest.raises(NotFound, match=files[1].hash):
            await blobs.keep(HERE, first, [files[0], inner])
        await blobs.release(HERE, [first])
        await blobs.keep(HERE, first, [*files, inner, outer])
        await blobs.keep(HERE, second, [other])
        await blobs.hold(HERE, second, [outer.hash])
        owner = parts_owner(HERE.tenant, inner.hash)
        assert await blobs.held(HERE, [owner]) == {owner: tuple(sorted(inner.parts))}
        assert await blobs.release(HERE, [first]) == 1, "what nobody lists"
        assert await blobs.missing(HERE, [one.hash for one in files]) == [files[2].hash]
        third = new_id()
        await blobs.hold(HERE, third, [other.hash])
        assert await blobs.release(HERE, [second]) == 3, "the lists, and what no other one lists"
        assert sorted(await blobs.get(HERE, [one.hash for one in files])) == [files[1].hash]
        assert await blobs.release(HERE, [third]) == 2
        assert await blobs.room(HERE) == Room()

    async def test_a_blob_that_was_there_without_parts_gets_them(self, blobs: Blobs) -> None:
        first, second, part = new_id(), new_id(), Blob(b"part")
        await blobs.keep(HERE, first, [part, Blob(b"list")])
        await blobs.keep(HERE, second, [Blob(b"list", parts=(part.hash,))])
        assert await blobs.release(HERE, [first]) == 0
        assert await blobs.release(HERE, [second]) == 2

    async def test_one_that_is_too_large_is_refused(self, blobs: Blobs) -> None:
        with pytest.raises(InvalidInput, match=f"{MOST_BYTES:,}"):
            Blob(bytes(MOST_BYTES + 1))
        assert await blobs.room(HERE) == Room()
