"""The same verbs, blocking. Forwards only: an event loop runs on a thread of its own, and nothing has a second body."""

from scrubjay.sync.service import SyncScrubjay

__all__ = ["SyncScrubjay"]
