"""Decide what a memory means for what is believed already. A pure function; the store calls it inside its transaction.

Of one key, the believed memories are a timeline: stretches of world time that do not overlap. What is told now replaces
the stretch it speaks of. What was believed about the rest stays, as a stretch of its own; and what was believed before
is closed, not changed, so that the question "what did we believe on Monday?" keeps its answer.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final, TypeAlias
from uuid import UUID, uuid5

from scrubjay.errors import Conflict, IdTaken
from scrubjay.model import Memory, Remembered, Trust
from scrubjay.model.memory import EXPIRED, moment_after
from scrubjay.ports import Decision, Known
from scrubjay.ports.records import NOTHING, rival

REPLACED = "replaced"
CORRECTED = "corrected"
RESTORED = "restored"

_LAST: Final = datetime.max.replace(tzinfo=UTC)

_begin: Final = attrgetter("valid_from")

_Span: TypeAlias = tuple[datetime, datetime | None]


def reconcile(draft: Memory, known: Known) -> Decision:
    """Say whether the draft is new, known already, or replaces something. Raises IdTaken when its id is another's."""
    if known is NOTHING and draft.key is None:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    if known.same_id is not None:
        if not _says_the_same(draft, known.same_id):
            # What is stored under it is not told: it may be another user's, and who asks may be allowed to write only.
            raise IdTaken(f"id {draft.id} names another memory already. Use another, or `update` to change it")
        return _told_again(draft, known.same_id, known)
    same = known.same_words or _same_but_sealed(draft, known)
    if same is not None and same.valid_from <= draft.valid_from:
        if stands_for(same, draft):
            return Decision(outcome="unchanged", memory=same)
        draft = replace(draft, valid_from=same.valid_from, uses=same.uses, used_at=same.used_at)
    if draft.key is not None:
        return _told_of_the_past(draft, known.same_key) or _told_now(draft, known.same_key)
    if same is not None:
        # The same, but since earlier than we believed, for longer, or on better word.
        closed = same.closed(draft.created_at, because=CORRECTED, by=draft.id)
        return Decision(outcome="superseded", memory=draft, closes=(closed,), opens=(draft,))
    return Decision(outcome="stored", memory=draft, opens=(draft,))


def _told_again(draft: Memory, same: Memory, known: Known) -> Decision:
    """That nothing changes; but what has expired, and is told again under its own id, is kept from now on.

    Also when it was closed for that, unless something else has taken its place since: nobody who tells it can know how
    far a worker is.
    """
    now, until = draft.created_at, draft.expires_at
    has_expired = same.expires_at is not None and same.expires_at <= now
    has_passed = until is not None and until <= now
    kept = same.kept_until(until)
    is_free = same.superseded_at is None or (
        same.closed_because == EXPIRED and rival(kept, known.same_key, known.same_words) is None
    )
    if not has_expired or has_passed or not is_free:
        return Decision(outcome="unchanged", memory=same)
    return Decision(outcome="stored", memory=kept, keeps=(kept,))


def check_believed(done: Remembered, own: UUID | str | None) -> None:
    """Refuse what was told under an id of one's own and is known, but not believed any more: nothing stands for it."""
    memory = done.memory
    if own is not None and done.outcome == "unchanged" and memory.superseded_at is not None:
        raise IdTaken(
            f"id {own} names what was told before and is not believed any more: `get` and `history` say why to whoever "
            "may read. Tell it under another id, or without one"
        )


def insert(draft: Memory, known: Known) -> Decision:
    """Store the draft only if it replaces nothing. Telling it again under its own id is still one memory."""
    if known.same_id is None:
        _check_free(draft, _unexpired(known, draft.created_at), "Store it without insert_only to replace it")
    return reconcile(draft, known)


def reopen(draft: Memory, known: Known) -> Decision:
    """Believe again what was forgotten, over its own stretch. Raises Conflict when that stretch is taken."""
    _check_free(draft, known, "Forget that one first, or leave this one forgotten")
    return Decision(outcome="stored", memory=draft, opens=(draft,), reopens=True)


def restored_from(memory: Memory) -> UUID | None:
    """The version that was forgotten and that this one says it restored; None when it was told."""
    is_restored = memory.reason is not None and memory.reason.partition(":")[0] == RESTORED
    return memory.derived_from[-1] if is_restored and memory.derived_from else None


def stands_for(same: Memory, draft: Memory) -> bool:
    """Whether what is known says all that is told: it is kept as long, or can be, and trusted as far."""
    is_kept = same.expires_at is None or (draft.expires_at is not None and draft.expires_at <= same.expires_at)
    return (is_kept or is_renewed(same, draft)) and Trust.least([same.trust, draft.trust]) is draft.trust


def is_renewed(same: Memory, draft: Memory) -> bool:
    """Whether it is told again before it expires, to be kept longer: that changes how it is kept, not what it says."""
    return (
        same.expires_at is not None
        and draft.expires_at is not None
        and draft.created_at < same.expires_at < draft.expires_at
    )


