"""What comes back, as the OpenAPI document describes it and as it is checked before it leaves."""

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from scrubjay import model
from scrubjay.model import citations
from scrubjay.model.access import RIGHTS, ApiKey, Right
from scrubjay.model.citations import Drift, Freshness
from scrubjay.model.portable import to_json

_EXAMPLE: dict[str, Any] = {
    "id": "01970a3c-5e1f-7c3a-9f0e-2b7d5a1c4e88",
    "kind": "preference",
    "content": "Prefers tabs over spaces",
    "user": "u-42",
    "key": "pref:indent",
    "importance": 0.5,
    "trust": "told",
    "created_at": "2026-03-01T12:00:00.000000Z",
    "valid_from": "2026-03-01T12:00:00.000000Z",
    "uses": 0,
}


class Memory(BaseModel):
    """What, where and when. What is empty is left out."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    kind: str
    content: str
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    session: str | None = None
    workflow: str | None = None
    key: str | None = None
    data: dict[str, JsonValue] | None = None
    importance: float
    trust: str
    source: str | None = None
    author: str | None = None
    reason: str | None = None
    derived_from: list[UUID] | None = None
    redacted: list[str] | None = Field(default=None, description="The kinds of secret that were taken out of it.")
    encrypted: bool | None = Field(default=None, description="True when it is stored encrypted.")
    position: int | None = Field(default=None, description="Its place in its session.")
    created_at: datetime = Field(description="Since when we believe it.")
    valid_from: datetime = Field(description="Since when it holds in the world.")
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    superseded_at: datetime | None = Field(default=None, description="Since when we do not believe it any more.")
    superseded_by: UUID | None = None
    closed_because: str | None = None
    uses: int
    used_at: datetime | None = None

    @classmethod
    def of(cls, memory: model.Memory) -> Self:
        """The memory as every door writes it."""
        return cls.model_validate(to_json(memory))


class Scope(BaseModel):
    """A place: what is left out is open."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"user": "u-42", "project": "shop"}]})

    user: str | None = None
    project: str | None = None
    agent: str | None = None
    session: str | None = None
    workflow: str | None = None

    @classmethod
    def of(cls, scope: model.Scope) -> Self:
        """What it names. The tenant stays behind."""
        named = zip(model.PLACE_NAMES, scope.names(), strict=True)
        return cls(**{name: value for name, value in named if value is not None})


class Remembered(BaseModel):
    """What became of one thing that was told."""

    outcome: Literal["stored", "unchanged", "superseded"] = Field(
        description="`stored` as new, `unchanged` because it was known, or it `superseded` an earlier version."
    )
    replaced: UUID | None = Field(default=None, description="The version that it superseded.")
    memory: Memory

    @classmethod
    def of(cls, remembered: model.Remembered) -> Self:
        """The outcome with its memory."""
        return cls(outcome=remembered.outcome, replaced=remembered.replaced, memory=Memory.of(remembered.memory))


class Citation(BaseModel):
    """A piece of code: lines of a file, both included and counted from 1, as they were read."""

    path: str
    start: int
    stop: int
    hash: str
    symbol: str | None = None
    language: str | None = None
    excerpt: str | None = None

    @classmethod
    def of(cls, citation: citations.Citation) -> Self:
        """The citation, without what is not known of it."""
        return cls.model_validate(citation.data)


class CheckedCitation(BaseModel):
    """A citation compared with the working tree."""

    citation: Citation
    state: Freshness
    drift: list[Drift]
    now: Citation | None = Field(default=None, description="Where it stands now, when it has drifted.")

    @classmethod
    def of(cls, checked: citations.CheckedCitation) -> Self:
        """The citation, and how it stands."""
        moved = {"now": Citation.of(checked.now)} if checked.now is not None else {}
        return cls(citation=Citation.of(checked.citation), state=checked.state, drift=list(checked.drift), **moved)


class Hit(BaseModel):
    """One answer, and why it is one."""

    memory: Memory
    score: float = Field(description="How well it fits, from 0 to 1. It orders the hits of one answer.")
    similarity: float | None = Field(description="How close in meaning, from 0 to 1; null when it was not compared.")
    why: str = Field(examples=["close in meaning (0.55) · words: indent"])
    passage: str | None = Field(description="The part of a long memory that was found.")
    signals: dict[str, float] | None = Field(default=None, description="With `explain`: all that went into the score.")
    cited: list[CheckedCitation] | None = Field(
        default=None, description="The code that it cites, compared with the server's working tree."
    )

    @classmethod
    def of(cls, hit: model.Hit) -> Self:
        """The hit with its memory."""
        more: dict[str, Any] = {"signals": dict(hit.signals)} if hit.signals else {}
        if hit.cited:
            more["cited"] = [CheckedCitation.of(one) for one in hit.cited]
        return cls(
            memory=Memory.of(hit.memory),
            score=hit.score,
            similarity=hit.similarity,
            why=hit.why,
            passage=hit.passage,
            **more,
        )


class Hits(BaseModel):
    """The answers to one question, best first."""

    hits: list[Hit]
    degraded: list[str] = Field(
        description="Parts that could not take part: what is here is right, but there may be more."
    )
    confidence: float | None = Field(
        description="The chance that memories about the topic of the question are here at all, from 0 to 1; null when "
        "it is not known. It does not say whether they hold the answer."
    )
    milliseconds: float

    @classmethod
    def of(cls, hits: model.Hits) -> Self:
        """All hits."""
        return cls(
            hits=[Hit.of(hit) for hit in hits],
            degraded=list(hits.degraded),
            confidence=hits.confidence,
            milliseconds=round(hits.milliseconds, 3),
        )


