"""Executions are stored once, corrected when they are told otherwise, and never half."""

import asyncio
import json
from typing import Any, TypeAlias

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Memory
from scrubjay.model.tasks import Execution
from scrubjay.testing.values import NOW

Jay: TypeAlias = Any
"""An open Scrubjay. This room does not know the service."""


def an_execution(task_id: str = "fix-login", **overrides: Any) -> dict[str, Any]:  # noqa: ANN401 -- any field; Execution checks it
    """The fields of an execution. Any of them can be given."""
    return {
        "task_id": task_id,
        "execution_summary": "Kept the session cookie over the redirect",
        "success": True,
        "task_description": "Users are logged out right after they log in",
        **overrides,
    }


async def stored(jay: Jay) -> list[Memory]:
    """All current executions."""
    found: list[Memory] = await jay.list(kinds=["task"], limit=10_000, order="oldest")
    return found


class Storing:
    """What `store_execution`, `store_many` and `import_lines` promise."""

    async def test_every_field_is_kept(self, jay: Jay) -> None:
        told = an_execution(
            attempt=2,
            task_type="bugfix",
            goal="No support calls",
            error_patterns=["KeyError: 'session'", {"type": "TimeoutError", "message": "after 30 s"}],
            tools=["grep", "edit", "pytest", "pytest"],
            files=["app/session.py"],
            model="small-1",
            duration=12.5,
            tokens=4_200,
            cost=0.03,
            parent="EPIC-7",
            at=NOW,
        )
        done = await jay.tasks.store_execution(**told, project="shop")
        memory = await jay.get(done.id)
        execution = Execution.of(memory)
        assert execution == Execution.from_fields({**told, "memory_type": "error_fix"})
        assert execution.errors == ("KeyError: 'session'", "TimeoutError: after 30 s")
        assert (memory.kind, memory.valid_from, memory.scope.project) == ("task", NOW, "shop")
        for words in ("logged out", "support calls", "session cookie"):
            assert words in memory.content

    async def test_an_attempt_told_twice_is_one_memory(self, jay: Jay) -> None:
        first = await jay.tasks.store_execution(**an_execution(), project="shop")
        again = await jay.tasks.store_execution(**an_execution(), project="shop")
        assert (again.outcome, again.id) == ("unchanged", first.id)
        other = await jay.tasks.store_execution(**an_execution(attempt=2), project="shop")
        assert (other.outcome, len(await stored(jay))) == ("stored", 2)

    async def test_an_attempt_told_otherwise_is_corrected(self, jay: Jay) -> None:
        first = await jay.tasks.store_execution(**an_execution(at=NOW))
        second = await jay.tasks.store_execution(**an_execution(success=False))
        assert (second.outcome, second.replaced) == ("superseded", first.id)
        [current] = await stored(jay)
        assert (current.data["success"], current.data["memory_type"]) == (False, "warning")
        assert [one.data["success"] for one in await jay.history(key=current.key)] == [True, False]

    async def test_a_correction_may_say_that_it_ended_earlier(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        done = await jay.tasks.store_execution(**an_execution(at=NOW.replace(year=2020)))
        assert [one.id for one in await stored(jay)] == [done.id]
        assert (await jay.get(done.id)).valid_from.year == 2020

    async def test_the_same_attempt_in_two_projects_is_two(self, jay: Jay) -> None:
        for project in ("shop", "blog"):
            await jay.tasks.store_execution(**an_execution(), project=project)
        assert len(await stored(jay)) == 2

    async def test_many_at_once_store_it_once(self, jay: Jay) -> None:
        done = await asyncio.gather(*(jay.tasks.store_execution(**an_execution()) for _ in range(6)))
        assert len({one.id for one in done}) == 1
        assert len(await stored(jay)) == 1

    async def test_many_are_checked_before_any_is_written(self, jay: Jay) -> None:
        wrong = an_execution("b", tokens=-1)
        with pytest.raises(InvalidInput, match="execution 1: tokens is -1"):
            await jay.tasks.store_many([an_execution("a"), wrong])
        assert await stored(jay) == []

    async def test_many_are_stored_in_order(self, jay: Jay) -> None:
        seen: list[int] = []
        told = [an_execution(f"t-{number}") for number in range(1_200)]
        done = await jay.tasks.store_many([*told, Execution(**an_execution("last"))], progress=seen.append)
        assert [one.memory.data["task_id"] for one in done] == [*(f"t-{number}" for number in range(1_200)), "last"]
        assert seen == [1_000, 1_201]

    async def test_an_execution_cannot_leave_its_scope(self, jay: Jay) -> None:
        with pytest.raises(InvalidInput, match="outside"):
            await jay.tasks.store_many([an_execution(project="blog")], project="shop")
        [done] = await jay.tasks.store_many([an_execution(user="anna")], project="shop")
        assert (done.memory.scope.user, done.memory.scope.project) == ("anna", "shop")

    async def test_secrets_are_taken_out(self, jay: Jay) -> None:
        key = "sk-" + "a1B2c3D4" * 6
        summary = f"Exported OPENAI_API_KEY={key}"
        done = await jay.tasks.store_execution(**an_execution(execution_summary=summary, error_patterns=[summary]))
        memory = await jay.get(done.id)
        assert key not in memory.content
        assert key not in json.dumps(memory.data)

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"memory_type": "decision"}, "decision"),
            ({"task_type": "discovery"}, "discovery"),
            ({"success": False}, "warning"),
            ({"success": False, "error_patterns": ["KeyError"]}, "warning"),
            ({"error_patterns": ["KeyError"]}, "error_fix"),
            ({"attempt": 3}, "discovery"),
            ({"files": ["a.py"], "tools": ["edit"]}, "codebase_knowledge"),
            ({"goal": "Choose a queue"}, "decision"),
            ({"goal": "Choose a queue", "tools": ["search"]}, "learning"),
            ({}, "learning"),
        ],
    )
    async def test_the_memory_type_follows_from_the_fields(
        self, jay: Jay, fields: dict[str, Any], expected: str
    ) -> None:
        done = await jay.tasks.store_execution(**an_execution(**fields))
        assert done.memory.data["memory_type"] == expected

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"task_id": ""}, "task_id"),
            ({"task_id": "x" * 201}, "task_id has 201"),
            ({"success": 1}, "success is 1"),
            ({"execution_summary": "  "}, "execution_summary is"),
            ({"attempt": 0}, "attempt is 0"),
            ({"tools": "grep"}, "tools is 'grep'"),
            ({"files": [1]}, "files holds 1"),
            ({"duration": -1}, "duration is -1"),
            ({"cost": float("inf")}, "cost is inf"),
            ({"memory_type": "rumour"}, "memory_type is 'rumour'"),
            ({"error_patterns": [object()]}, "error_patterns"),
            ({"colour": "blue"}, "colour is not something an execution has"),
        ],
    )
    async def test_what_is_wrong_is_named(self, jay: Jay, fields: dict[str, Any], named: str) -> None:
        with pytest.raises(InvalidInput, match=named):
            await jay.tasks.store_execution(**an_execution(**fields))
        assert await stored(jay) == []

    async def test_an_import_stores_what_it_can_and_reports_the_rest(self, jay: Jay) -> None:
        lines = [
            json.dumps(an_execution("a", at="2026-01-01T10:00:00+02:00")),
            "",
            "not json",
            json.dumps([1]),
            json.dumps({"task_id": "b"}),
            json.dumps(an_execution("c", success="yes")),
            json.dumps(an_execution("d", at="2026-01-01T10:00:00")),
            json.dumps(an_execution("e", project="blog")),
            json.dumps(an_execution("f", error_patterns="KeyError")),
        ]
        seen: list[int] = []
        report = await jay.tasks.import_lines(lines, progress=seen.append, project="shop")
        assert (report.stored, report.unchanged, report.corrected) == (2, 0, 0)
        assert [one.line for one in report.rejected] == [3, 4, 5, 6, 7, 8]
        assert [one.reason.split(":")[0] for one in report.rejected][:2] == ["not JSON", "not a JSON object"]
        assert "time zone" in report.rejected[4].reason
        assert "outside" in report.rejected[5].reason
        assert [one.data["task_id"] for one in await stored(jay)] == ["a", "f"]
        assert seen == [8]
        again = await jay.tasks.import_lines([*lines, json.dumps(an_execution("f", success=False))], project="shop")
        assert (again.stored, again.unchanged, again.corrected, again.lines) == (0, 2, 1, 9)