def kept_longer(decision: Decision, draft: Memory) -> Decision:
    """The same decision. Where nothing is new but how long it is to be kept, that is part of it."""
    same = decision.memory
    if decision.outcome != "unchanged" or same.superseded_at is not None or not is_renewed(same, draft):
        return decision
    kept = same.kept_until(draft.expires_at)
    return replace(decision, memory=kept, keeps=(kept,))


def _check_free(draft: Memory, known: Known, remedy: str) -> None:
    """Raise Conflict when something is believed that the draft would replace or repeat.

    The whole stretch counts, up to the end of time: of two who insert at once, the one whose clock is behind must not
    slip in before the other.
    """
    taken = [one for one in known.same_key if one.overlaps(draft)]
    if known.same_words is not None:
        taken.append(known.same_words)
    if taken:
        named = f"key {draft.key!r}" if draft.key is not None else "the same content"
        stands = taken[-1]
        raise Conflict(f"{named} has a value in {draft.scope}: {stands.id}. {remedy}")


def _unexpired(known: Known, now: datetime) -> Known:
    """The same without what nobody is given any more."""
    live = [one for one in known.same_key if one.expires_at is None or now < one.expires_at]
    same = known.same_words
    gone = same is not None and same.expires_at is not None and same.expires_at <= now
    return replace(known, same_key=tuple(live), same_words=None if gone else same)


def correct(draft: Memory, known: Known, *, old: Memory) -> Decision:
    """Replace one version by another that says it better, over the same stretch of time."""
    closes = [old.closed(draft.created_at, because=CORRECTED, by=draft.id)]
    others = [memory for memory in known.same_key if memory.id != old.id]
    decision = _told_now(draft, others) if draft.key else Decision(outcome="stored", memory=draft, opens=(draft,))
    return replace(decision, outcome="superseded", closes=(*closes, *decision.closes))


def told_last(draft: Memory, known: Known) -> Memory:
    """The draft, told after everything that is known under its key or with its words, whatever the clocks say.

    What is stored was told before now. The clock of whoever told it may be ahead, and must not decide who is right.
    Every write passes through here before it is decided about.
    """
    same = known.same_key if known.same_words is None else (*known.same_key, known.same_words)
    moments = [one.created_at for one in same]
    if known.closed_at is not None:
        moments.append(known.closed_at)
    return told_after(max(moments), draft, same) if moments else draft


def told_after(last: datetime, draft: Memory, known: Iterable[Memory] = ()) -> Memory:
    """The draft, told after that moment. What it says of its own present, it says of then, and not of the past.

    So it is with a future that it speaks of and that has come by then. Either begins where what is known began last.
    """
    at = moment_after(last, draft.created_at)
    if at == draft.created_at:
        return draft
    is_past = draft.valid_from < draft.created_at
    begun = [] if is_past else [one.valid_from for one in known if one.valid_from <= at]
    return replace(
        draft,
        created_at=at,
        valid_from=max([draft.valid_from, *begun]),
        valid_to=_end(draft.valid_to, draft, at),
        expires_at=_end(draft.expires_at, draft, at),
    )


def _end(end: datetime | None, draft: Memory, at: datetime) -> datetime | None:
    """When it ends that is told at this moment in place of its own: after it, if it was to end after it was told.

    What would be over before it begins holds as long as it was to hold, from then on.
    """
    is_over = end is not None and draft.created_at < end <= at
    return at + min(end - draft.created_at, _LAST - at) if end is not None and is_over else end


def _says_the_same(draft: Memory, stored: Memory) -> bool:
    return (draft.scope, draft.kind, draft.key, draft.content, draft.data) == (
        stored.scope,
        stored.kind,
        stored.key,
        stored.content,
        stored.data,
    )


def _same_but_sealed(draft: Memory, known: Known) -> Memory | None:
    """What is known under the key and says the same, but is encrypted: its fingerprint is another one then."""
    if draft.encrypted or draft.valid_to is not None:
        return None
    sealed = [one for one in known.same_key if one.encrypted and one.valid_to is None]
    return next((one for one in sealed if _says_the_same(draft, one)), None)


def _told_of_the_past(draft: Memory, stretches: Sequence[Memory]) -> Decision | None:
    """That nothing changes, when the very stretch it speaks of says so already: a history that is told again."""
    past = _up_to_the_next(draft, stretches)
    if past.valid_to is None or past.is_event:
        return None
    for one in stretches:
        is_known = (one.valid_from, one.valid_to) == (past.valid_from, past.valid_to) and _says_the_same(past, one)
        if is_known and (one.encrypted or not past.encrypted) and stands_for(one, past):
            return Decision(outcome="unchanged", memory=one)
    return None


def _up_to_the_next(draft: Memory, stretches: Sequence[Memory]) -> Memory:
    """Told of the past without an end, it holds until the next change that is known."""
    later = min((one.valid_from for one in stretches if one.valid_from > draft.valid_from), default=None)
    return replace(draft, valid_to=later) if draft.valid_to is None and later is not None else draft


