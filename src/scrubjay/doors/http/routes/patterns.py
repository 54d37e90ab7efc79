"""Pattern memory: what went with success and failure, and what that says about the task at hand."""

from typing import Annotated

from fastapi import Path, Query

from scrubjay.doors.http.access import HeavyBothJay, HeavyJay, Jay, ReadWriteJay
from scrubjay.doors.http.bodies import tasks as bodies
from scrubjay.doors.http.routes.parameters import Where
from scrubjay.doors.http.routes.room import Room

room = Room("/memory/patterns", tag="patterns", memory="patterns")

PatternId = Annotated[str, Path(description="The id of a pattern: the same for every version of it.")]


@room.get("", "search_patterns", summary="Find patterns")
async def search_patterns(jay: Jay, asked: Annotated[bodies.PatternListing, Query()]) -> object:
    """Return the patterns about a type of task, surest first; all patterns when no type is given."""
    return await jay.patterns.search_patterns(**asked.keywords())


@room.post("/extract", "extract_pattern", summary="Learn one pattern")
async def extract_pattern(jay: HeavyBothJay, asked: bodies.Extraction) -> object:
    """Learn from the executions whose type or description the expression finds; null when there are too few.

    The answer tells of what others did, so this needs the right to read as well.
    """
    return await jay.patterns.extract_pattern(**asked.keywords())


@room.post("/learn", "learn", summary="Learn all patterns")
async def learn(jay: HeavyBothJay, asked: bodies.Learning) -> object:
    """Learn from every execution in the place that was not learned from yet; return the patterns that changed.

    The answer tells of what others did, so this needs the right to read as well.
    """
    return await jay.patterns.learn(**asked.keywords())


@room.post("/match", "find_matching_patterns", summary="Patterns that concern a task")
async def find_matching_patterns(jay: Jay, asked: bodies.Concerning) -> object:
    """Return those that concern it: by their expression, by words, by meaning; surest first."""
    return await jay.patterns.find_matching_patterns(**asked.keywords())


@room.post("/recommend", "recommend", summary="What to do and what to avoid")
async def recommend(jay: Jay, asked: bodies.Advice) -> object:
    """Return advice for a task with its evidence; nothing when there is too little of it."""
    return await jay.patterns.recommend(**asked.keywords())


@room.post("/predict", "predict", summary="How likely a task is to succeed")
async def predict(jay: HeavyJay, asked: bodies.Forecast) -> object:
    """Say so where predicting has shown skill on the place's own past; otherwise, that there is no basis."""
    return await jay.patterns.predict(**asked.keywords())


@room.get("/families", "families", summary="Families of tasks")
async def families(jay: HeavyJay, asked: Annotated[bodies.Kinship, Query()]) -> object:
    """Return the tasks that are described alike, largest first, narrow families after the wide one."""
    return await jay.patterns.families(**asked.keywords())


@room.get("/{pattern_id}", "get", summary="Get one pattern")
async def get(jay: Jay, pattern_id: PatternId, place: Where) -> object:
    """Return it with the confidence that it has now."""
    return await jay.patterns.get(pattern_id, **place.keywords())


@room.get("/{pattern_id}/history", "history", summary="Every version of one pattern")
async def history(jay: Jay, pattern_id: PatternId, place: Where) -> object:
    """Return them oldest first, each with the confidence it had when it was written."""
    return await jay.patterns.history(pattern_id, **place.keywords())


@room.post("/{pattern_id}/feedback", "feedback", summary="Say whether a pattern helped")
async def feedback(jay: ReadWriteJay, pattern_id: PatternId, place: Where, verdict: bodies.Feedback) -> object:
    """Move its confidence as an execution does, if 0.1 is given.

    The answer tells what it says, so this needs the right to read as well.
    """
    return await jay.patterns.feedback(pattern_id, **verdict.keywords(), **place.keywords())
