"""Small repositories and jobs to try workspace memory with."""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from scrubjay.core import Core
from scrubjay.memories.workspace.verbs import Workspace

Jay: TypeAlias = Any
"""An open Scrubjay. This room does not know the service."""

SESSION = 'def keep_session(token):\n    """Keep a customer logged in."""\n    return {"session": token}\n'
CART = "class ShoppingCart:\n    def totalPrice(self):\n        return sum(self.prices)\n"


def a_repository(folder: Path) -> Path:
    """A folder with two files of Python, one of them below another folder."""
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "session.py").write_text(SESSION)
    (folder / "cart.py").write_text(CART)
    return folder


def a_job(repo: Path, **overrides: Any) -> dict[str, Any]:  # noqa: ANN401 -- any detail; the verb checks it
    """What is told of a job. Any of it can be given."""
    return {
        "goal": "Customers are logged out right after they log in",
        "repo_path": repo,
        "task_id": "shop-1",
        "summary": "The cookie is set on the redirect",
        "files": ["shop/session.py"],
        **overrides,
    }


def by_rules(jay: Jay, **rules: Any) -> Workspace:  # noqa: ANN401 -- any rule; WorkspaceRules checks it
    """The workspace of the same memory, kept by other rules."""
    parts = replace(jay.parts, workspace=replace(jay.parts.workspace, **rules))
    return Workspace(Core(parts=parts, tenant=jay.tenant))
