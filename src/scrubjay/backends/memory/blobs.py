"""Blobs on dicts: the reference."""

from collections.abc import Sequence
from uuid import UUID

from scrubjay.errors import NotFound
from scrubjay.model import Scope
from scrubjay.ports import Blob, Room, WholeBlob
from scrubjay.ports.blobs import parts_owner


class MemoryBlobs:
    """The `Blobs` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str], bytes] = {}
        self._holders: dict[tuple[str, str], set[UUID]] = {}

    async def keep(self, scope: Scope, owner: UUID, blobs: Sequence[Blob]) -> int:
        """Store these for the scope's tenant, held by this memory; return how many bytes were new."""
        new, earlier = 0, set[str]()
        for blob in blobs:
            for digest in await self.missing(scope, blob.parts):
                if digest not in earlier:
                    raise NotFound(f"there is no blob {digest} to hold: keep its content first")
            earlier.add(blob.hash)
        for blob in blobs:
            place = (scope.tenant, blob.hash)
            if place not in self._contents:
                self._contents[place] = blob.content
                new += len(blob.content)
            self._holders.setdefault(place, set()).add(owner)
            await self.hold(scope, parts_owner(scope.tenant, blob.hash), blob.parts)
        return new

    async def hold(self, scope: Scope, owner: UUID, hashes: Sequence[str]) -> None:
        """Let this memory hold blobs that are there already."""
        for digest in await self.missing(scope, hashes):
            raise NotFound(f"there is no blob {digest} to hold: keep its content first")
        for digest in hashes:
            self._holders[scope.tenant, digest].add(owner)

    async def get(self, scope: Scope, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return those that the tenant has."""
        places = {digest: (scope.tenant, digest) for digest in hashes}
        return {digest: self._contents[place] for digest, place in places.items() if place in self._contents}

    async def missing(self, scope: Scope, hashes: Sequence[str]) -> list[str]:
        """Return those that the tenant does not have, in the order asked, each once."""
        return [digest for digest in dict.fromkeys(hashes) if (scope.tenant, digest) not in self._contents]

    async def held(self, scope: Scope, owners: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        """Return what each of these memories holds, sorted."""
        found: dict[UUID, tuple[str, ...]] = {}
        for owner in owners:
            hashes = [
                digest
                for (tenant, digest), holders in self._holders.items()
                if tenant == scope.tenant and owner in holders
            ]
            if hashes:
                found[owner] = tuple(sorted(hashes))
        return found

    async def release(self, scope: Scope, owners: Sequence[UUID]) -> int:
        """Let these memories hold nothing any more, and delete what nobody holds; return how many went."""
        gone: list[tuple[str, str]] = []
        for place, holders in list(self._holders.items()):
            if place[0] == scope.tenant and holders & set(owners):
                holders -= set(owners)
                if not holders:
                    del self._holders[place], self._contents[place]
                    gone.append(place)
        return len(gone) + (await self.release(scope, [parts_owner(*place) for place in gone]) if gone else 0)

    async def room(self, scope: Scope) -> Room:
        """Say how much the tenant keeps."""
        sizes = [len(content) for (tenant, _), content in self._contents.items() if tenant == scope.tenant]
        return Room(blobs=len(sizes), bytes=sum(sizes), stored=sum(sizes))

    def whole(self) -> list[WholeBlob]:
        """All of every tenant, in the order of storing."""
        return [
            WholeBlob(tenant=tenant, blob=Blob(content), holders=tuple(sorted(self._holders.get((tenant, digest), ()))))
            for (tenant, digest), content in self._contents.items()
        ]

    def put(self, whole: WholeBlob) -> None:
        """Keep this with its holders."""
        place = (whole.tenant, whole.blob.hash)
        self._contents[place] = whole.blob.content
        self._holders.setdefault(place, set()).update(whole.holders)
