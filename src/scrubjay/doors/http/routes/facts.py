"""Facts: what is true, for whom, and since when."""

from typing import Annotated

from fastapi import Body, Path, Query

from scrubjay.doors.http.access import HeavyWriteJay, Jay, ReadWriteJay, WriteJay
from scrubjay.doors.http.bodies import facts as bodies
from scrubjay.doors.http.bodies.body import alike, each
from scrubjay.doors.http.routes.parameters import Id, Where, page, page_of
from scrubjay.doors.http.routes.room import Room
from scrubjay.doors.http.shown import Shown
from scrubjay.doors.http.values import answer
from scrubjay.model import Fact, StoredFact

room = Room("/facts", tag="facts", memory="facts")

ConflictId = Annotated[str, Path(description="The id of a flag on two facts.")]


@room.post(
    "",
    "store_many",
    summary="Store a fact, or many",
    answers=answer(StoredFact) | list[answer(StoredFact)],  # type: ignore[misc]  # made from the value
    status_code=201,
)
async def store(
    jay: WriteJay,
    shown: Shown,
    told: Annotated[bodies.FactTellings, Body()],
    how: Annotated[bodies.InsertOnly, Query()],
) -> object:
    """Take one object, or a list; answer in the same shape. A new value for a key closes the old version.

    Without a key, what repeats a fact of the same place is merged with it, and what may contradict one is flagged:
    with which one is told to whoever may read.
    """
    done = await jay.facts.store_many(each(told), **how.keywords())
    return alike(told, shown.of_each_fact(done, told))


@room.get("", "list", summary="List facts", answers=page_of("facts", Fact))
async def list_facts(jay: Jay, listing: Annotated[bodies.FactListing, Query()]) -> object:
    """List the facts inside the place as they were stored, a page at a time."""
    return page("facts", await jay.facts.list(**listing.keywords()), listing.limit)


@room.delete("", "delete_by_key", summary="Stop believing a key")
async def delete_by_key(jay: WriteJay, what: Annotated[bodies.DeletingByKey, Query()]) -> object:
    """Close all that is believed under a key of exactly this place. It can be restored."""
    return await jay.facts.delete_by_key(**what.keywords())


@room.post("/preferences", "store_user_preference", summary="Store a preference", status_code=201)
async def store_user_preference(jay: WriteJay, shown: Shown, told: bodies.Preference) -> object:
    """Store what a user prefers."""
    return shown.of_fact(await jay.facts.store_user_preference(**told.keywords()), told)


@room.get("/preferences", "get_user_preferences", summary="A user's preferences")
async def get_user_preferences(jay: Jay, asked: Annotated[bodies.OfUser, Query()]) -> object:
    """Return the preferences that apply to a user, most important first, the narrowest of each key."""
    return await jay.facts.get_user_preferences(**asked.keywords())


@room.post("/project", "store_project_fact", summary="Store a fact of a project", status_code=201)
async def store_project_fact(jay: WriteJay, shown: Shown, told: bodies.ProjectFact) -> object:
    """Store what is so in a project."""
    return shown.of_fact(await jay.facts.store_project_fact(**told.keywords()), told)


@room.get("/project", "get_project_facts", summary="A project's facts")
async def get_project_facts(jay: Jay, asked: Annotated[bodies.OfProject, Query()]) -> object:
    """Return the facts that apply in a project, most important first, the narrowest of each key."""
    return await jay.facts.get_project_facts(**asked.keywords())


@room.post("/skills", "store_skill", summary="Store a skill", status_code=201)
async def store_skill(jay: WriteJay, shown: Shown, told: bodies.Skill) -> object:
    """Store how to do something."""
    return shown.of_fact(await jay.facts.store_skill(**told.keywords()), told)


@room.get("/skills", "get_skills", summary="Skills that apply")
async def get_skills(jay: Jay, asked: Annotated[bodies.Reading, Query()]) -> object:
    """Return the skills that apply in the place, most important first, the narrowest of each key."""
    return await jay.facts.get_skills(**asked.keywords())


@room.get("/by-key", "get_by_key", summary="The value of a key")
async def get_by_key(jay: Jay, asked: Annotated[bodies.ByKey, Query()]) -> object:
    """Return the value of a key that applies in the place: its own, or else that of the narrowest wider one."""
    return await jay.facts.get_by_key(**asked.keywords())


