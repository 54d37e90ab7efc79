"""Encryption at rest, between the stores and everything else. Always there: without a key it opens nothing."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrubjay.model import Memory
from scrubjay.ports import Inspected, Stores, Working, Works
from scrubjay.ports.access import AccessStores
from scrubjay.ports.at_rest import IN_SESSIONS, Elsewhere
from scrubjay.ports.indexes import WORDS_ONLY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from scrubjay.backends.encryption.smiths import Place
    from scrubjay.backends.encryption.vault import KeyVault
    from scrubjay.backends.redis.connection import RedisConnection
    from scrubjay.backends.sql.database import Database
    from scrubjay.settings import Settings


@dataclass(frozen=True, slots=True)
class Encryption:
    """What puts itself between the stores and everything else."""

    vault: "KeyVault"
    database: "Database"
    redis: "RedisConnection | None" = None
    """Where sessions may be beside the database."""
    in_redis: bool = False
    """Whether that is where they are kept; else a few may be left there, of another setting or an older version."""

    def stores(self, stores: Stores) -> Stores:
        """The same stores; what is encrypted in them is sealed on its way in and opened on its way out."""
        from scrubjay.backends.encryption.blobs import EncryptedBlobs
        from scrubjay.backends.encryption.joint import EncryptedJoint
        from scrubjay.backends.encryption.records import EncryptedRecords
        from scrubjay.backends.encryption.rotation import Locksmith
        from scrubjay.backends.encryption.texts import EncryptedTexts
        from scrubjay.backends.encryption.twins import Twins
        from scrubjay.backends.sql.resealing import SqlResealed

        resealed = SqlResealed(self.database)

        async def hide(ids: "Sequence[UUID]") -> None:
            await stores.vectors.remove(ids)
            await stores.records.mark(ids, WORDS_ONLY)

        records = EncryptedRecords(stores.records, self.vault, Twins(self.vault, resealed, hide))
        return Stores(
            records=records,
            generations=stores.generations,
            texts=EncryptedTexts(stores.texts, records, self.vault),
            vectors=stores.vectors,
            blobs=EncryptedBlobs(stores.blobs, self.vault),
            # Who has the Redis looks there; who has none, or another one, must know that there is one.
            vault=Locksmith(
                self.vault,
                resealed,
                self._places(),
                elsewhere=self._elsewhere(),
                sessions_in=self.redis.name if self.redis is not None else "",
            ),
            joint=EncryptedJoint(stores.joint, records) if stores.joint is not None else None,
            # Opening what is sealed takes its time, and has threads of its own for that.
            together=stores.together if not self.vault.masters else None,
        )

    def _places(self) -> "list[Place[Any]]":
        """Where something lies that may be encrypted, beside memories and files."""
        from scrubjay.backends.encryption.smiths import AnswerSmith, Place, SessionSmith, TroubleSmith
        from scrubjay.backends.sql.at_rest import SqlKeptAnswers, SqlSessions, SqlTroubles

        places: list[Place[Any]] = [
            # Both, whichever keeps the sessions: a few may be left in the other.
            Place(SqlSessions(self.database), SessionSmith()),
            Place(SqlKeptAnswers(self.database), AnswerSmith()),
            Place(SqlTroubles(self.database), TroubleSmith()),
        ]
        if self.redis is not None:
            from scrubjay.backends.redis.at_rest import RedisSessions

            places.append(Place(RedisSessions(self.redis, self.vault.keys), SessionSmith()))
        return places

    async def note_sessions(self) -> None:
        """Let the record store know where sessions are kept, if not in it: commands may run without these settings."""
        if self.redis is not None and self.in_redis:
            await self._elsewhere().keep(IN_SESSIONS, self.redis.name, at=self.vault.clock())

    def _elsewhere(self) -> Elsewhere:
        from scrubjay.backends.sql.elsewhere import SqlElsewhere

        return SqlElsewhere(self.database)

    def working(self, working: Working) -> Working:
        """The same working memory."""
        from scrubjay.backends.encryption.working import EncryptedWorking

        return EncryptedWorking(working, self.vault)

    def works(self, works: Works) -> Works:
        """The same works."""
        from scrubjay.backends.encryption.upkeep import EncryptedUpkeep, EncryptedWorklog

        return Works(
            leases=works.leases,
            log=EncryptedWorklog(works.log, self.vault),
            upkeep=EncryptedUpkeep(works.upkeep, self.vault),
        )

    def access(self, access: AccessStores) -> AccessStores:
        """The same stores of access; the answers that are kept are sealed."""
        from scrubjay.backends.encryption.answers import EncryptedAnswers

        return replace(access, answers=EncryptedAnswers(access.answers, self.vault))

    @property
    def inspected(self) -> dict[str, Inspected]:
        """What looks the keys over."""
        from scrubjay.backends.encryption.inspection import EncryptionInspection

        return {"encryption": EncryptionInspection(self.vault)}

    @property
    def hidden(self) -> "Callable[[Memory], bool] | None":
        """Says which memories are to have no vectors; None when all may have some."""
        return self.vault.rules.hide if self.vault.rules.search == "none" else None


def new_master_key() -> str:
    """A fresh master key, as the settings take it."""
    from scrubjay.backends.encryption.masters import new_master

    return new_master()


def encryption_of(
    settings: "Settings",
    database: "Database",
    clock: "Callable[[], datetime]",
    redis: "RedisConnection | None" = None,
) -> Encryption:
    """Encryption as these settings describe it. Raises Misconfigured for a key that is none."""
    from scrubjay.backends.encryption.masters import masters_of
    from scrubjay.backends.encryption.vault import KeyVault, Rules
    from scrubjay.backends.sql.data_keys import SqlDataKeys

    masters = masters_of(settings.encryption_key.get_secret_value(), settings.encryption_key_file)
    rules = Rules(encrypt=settings.encrypt, search=settings.encrypted_search)
    vault = KeyVault(SqlDataKeys(database), masters, rules=rules, clock=clock)
    return Encryption(vault, database, redis, in_redis=settings.working_durability == "redis")
