"""Storing executions: what is told becomes drafts, and an attempt that is told again is corrected, never doubled."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, cast

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model import PLACE_NAMES, Memory, Scope
from scrubjay.model.checks import check_flag, shown
from scrubjay.model.tasks import TASK_KIND, Execution, RejectedLine
from scrubjay.ports import Decision, Known, Redactor
from scrubjay.write.prepare import Telling, prepare
from scrubjay.write.reconcile import correct

Told: TypeAlias = "Execution | Mapping[str, object]"
"""An execution, or its fields as a dict, which may name a scope of its own beside them."""


def learning_of(told: Told) -> tuple[Told, bool]:
    """What was told without the wish to learn from it at once, and whether that was wished."""
    if not isinstance(told, Mapping) or "auto_extract_patterns" not in told:
        return told, False
    learns = told["auto_extract_patterns"]
    check_flag("auto_extract_patterns", False if learns is None else learns)
    return {name: value for name, value in told.items() if name != "auto_extract_patterns"}, bool(learns)


def draft_of(told: Told, scope: Scope, *, now: datetime, redactor: Redactor | None) -> Memory:
    """The memory that holds an execution, checked and without secrets."""
    place: dict[str, object] = {}
    if not isinstance(told, Execution):
        if not isinstance(told, Mapping):
            raise InvalidInput(f"an execution is {shown(told)}: give an Execution, or a dict of its fields")
        place = {name: told[name] for name in PLACE_NAMES if told.get(name) is not None}
        told = Execution.from_fields({name: value for name, value in told.items() if name not in PLACE_NAMES})
    telling: dict[str, Any] = {
        "kind": TASK_KIND,
        "key": told.key,
        "content": told.content,
        "data": told.data,
        "valid_from": told.at,
        **place,
    }
    draft = prepare(cast("Telling", telling), scope, now=now, redactor=redactor)
    if not scope.holds(draft.scope):
        raise InvalidInput(f"the execution belongs to {draft.scope}, which is outside {scope}")
    return draft


def settled(draft: Memory, known: Known) -> Decision:
    """New, known, or a correction: there is one current memory for each attempt, whenever it is said to have ended."""
    if not known.same_key:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    old = known.same_key[-1]
    # Without a time of its own, a repetition does not say that the execution ended later.
    same_time = draft.valid_from in (old.valid_from, draft.created_at)
    if same_time and (draft.content, draft.data) == (old.content, old.data):
        return Decision(outcome="unchanged", memory=old)
    return correct(draft, known, old=old)


def read_lines(
    numbered: Iterable[tuple[int, str]], scope: Scope, *, now: datetime, redactor: Redactor | None
) -> tuple[list[Memory], list[RejectedLine]]:
    """The drafts that these lines of JSON spell, and the lines that spell none, each with the reason."""
    drafts: list[Memory] = []
    rejected: list[RejectedLine] = []
    for number, line in numbered:
        try:
            drafts.append(draft_of(_object(line), scope, now=now, redactor=redactor))
        except ScrubjayError as error:
            rejected.append(RejectedLine(line=number, reason=str(error)))
    return drafts, rejected


def _object(line: str) -> Mapping[str, object]:
    if not isinstance(line, str):
        raise InvalidInput(f"not a line of text: {shown(line)}")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"not a JSON object: {shown(value)}")
    return value
