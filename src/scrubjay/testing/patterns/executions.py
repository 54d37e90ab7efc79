"""Executions to learn from: deployments that work when migrations run before tests, and others beside them."""

import random
from datetime import datetime, timedelta
from typing import Any, TypeAlias

Jay: TypeAlias = Any
"""An open Scrubjay. This room does not know the service."""

SERVICES = ("billing", "search", "mail", "orders")
TOOLS = ("read", "grep", "edit", "lint", "commit")
GOOD = ["migrate", "test"]
BAD = ["test", "migrate"]


def deployments(
    many: int = 60, *, start: int = 0, at: datetime | None = None, **overrides: object
) -> list[dict[str, Any]]:
    """As many deployments, every second one in the good order. One in ten ends against the rule."""
    chance = random.Random(start)  # noqa: S311 -- the same every time
    told = []
    for number in range(start, start + many):
        good = number % 2 == 0
        odd = number % 10 in (4, 7) and number % 20 < 10
        told.append(
            {
                "task_id": f"deploy-{number}",
                "task_description": f"Deploy the {chance.choice(SERVICES)} service to production",
                "task_type": "deployment",
                "execution_summary": f"Rolled out in {number} minutes",
                "success": good != odd,
                "tools": [chance.choice(TOOLS), chance.choice(TOOLS), *(GOOD if good else BAD)],
                "at": at + timedelta(minutes=number) if at is not None else None,
                **overrides,
            }
        )
    return told


def coin_tosses(many: int = 60, *, seed: int = 0) -> list[dict[str, Any]]:
    """As many executions whose outcomes follow from nothing."""
    chance = random.Random(seed)  # noqa: S311 -- the same every time
    return [
        {
            "task_id": f"toss-{number}",
            "task_description": f"Translate the {chance.choice(SERVICES)} pages",
            "execution_summary": "Went through all pages",
            "success": chance.random() < 0.5,
            "tools": [chance.choice(TOOLS) for _ in range(4)],
        }
        for number in range(many)
    ]
