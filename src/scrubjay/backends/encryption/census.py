"""Which data keys are needed, and by what: counted from what is stored, never assumed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay.backends.encryption.smiths import Place
from scrubjay.backends.encryption.stored import PLAIN
from scrubjay.backends.encryption.vault import KeyVault
from scrubjay.errors import StoreUnavailable
from scrubjay.ports.at_rest import FILES, MEMORIES, Archived
from scrubjay.ports.encryption import FINGERPRINTS, Resealed


@dataclass(slots=True)
class Census:
    """What needs which key of which tenant, and what could not be read."""

    needed: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    """By tenant, number and what it is. The number is `PLAIN` for what should be encrypted and is not."""
    plain: int = 0
    """Memories that are not encrypted, whether they should be or not."""
    unread: list[str] = field(default_factory=list)

    def of_key(self, tenant: str, number: int) -> dict[str, int]:
        """How many need this key, by what they are."""
        found = {what: count for (whose, key, what), count in self.needed.items() if (whose, key) == (tenant, number)}
        return dict(sorted(found.items()))

    def left(self, newest: dict[str, int]) -> dict[str, int]:
        """How many do not have the newest key of their tenant, by what they are."""
        found: Counter[str] = Counter()
        for (tenant, key, what), count in self.needed.items():
            if key == PLAIN or key != newest.get(tenant):
                found[what] += count
        return dict(sorted(found.items()))


async def taken(vault: KeyVault, stored: Resealed, places: Sequence[Place[Any]], tenant: str | None = None) -> Census:
    """Count over all that is stored, of one tenant or of all."""
    census, rules = Census(), vault.rules
    for (whose, kind, number), count in (await stored.rows_by_key(tenant)).items():
        census.plain += count if number == PLAIN else 0
        if number != PLAIN or rules.cover(kind):
            census.needed[whose, number, MEMORIES] += count
    for (whose, of_agent, number), count in (await stored.files_by_key(tenant)).items():
        if number != PLAIN or rules.encrypt == "all" or (rules.encrypt == "agents" and of_agent):
            census.needed[whose, number, FILES] += count
    files: set[tuple[str, str]] = set()
    for place in places:
        files |= await _count_place(census, vault, place, tenant)
    census.unread += await _astray(vault, stored, files, tenant)
    return census


async def _astray(vault: KeyVault, stored: Resealed, files: set[tuple[str, str]], tenant: str | None) -> list[str]:
    """Say of each archive that records name and nobody saw what to do: it may need any older key of its tenant."""
    named = await stored.archives(tenant)
    with_older = {whose for whose in {whose for whose, _ in named} if await has_older(vault, whose)}
    return [
        f"the archive {name} of tenant {whose}, which {count:,} records name, is not in the folder that "
        "SCRUBJAY_ARCHIVE names here. Run this where it is, put it back, or purge those records"
        for (whose, name), count in sorted(named.items())
        if whose in with_older and (whose, name) not in files
    ]


async def has_older(vault: KeyVault, tenant: str) -> bool:
    """Whether the tenant has a data key that does not encrypt any more."""
    return len([key for key in await vault.keys.of(tenant) if key.number != FINGERPRINTS]) > 1


async def _count_place(census: Census, vault: KeyVault, place: Place[Any], tenant: str | None) -> set[tuple[str, str]]:
    """Count what lies in a place; return the tenants and names of the archives that were seen."""
    files: set[tuple[str, str]] = set()
    try:
        async for item in place.store.all():
            whose = place.smith.tenant(item)
            # What is nobody's concerns everybody.
            if tenant is not None and whose and whose != tenant:
                continue
            if isinstance(item, Archived):
                files.add((item.tenant, item.file.name))
            if isinstance(item, Archived) and item.fault:
                census.unread.append(f"{item.file}: {item.fault}")
                continue
            for number in place.smith.keys(item, await vault.ring(whose), vault.rules):
                census.needed[whose, number, place.store.name] += 1
    except StoreUnavailable as error:
        census.unread.append(f"{place.store.name}: {error}")
    return files


async def newest_keys(vault: KeyVault) -> dict[str, int]:
    """The number of the data key that encrypts, of each tenant that has one."""
    found = {tenant: await vault.keys.of(tenant) for tenant in await vault.keys.tenants()}
    return {tenant: max(key.number for key in keys) for tenant, keys in found.items() if keys[-1].number > FINGERPRINTS}