class ContextItem(BaseModel):
    """One memory in a context."""

    memory: Memory
    section: str
    tokens: int
    why: str
    score: float | None = Field(default=None, description="How well it answers; left out for what always stands there.")

    @classmethod
    def of(cls, item: model.ContextItem) -> Self:
        """The item with its memory."""
        scored = {"score": item.score} if item.score is not None else {}
        return cls(memory=Memory.of(item.memory), section=item.section, tokens=item.tokens, why=item.why, **scored)


class Context(BaseModel):
    """What an agent should know before it acts, within its budget."""

    text: str = Field(description="All of it; as `messages`, the list of them as JSON.")
    tokens: int
    budget: int
    items: list[ContextItem]
    left_out: list[ContextItem] = Field(description="What is not written, and why.")
    degraded: list[str]
    as_: str = Field(default="markdown", alias="as", description="How it is written: markdown, xml or messages.")
    messages: list[dict[str, str]] | None = Field(default=None, description="As `messages`: the messages themselves.")

    @classmethod
    def of(cls, context: model.Context) -> Self:
        """The whole context."""
        more: dict[str, Any] = {"as": context.as_}
        if context.as_ == "messages":
            more["messages"] = context.messages
        return cls(
            text=context.text,
            tokens=context.tokens,
            budget=context.budget,
            items=[ContextItem.of(item) for item in context.items],
            left_out=[ContextItem.of(item) for item in context.left_out],
            degraded=list(context.degraded),
            **more,
        )


class ForgetReceipt(BaseModel):
    """Proof of what was forgotten."""

    ids: list[UUID]
    derived: list[UUID] = Field(description="What was made from it, and went with it.")
    purged: bool = Field(description="Whether it is gone for good, or only closed.")
    at: datetime
    remaining: dict[str, int] = Field(description="After a purge: traces left in each store, counted again.")

    @classmethod
    def of(cls, receipt: model.ForgetReceipt) -> Self:
        """The whole receipt."""
        return cls(
            ids=list(receipt.ids),
            derived=list(receipt.derived),
            purged=receipt.purged,
            at=receipt.at,
            remaining=dict(receipt.remaining),
        )


class Caller(BaseModel):
    """Who is asking, and what they may do."""

    tenant: str = Field(description="Whose memory it is.", examples=["default"])
    key: str | None = Field(default=None, description="The id of the key; left out where none is needed.")
    name: str | None = Field(default=None, description="What the key is called.")
    rights: list[Right] = Field(description="Whoever needs no key has all of them.")
    users: list[str] = Field(description="Bound to these users; to none, if empty.")
    projects: list[str] = Field(description="Bound to these projects; to none, if empty.")
    agents: list[str] = Field(description="Bound to these agents; to none, if empty.")
    expires_at: datetime | None = Field(default=None, description="When the key ends.")

    @classmethod
    def of(cls, key: ApiKey | None, *, tenant: str) -> Self:
        """What is known of the key; None where none is needed."""
        if key is None:
            return cls(tenant=tenant, rights=list(RIGHTS), users=[], projects=[], agents=[])
        return cls(
            tenant=tenant,
            key=key.id,
            name=key.name,
            rights=list(key.rights),
            users=list(key.bounds.users),
            projects=list(key.bounds.projects),
            agents=list(key.bounds.agents),
            expires_at=key.expires_at,
        )


class Health(BaseModel):
    """Whether the process answers."""

    status: Literal["alive"] = "alive"


class Store(BaseModel):
    """How one store or model is doing."""

    name: str = Field(
        description="Its kind; to whoever runs the service, its address.", examples=["qdrant://127.0.0.1:6333"]
    )
    state: Literal["up", "incomplete", "down", "unknown"]
    since: datetime | None = Field(default=None, description="Since when, as far as this process knows.")
    milliseconds: float | None = Field(default=None, description="How long it took to answer.")
    error: str | None = Field(default=None, description="Why it is down, or what it lacks, to whoever runs it.")
    retry: datetime | None = Field(default=None, description="It is not asked before this moment.")
    remedy: str | None = Field(default=None, description="What still works, and what to do.")

    @classmethod
    def of(cls, store: model.StoreHealth, *, in_full: bool) -> Self:
        """All that is known; to strangers, its kind and its state, and neither where it is nor what it answered."""
        return cls(
            name=store.name if in_full else store.name.partition(":")[0],
            state=store.state,
            since=store.since,
            milliseconds=round(store.milliseconds, 2) if store.milliseconds is not None else None,
            error=(store.error or None) if in_full else None,
            retry=store.retry,
            remedy=store.remedy or None,
        )


class Readiness(BaseModel):
    """Whether requests can be served, and how well."""

    status: Literal["ready", "degraded", "down"]
    stores: dict[str, Store]
    pending: int | None = Field(default=None, description="Memories that wait to be indexed by meaning.")

    @classmethod
    def of(cls, health: model.Health, *, in_full: bool) -> Self:
        """Every store."""
        stores = {part: Store.of(store, in_full=in_full) for part, store in health.stores.items()}
        return cls(status=health.state, stores=stores, pending=health.pending)


class Version(BaseModel):
    """Which Scrubjay this is."""

    version: str = Field(examples=["0.1.0"])
