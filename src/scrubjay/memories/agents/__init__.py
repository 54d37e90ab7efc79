"""Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped."""

from scrubjay.memories.agents.verbs import Agents

__all__ = ["Agents"]
