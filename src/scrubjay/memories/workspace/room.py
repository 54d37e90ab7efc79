"""Room: what every part of workspace memory is made of."""

from scrubjay.core import Core
from scrubjay.errors import NotFound
from scrubjay.model.workspace import WorkspaceRules


class Room:
    """A part of workspace memory. `Workspace` is put together from several, each with verbs of its own."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def _rules(self) -> WorkspaceRules:
        return self._core.parts.workspace

    def _check_enabled(self) -> None:
        """Raise NotFound where workspace memory is switched off. Every verb asks first, before it touches anything."""
        if not self._rules.enabled:
            raise NotFound("workspace memory is switched off: set SCRUBJAY_WORKSPACE_ENABLED=true to use it")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core!r}>"