def into_timeline(draft: Memory, stretches: Sequence[Memory]) -> Decision:
    """Put the draft into the timeline of its key, over the stretch that it speaks of."""
    if not draft.encrypted and any(one.encrypted for one in stretches):
        # What is said of a secret later is one too.
        draft = replace(draft, encrypted=True)
    draft = _up_to_the_next(draft, stretches)
    closes: list[Memory] = []
    opens: list[Memory] = [draft]
    for old in stretches:
        if not old.overlaps(draft):
            continue
        closes.append(old.closed(draft.created_at, because=REPLACED, by=draft.id))
        opens += [_stretch(old, draft, start=start, end=end) for start, end in _left_of(old, draft, stretches)]
    return Decision(
        outcome="superseded" if closes else "stored", memory=draft, closes=tuple(closes), opens=tuple(opens)
    )


def _told_now(draft: Memory, stretches: Sequence[Memory]) -> Decision:
    """Put the draft into its timeline. What had not ended when it was told, and has before what holds now, is over.

    It is stored once more, as told now, or it would hold beside that for a reader whose clock is behind its end.
    """
    decision = into_timeline(draft, stretches)
    told, closed = decision.memory, {one.id for one in decision.closes}
    begun = [one.valid_from for one in decision.opens if one.holds(told.created_at)]
    over = [
        one
        for one in stretches
        if begun and one.valid_to and one.created_at < one.valid_to <= begun[0] and one.id not in closed
    ]
    return replace(
        decision,
        closes=(*decision.closes, *(one.closed(told.created_at, because=REPLACED, by=told.id) for one in over)),
        opens=(*decision.opens, *(_stretch(one, told, start=one.valid_from, end=one.valid_to) for one in over)),
    )


def _left_of(old: Memory, draft: Memory, stretches: Sequence[Memory]) -> list[_Span]:
    """When an old stretch still holds: not when the draft does.

    Nor when another one does that was told later: older versions stored stretches that overlap.
    """
    left: list[_Span] = [(old.valid_from, old.valid_to)]
    later = [one for one in stretches if (one.created_at, one.id) > (old.created_at, old.id) and one.overlaps(old)]
    for other in (draft, *later):
        left = [span for one in left for span in _without(one, other)]
    return left


def _without(span: _Span, other: Memory) -> Iterator[_Span]:
    """What is left of a span when another memory takes its part."""
    start, end = span
    if start < other.valid_from:
        yield start, other.valid_from if end is None else min(end, other.valid_from)
    if other.valid_to is not None and (end is None or other.valid_to < end):
        yield max(start, other.valid_to), end


def mended(believed: Sequence[Memory]) -> list[Memory]:
    """What has to be stored so that these no longer contradict each other: of one key, or of one's words, in one place.

    As if each had been told when it was, one after the other: what was told later takes the place of the other, whose
    other stretches stay. Of what says the same, that which holds for longest stays. What need not change is left out.
    """
    told = sorted(believed, key=lambda one: (one.created_at, one.id))
    if told and told[0].key is None:
        return _once(told)
    timeline: list[Memory] = []  # By when they begin; no two overlap.
    changed: dict[UUID, Memory] = {}
    is_secret = False
    for one in told:
        is_secret = is_secret or one.encrypted
        # Only what lies beside it can bear on it: to look at the whole timeline each time would take the square.
        first = max(bisect_left(timeline, one.valid_from, key=_begin) - 1, 0)
        last = bisect_right(timeline, one.valid_from, key=_begin)
        if one.valid_to is not None:
            last = bisect_left(timeline, one.valid_to, key=_begin)
        near = timeline[first : last + 1]
        decision = into_timeline(replace(one, encrypted=is_secret), near)
        gone = {closed.id: closed for closed in decision.closes}
        left = [each for each in near if each.id not in gone]
        timeline[first : last + 1] = sorted([*left, *decision.opens], key=_begin)
        changed |= gone | {opened.id: opened for opened in decision.opens if opened != one}
    return list(changed.values())


def _once(told: Sequence[Memory]) -> list[Memory]:
    """All but the one that holds since the earliest, closed in its favour. What has ended contradicts nothing."""
    current = [one for one in told if one.valid_to is None]
    stays = min(current, key=lambda one: (one.valid_from, one.created_at, one.id))
    return [
        one.closed(max(one.created_at, stays.created_at), because=REPLACED, by=stays.id)
        for one in current
        if one is not stays
    ]


def is_left_of(memory: Memory, old: Memory) -> bool:
    """Whether it is a stretch that stayed of the old one when another memory took the place of the rest."""
    return old.superseded_by is not None and memory.id == _stretch_id(old, old.superseded_by, memory.valid_from)


def _stretch_id(old: Memory, by: UUID, start: datetime) -> UUID:
    return uuid5(old.id, f"{by} {start.isoformat()}")


def _stretch(old: Memory, draft: Memory, *, start: datetime, end: datetime | None) -> Memory:
    """What stays of an old stretch. Its id follows from both memories, so that deciding again changes nothing."""
    return replace(
        old,
        id=_stretch_id(old, draft.id, start),
        valid_from=start,
        valid_to=end,
        created_at=draft.created_at,
        superseded_at=None,
        superseded_by=None,
        closed_because=None,
        generation=None,
    )
