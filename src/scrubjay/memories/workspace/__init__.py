"""Workspace memory: completed jobs, their files and artifacts, and the repository itself."""

from scrubjay.memories.workspace.verbs import Workspace

__all__ = ["Workspace"]
