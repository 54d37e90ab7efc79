"""The verbs of facts, on the core's own write and read path."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, Unpack, cast
from uuid import UUID

from scrubjay.core import Core, Id
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.facts import flags
from scrubjay.memories.facts.applying import applies, applying, narrowness, overriding
from scrubjay.memories.facts.prompt import prompt
from scrubjay.memories.facts.restoring import restore
from scrubjay.memories.facts.telling import (
    FACT,
    PREFERENCE,
    SKILL,
    FactNarrow,
    FactTelling,
    FactTellings,
    FactTold,
    OfProject,
    OfUser,
    ProjectTold,
    PromptNarrow,
    SkillTold,
    UserTold,
    keyed,
    narrow_of,
)
from scrubjay.memories.facts.truth import store
from scrubjay.model import AsOf, Filter, ForgetReceipt, Hits, Memory, Mode, Order, Scope, Where, id_of
from scrubjay.model.checks import check_flag, check_fraction, check_name, check_several, in_utc, shown
from scrubjay.model.facts import FACT_KINDS, BoostedFact, Fact, FactConflict, FactContext, FactType, StoredFact
from scrubjay.write.audit import audited
from scrubjay.write.forget import purge as purge_everywhere
from scrubjay.write.forget import versions_of

FactList: TypeAlias = list[Fact]  # `list` is a verb below, and would hide the type there

BOTH = "both"
"""What `resolve` keeps when two facts hold after all."""


class Facts:
    """What is true, for whom, and since when. Every verb takes the scope as keywords, as the core's do."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Storing

    async def store(self, content: str, *, insert_only: bool = False, **told: Unpack[FactTold]) -> StoredFact:
        """Store a fact. A new value for its key closes the old version; the same again counts as one more use.

        Without a key, what repeats a fact of the same scope is merged with it, and what may contradict one is flagged.
        With `insert_only`, nothing is replaced or merged: raises Conflict when the key has a value, or it is known.
        """
        return (await self.store_many([cast("FactTelling", {**told, "content": content})], insert_only=insert_only))[0]

    async def store_many(
        self, items: FactTellings, *, insert_only: bool = False, **where: Unpack[Where]
    ) -> list[StoredFact]:
        """Store many: texts, or dicts with `content` and details. All are checked before any is written."""
        check_several("items", items)
        check_flag("insert_only", insert_only)
        return await store(self._core, [*items], self._core.scoped(where), insert_only=insert_only)

    async def store_user_preference(self, user: str, key: str, content: str, **told: Unpack[UserTold]) -> StoredFact:
        """Store what a user prefers. The key begins with `pref:`, which need not be told."""
        _needed("user", user)
        given = {"type": FactType.USER_PREFERENCE, **told, "user": user, "key": keyed(PREFERENCE, key)}
        return await self.store(content, **cast("FactTold", given))

    async def store_project_fact(self, project: str, key: str, content: str, **told: Unpack[ProjectTold]) -> StoredFact:
        """Store what is so in a project. The key begins with `fact:`, which need not be told."""
        _needed("project", project)
        given = {"type": FactType.PROJECT_FACT, **told, "project": project, "key": keyed(FACT, key)}
        return await self.store(content, **cast("FactTold", given))

    async def store_skill(self, key: str, content: str, **told: Unpack[SkillTold]) -> StoredFact:
        """Store how to do something, for the scope. The key begins with `skill:`, which need not be told."""
        given = {"type": FactType.SKILL, **told, "key": keyed(SKILL, key)}
        return await self.store(content, **cast("FactTold", given))

    # Reading

    async def get_by_id(self, id: Id, *, touch: bool = True, **where: Unpack[Where]) -> Fact:
        """Return one version, in whatever state. Raises NotFound when the scope does not see it."""
        memory = await self._core.get(id, **where)
        if memory.kind not in FACT_KINDS:
            raise NotFound(f"memory {id} is a {memory.kind}, not a fact: `get` of the memory itself returns it")
        return self._read([memory], touch=touch)[0]

    async def get_by_key(
        self, key: str, *, as_of: datetime | AsOf | None = None, touch: bool = True, **where: Unpack[Where]
    ) -> Fact:
        """Return the value of a key that applies in the scope: its own, or else that of the narrowest wider one."""
        _needed("key", key)
        found = await self._applying({"key": key, "as_of": as_of, **where})
        if not found:
            raise NotFound(f"there is no fact {key!r} that applies in {self._core.scoped(where)}")
        return self._read(found, touch=touch)[0]

    async def get_user_preferences(self, user: str, *, touch: bool = True, **where: Unpack[OfUser]) -> FactList:
        """Return the preferences that apply to a user, most important first, the narrowest of each key."""
        _needed("user", user)
        return await self._of_type(FactType.USER_PREFERENCE, cast("Where", {**where, "user": user}), touch=touch)

    async def get_project_facts(self, project: str, *, touch: bool = True, **where: Unpack[OfProject]) -> FactList:
        """Return the facts that apply in a project, most important first, the narrowest of each key."""
        _needed("project", project)
        return await self._of_type(FactType.PROJECT_FACT, cast("Where", {**where, "project": project}), touch=touch)

    async def get_skills(self, *, touch: bool = True, **where: Unpack[Where]) -> FactList:
        """Return the skills that apply in the scope, most important first, the narrowest of each key."""
        return await self._of_type(FactType.SKILL, where, touch=touch)

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Mode = "hybrid",
        least_similarity: float | None = None,
        explain: bool = False,
        touch: bool = True,
        **narrow: Unpack[FactNarrow],
    ) -> Hits:
        """Find facts by words and meaning, best first, each with the reason; `recall`, among facts.

        With `explain`, every hit has the parts of its score. With `touch=False` nothing counts as used.
        """
        return await self._core.recall(
            query,
            limit=limit,
            mode=mode,
            least_similarity=least_similarity,
            explain=explain,
            touch=touch,
            **narrow_of(narrow),
        )

    async def get_context_for_prompt(
        self,
        user: str | None = None,
        project: str | None = None,
        *,
        query: str = "",
        budget: int = 1_000,
        touch: bool = True,
        **narrow: Unpack[PromptNarrow],
    ) -> FactContext:
        """Write what applies here as Markdown of at most `budget` tokens: by category, the most useful first.

        Of facts with one key, that of the narrowest scope is written. `query` says what the agent is about to do.
        """
        asked = self._core.filtered(narrow_of({**narrow, "user": user, "project": project}), "sees")
        written = await prompt(self._core, asked, query=query, budget=budget)
        self._count([item.memory for item in written.items], touch=touch)
        return written

    async def history(self, key: str | None = None, *, id: Id | None = None, **where: Unpack[Where]) -> FactList:
        """Return every version, by key or by id, oldest first: who told it, when and why, and why it was closed.

        A key is looked for in the scope itself, or else in the narrowest wider one that ever had it.
        """
        if (key is None) == (id is None):
            raise InvalidInput("history of what? Give a key or an id, and just one of them")
        if key is not None:
            return [Fact(memory=memory) for memory in await self._versions(key, self._core.scoped(where))]
        versions = await versions_of(await self._core.get(cast("Id", id), **where), self._core.parts.stores.records)
        found = sorted(versions, key=lambda memory: (memory.created_at, memory.valid_from))
        return [Fact(memory=memory) for memory in found if memory.kind in FACT_KINDS]

    async def as_of(
        self,
        key: str | None = None,
        *,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
        types: Sequence[FactType | str] = (),
        **where: Unpack[Where],
    ) -> FactList:
        """Return what we believed at `known_at` to hold at `valid_at` in this scope; either is now if left out.

        One fact for each key, that of the narrowest scope. Nothing counts as used.
        """
        when = AsOf(known_at=in_utc("known_at", known_at), valid_at=in_utc("valid_at", valid_at))
        found = await self._applying({**where, "types": types, "as_of": when, "key": key})
        return self._read(found, touch=False)

    # Keeping

    async def update_importance(self, id: Id, importance: float, **where: Unpack[Where]) -> Fact:
        """Set how important a fact is, from 0 to 1."""
        check_fraction("importance", importance)
        await self._current(id, where)
        return Fact(memory=(await self._core.update(id, importance=importance, **where)).memory)

    async def boost_importance(self, id: Id, by: float = 0.1, **where: Unpack[Where]) -> BoostedFact:
        """Add to the importance of a fact, or take away; kept within 0 and 1, and the answer says so.

        Of several who boost one fact at once, none is lost.
        """
        if isinstance(by, bool) or not isinstance(by, int | float) or not -1 <= by <= 1:
            raise InvalidInput(f"by is {shown(by)}: use a number from -1 to 1")
        fact = await self._current(id, where)
        boosted = await self._core.parts.stores.records.boost(fact.scope, fact.id, by)
        if boosted is None:
            raise NotFound(f"fact {id} has just been purged")
        memory, before = boosted
        await self._core.parts.index.add([memory])
        return BoostedFact(fact=Fact(memory=memory), before=before, asked=by)

    async def delete(self, id: Id, *, reason: str | None = None, **where: Unpack[Where]) -> ForgetReceipt:
        """Stop believing one version. It stays in the history and can be restored."""
        fact = await self._current(id, where)
        return await self._core.forget(fact.id, reason=reason, **where)

    async def delete_by_key(self, key: str, *, reason: str | None = None, **where: Unpack[Where]) -> ForgetReceipt:
        """Stop believing all that is believed under a key of exactly this scope."""
        scope = self._core.scoped(where)
        believed = [one.id for one in await self._exactly(key, scope) if one.superseded_at is None]
        if not believed:
            raise NotFound(f"there is no fact {key!r} in {scope} itself: name the scope that it was stored in")
        return await self._core.forget(believed, reason=reason, **where)

    async def restore(
        self, id: Id | None = None, *, key: str | None = None, reason: str | None = None, **where: Unpack[Where]
    ) -> FactList:
        """Believe again what was deleted: one version, or what was deleted last under a key of exactly this scope.

        Each becomes a new version over its own stretch of time, all in one transaction. Raises Conflict when another
        value holds there by now, and NotFound when there is nothing that was deleted.
        """
        if (key is None) == (id is None):
            raise InvalidInput("restore what? Give an id or a key, and just one of them")
        scope = self._core.scoped(where)
        if id is not None:
            fact = await self.get_by_id(id, touch=False, **where)
            gone = [fact.memory] if fact.is_deleted and scope.holds(fact.scope) else []
        else:
            deleted = [one for one in await self._exactly(cast("str", key), scope) if Fact(memory=one).is_deleted]
            last = max((one.superseded_at for one in deleted if one.superseded_at), default=None)
            gone = [one for one in deleted if one.superseded_at == last]
        if not gone:
            raise NotFound(f"there is no deleted fact {key or id} in {scope}: `history` shows what became of it")
        return await restore(self._core, gone, reason=reason)

    async def purge(self, id: Id | None = None, *, key: str | None = None, **where: Unpack[Where]) -> ForgetReceipt:
        """Delete a fact for good, every version of it and all that was made from it; by id, or by key of this scope."""
        if (key is None) == (id is None):
            raise InvalidInput("purge what? Give an id or a key, and just one of them")
        scope = self._core.scoped(where)
        if id is not None:
            fact = await self.get_by_id(id, touch=False, **where)
            if not scope.holds(fact.scope):
                raise NotFound(f"fact {id} belongs to {fact.scope}, which is wider than {scope}: name that scope")
            versions = [one.id for one in await self.history(id=id, **where)]
        else:
            versions = [one.id for one in await self._exactly(cast("str", key), scope)]
        if not versions:
            raise NotFound(f"there is no fact {key!r} in {scope} itself: name the scope that it was stored in")
        return await self._core.forget(versions, purge=True, **where)

    async def cleanup_expired(self, *, purge: bool = False, **where: Unpack[Where]) -> ForgetReceipt:
        """Delete the facts inside the scope that have expired. The receipt may be empty.

        With `purge` they are deleted for good; other versions of them stay.
        """
        check_flag("purge", purge)
        scope, parts = self._core.scoped(where), self._core.parts
        now = parts.clock()
        everything = Filter(scope=scope, reach="holds", kinds=FACT_KINDS, history=True)
        expired = [
            memory.id
            async for batch in parts.stores.records.scan(everything, now=now)
            for memory in batch
            if memory.superseded_at is None and memory.expires_at is not None and memory.expires_at <= now
        ]
        if not expired:
            return ForgetReceipt(ids=(), purged=purge, at=now)
        if purge:
            await audited(parts.access, self._core.caller, scope, expired, at=now, purge=True, how="expired")
            return await purge_everywhere(
                scope, expired, stores=parts.stores, index=parts.index, events=parts.events, at=now, versions=False
            )
        return await self._core.forget(expired, reason="expired", **where)

    # Contradictions

    async def conflicts(self, **where: Unpack[Where]) -> list[FactConflict]:
        """Return the open flags inside the scope, with both sides, oldest first."""
        return await flags.conflicts(self._core, self._core.scoped(where))

    async def resolve(self, conflict: Id, *, keep: Id, reason: str | None = None, **where: Unpack[Where]) -> FactList:
        """Settle a flag: `keep` is the id of the side that holds, or `both`. The other side is closed, not deleted.

        Returns what is believed after it. Raises Conflict when a side was changed meanwhile.
        """
        scope, tenant = self._core.scoped(where), self._core.tenant
        found = await flags.conflict(self._core, scope, id_of(conflict, tenant))
        kept = None if keep == BOTH else id_of(keep, tenant)
        return await flags.resolve(self._core, found, kept, reason=reason)

    # What the verbs share

    async def _applying(self, asked: Mapping[str, object]) -> list[Memory]:
        kept, _ = overriding(await applying(self._core, self._core.filtered(narrow_of(asked), "sees")))
        return kept

    async def _of_type(self, type: FactType, where: Where, *, touch: bool) -> FactList:
        found = await self._applying({**where, "types": (type,)})
        return self._read(sorted(found, key=lambda memory: -memory.importance), touch=touch)

    async def _exactly(self, key: str, scope: Scope) -> list[Memory]:
        """Every version that the scope itself has of this key."""
        _needed("key", key)
        versions = await self._core.parts.stores.records.versions(scope, key=key)
        return [memory for memory in versions if memory.scope == scope and memory.kind in FACT_KINDS]

    async def _versions(self, key: str, scope: Scope) -> list[Memory]:
        check_name("key", key)
        seen = await self._core.parts.stores.records.versions(scope, key=key)
        here = [memory for memory in seen if memory.kind in FACT_KINDS and applies(memory, scope)]
        if not here:
            raise NotFound(f"there never was a fact {key!r} that applies in {scope}")
        nearest = max((memory.scope for memory in here), key=narrowness)
        return [memory for memory in here if memory.scope == nearest]

    async def _current(self, id: Id, where: Where) -> Fact:
        """The fact, which has to lie inside the scope and to be believed."""
        fact = await self.get_by_id(id, touch=False, **where)
        scope = self._core.scoped(where)
        if not scope.holds(fact.scope):
            raise NotFound(f"fact {id} belongs to {fact.scope}, which is wider than {scope}: name that scope")
        if fact.known_to is not None:
            state = fact.state(self._core.parts.clock())
            raise NotFound(f"fact {id} is {state}: change its newest version, see `history`")
        return fact

    def _read(self, memories: Sequence[Memory], *, touch: bool) -> FactList:
        self._count(memories, touch=touch)
        return [Fact(memory=memory) for memory in memories]

    def _count(self, memories: Sequence[Memory], *, touch: bool) -> None:
        if touch:
            for memory in memories:
                self._core.parts.uses.count(memory.scope, [memory.id])

    def __repr__(self) -> str:
        return f"<Facts of {self._core!r}>"

    # Listing comes last: it is called what users call it, and that hides the type of the same name from here on.

    async def list(
        self,
        *,
        limit: int = 100,
        order: Order = "newest",
        after: UUID | str | None = None,
        **narrow: Unpack[FactNarrow],
    ) -> FactList:
        """List the facts inside the scope as they were stored; `after` is the last id of the page before."""
        found = await self._core.list(limit=limit, order=order, after=after, **narrow_of(narrow))
        return [Fact(memory=memory) for memory in found]


def _needed(name: str, value: str | None) -> None:
    if value is None:
        raise InvalidInput(f"{name} is None: name one")
    check_name(name, value)
