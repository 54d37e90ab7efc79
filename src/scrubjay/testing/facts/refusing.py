"""Bad input: one clear error each, and nothing is written."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from scrubjay.core import Core
from scrubjay.errors import InvalidInput
from scrubjay.memories.facts import Facts
from scrubjay.testing.values import DAY, NOW

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"importance": 1.01}, "importance is 1.01: use a number from 0 to 1"),
    ({"importance": -0.1}, "importance is -0.1"),
    ({"valid_from": datetime(2026, 1, 1)}, "valid_from is .* without a time zone"),  # noqa: DTZ001 -- what is refused
    ({"expires_at": datetime(2026, 1, 1)}, "expires_at is .* without a time zone"),  # noqa: DTZ001 -- what is refused
    ({"valid_from": NOW, "valid_to": NOW - DAY}, "valid_to is .*: it must come after valid_from"),
    ({"type": "OPINION"}, "type is 'OPINION': use one of USER_PREFERENCE"),
    ({"type": 7}, "type is 7"),
    ({"key": "k" * 256}, "key has 256 characters: use at most 255"),
    ({"key": " "}, "key is ' '"),
    ({"content": "x" * 1_000_001}, "content has 1,000,001 characters"),
    ({"content": " "}, "content is ' ': give it some text"),
    ({"data": {"when": NOW}}, "data.when is .*: use JSON values only"),
    ({"data": {"n": float("nan")}}, "data.n is nan"),
    ({"data": [1]}, r"data is \[1\]: use a dict"),
    ({"level": "USER"}, "level is USER, but no user is named: add user="),
    ({"level": "PROJECT", "user": "anna"}, "level is PROJECT, but no project is named"),
    ({"level": "SESSION"}, "level is SESSION, but no session is named"),
    ({"level": "WORKFLOW"}, "level is WORKFLOW, but no workflow is named"),
    ({"level": "GLOBAL", "user": "anna"}, "level is GLOBAL, but the scope .user=anna. reaches only USER"),
    ({"level": "GALAXY"}, "level is 'GALAXY': use one of GLOBAL"),
    ({"execution": "run-1", "source": "a file"}, "execution is 'run-1' and source is 'a file': give one"),
    ({"colour": "blue"}, "colour='blue' is not something a fact has"),
]


class RefusingFactsSuite:
    """An error names the field, the value and the remedy."""

    @pytest.mark.parametrize(("told", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
    async def test_bad_input_writes_nothing(self, core: Core, told: dict[str, Any], message: str) -> None:
        facts = Facts(core)
        given = {"content": "A fact", **told}
        with pytest.raises(InvalidInput, match=message):
            await facts.store(**given)
        with pytest.raises(InvalidInput, match=message):
            await facts.store_many([{"content": "A good one"}, given])  # type: ignore[list-item]  # wrong on purpose
        assert await core.count(history=True) == 0

    async def test_bad_questions_are_refused(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("A fact", key="k")).fact
        naive = datetime(2026, 1, 1)  # noqa: DTZ001 -- what is refused
        for asked, message in (
            (facts.store_user_preference(None, "k", "x"), "user is None"),  # type: ignore[arg-type]  # wrong on purpose
            (facts.store_project_fact(None, "k", "x"), "project is None"),  # type: ignore[arg-type]  # wrong on purpose
            (facts.get_by_key(""), "key is ''"),
            (facts.search("x", types=["OPINION"]), "type is 'OPINION'"),
            (facts.search("x", colour="blue"), "colour"),  # type: ignore[call-arg]  # wrong on purpose
            (facts.as_of(known_at=naive), "known_at is .* without a time zone"),
            (facts.get_context_for_prompt(budget=0), "budget is 0"),
            (facts.update_importance(fact.id, 2), "importance is 2"),
            (facts.boost_importance(fact.id, 2), "by is 2: use a number from -1 to 1"),
            (facts.history(), "history of what"),
            (facts.restore(), "restore what"),
            (facts.purge(fact.id, key="k"), "purge what"),
        ):
            with pytest.raises(InvalidInput, match=message):
                await asked
        assert (await facts.get_by_id(fact.id)).importance == 0.5

    async def test_a_clock_in_another_zone_is_no_bad_input(self, core: Core) -> None:
        from datetime import timezone  # noqa: PLC0415 -- only here

        east = NOW.astimezone(timezone(timedelta(hours=9)))
        assert (await Facts(core).store("A fact", valid_from=east)).fact.valid_from == NOW
