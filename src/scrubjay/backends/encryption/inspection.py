"""Encryption, looked over: whether every data key opens, and whether the key that should wrap them does."""

from scrubjay.backends.encryption.vault import KeyVault
from scrubjay.errors import KeyMissing, StoreDamaged
from scrubjay.model import Finding


class EncryptionInspection:
    """The `Inspected` port for the keys of all tenants."""

    def __init__(self, vault: KeyVault) -> None:
        self._vault = vault

    async def inspect(self, *, fix: bool = False) -> list[Finding]:  # noqa: ARG002 -- a key that is gone stays gone
        """Unwrap every data key of every tenant. Nothing is found where there is none."""
        masters = await self._vault.keys.masters()
        if not masters:
            return []
        found = [finding for tenant in await self._vault.keys.tenants() for finding in await self._faults(tenant)]
        if found:
            return found
        count = sum(masters.values())
        said = f"{count} data {'key opens' if count == 1 else 'keys open'}, wrapped with {', '.join(masters)}"
        late = [one for one in masters if one != self._vault.master.id]
        if not late:
            return [Finding(about="encryption", said=said)]
        said = f"{sum(masters[one] for one in late)} data keys are not wrapped with the first master key"
        return [Finding(about="encryption", said=said, remedy="run `scrubjay keys rotate`")]

    async def _faults(self, tenant: str) -> list[Finding]:
        faults: list[Finding] = []
        for key in await self._vault.keys.of(tenant):
            try:
                self._vault.unwrapped(key)
            except (KeyMissing, StoreDamaged) as error:
                said, _, remedy = str(error).partition(": ")
                faults.append(Finding(about="encryption", said=said, remedy=remedy))
        return faults