@room.post("/search", "search", summary="Search facts")
async def search(jay: Jay, asked: bodies.FactSearch) -> object:
    """Find facts by words and meaning, best first, each with the reason."""
    return await jay.facts.search(**{"query": "", **asked.keywords()})


@room.post("/prompt", "get_context_for_prompt", summary="Facts for a prompt")
async def get_context_for_prompt(jay: Jay, asked: bodies.Prompt) -> object:
    """Write what applies here as Markdown of at most `budget` tokens: by category, the most useful first."""
    return await jay.facts.get_context_for_prompt(**asked.keywords())


@room.get("/history", "history", summary="Every version of a fact")
async def history(jay: Jay, asked: Annotated[bodies.FactHistory, Query()]) -> object:
    """Return every version, by key or by id, oldest first: who told it, when and why, and why it was closed."""
    return await jay.facts.history(**asked.keywords())


@room.get("/as-of", "as_of", summary="What we believed then")
async def as_of(jay: Jay, asked: Annotated[bodies.Then, Query()]) -> object:
    """Return what we believed at `known_at` to hold at `valid_at`, one fact for each key."""
    return await jay.facts.as_of(**asked.keywords())


@room.post("/restore", "restore", summary="Believe again what was deleted")
async def restore(jay: ReadWriteJay, what: bodies.FactRestoring) -> object:
    """Restore one version, or what was deleted last under a key of exactly this place.

    The answer tells what it says, so this needs the right to read as well.
    """
    return await jay.facts.restore(**what.keywords())


@room.post("/purge", "purge", summary="Delete a fact for good")
async def purge(jay: WriteJay, what: bodies.Which) -> object:
    """Delete every version of it and all that was made from it; by id, or by key of exactly this place."""
    return await jay.facts.purge(**what.keywords())


@room.post("/cleanup", "cleanup_expired", summary="Delete what has expired")
async def cleanup_expired(jay: HeavyWriteJay, how: bodies.Cleanup) -> object:
    """Close the facts inside the place that have expired; with `purge`, delete them for good."""
    return await jay.facts.cleanup_expired(**how.keywords())


@room.get("/conflicts", "conflicts", summary="Facts that may contradict")
async def conflicts(jay: Jay, place: Where) -> object:
    """Return the open flags inside the place, with both sides, oldest first."""
    return await jay.facts.conflicts(**place.keywords())


@room.post("/conflicts/{conflict}/resolve", "resolve", summary="Settle a contradiction")
async def resolve(jay: ReadWriteJay, conflict: ConflictId, place: Where, verdict: bodies.Verdict) -> object:
    """Keep one side, or both. The other side is closed, not deleted. Returns what is believed after it.

    The answer tells what it says, so this needs the right to read as well.
    """
    return await jay.facts.resolve(conflict, **verdict.keywords(), **place.keywords())


@room.put("/{id:path}/importance", "update_importance", summary="Set how important a fact is")
async def update_importance(jay: ReadWriteJay, id: Id, place: Where, told: bodies.Importance) -> object:
    """Set its importance, from 0 to 1. The answer tells what it says, so this needs the right to read as well."""
    return await jay.facts.update_importance(id, **told.keywords(), **place.keywords())


@room.post("/{id:path}/boost", "boost_importance", summary="Make a fact more important")
async def boost_importance(jay: ReadWriteJay, id: Id, place: Where, told: bodies.Boost) -> object:
    """Add to its importance, or take away; kept within 0 and 1, and the answer says so.

    The answer tells what it says, so this needs the right to read as well.
    """
    return await jay.facts.boost_importance(id, **told.keywords(), **place.keywords())


@room.get("/{id:path}", "get_by_id", summary="Get one fact")
async def get_by_id(jay: Jay, id: Id, asked: Annotated[bodies.Reading, Query()]) -> object:
    """Return one version, in whatever state."""
    return await jay.facts.get_by_id(id, **asked.keywords())


@room.delete("/{id:path}", "delete", summary="Stop believing a fact")
async def delete(jay: WriteJay, id: Id, why: Annotated[bodies.Deleting, Query()]) -> object:
    """Close one version. It stays in the history and can be restored."""
    return await jay.facts.delete(id, **why.keywords())
