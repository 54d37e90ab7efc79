"""Scrubjay: memory for AI agents. What, where and when.

    import scrubjay

    with scrubjay.open() as jay:
        jay.remember("Prefers tabs over spaces", user="u-42", kind="preference", key="pref:indent")
        for hit in jay.recall("how should I indent?", user="u-42"):
            print(hit.score, hit.memory.content, hit.why)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrubjay.adapters.hybrid import AsyncHybridMemoryService, HybridMemoryService
    from scrubjay.adapters.workflow import AsyncWorkflowMemory, WorkflowMemory
    from scrubjay.errors import (
        ChatUnavailable,
        Closed,
        Conflict,
        EmbedderUnavailable,
        IdTaken,
        InvalidInput,
        Misconfigured,
        NotFound,
        SchemaOutdated,
        SchemaTooNew,
        ScrubjayError,
        StoreDamaged,
        StoreUnavailable,
        Unavailable,
        Unsupported,
    )
    from scrubjay.memories.workspace.capture import Job
    from scrubjay.model import (
        AsOf,
        BoostedFact,
        Context,
        ContextItem,
        Fact,
        FactConflict,
        FactContext,
        FactType,
        ForgetReceipt,
        Generation,
        Health,
        Hit,
        Hits,
        Identity,
        Level,
        Memory,
        Remembered,
        Scope,
        Stats,
        StoredFact,
        StoreHealth,
        Trust,
    )
    from scrubjay.model.code import (
        CheckedCitation,
        Citation,
        CodeHit,
        CodeHits,
        IngestReport,
        Redaction,
        RelevantFile,
        RelevantFiles,
        SecretScan,
        Skipped,
        StoredSecret,
    )
    from scrubjay.model.context import ContextShape
    from scrubjay.model.episodes import Episode, EpisodeHit, EpisodeHits, Negotiation, RecentContext, Turn
    from scrubjay.model.patterns import Family, Indicator, PatternMatch, Prediction, Recommendation, TaskPattern
    from scrubjay.model.similar import Credit, SimilarTask, SimilarTasks, TaskContext, Used
    from scrubjay.model.tasks import Execution, ImportReport, RejectedLine
    from scrubjay.model.work import Consolidated, Planned, Policy, Run, StepDone, Trouble, WorkStatus
    from scrubjay.model.working import Message, Recent, Scratch, Session
    from scrubjay.model.workspace import Completion, CompletionFile
    from scrubjay.model.workspace_answers import (
        Backfilled,
        CompletionDetail,
        Pruned,
        StoredCompletion,
        WorkspaceHit,
        WorkspaceHits,
        WorkspaceStats,
    )
    from scrubjay.service import Scrubjay
    from scrubjay.settings import Settings
    from scrubjay.sync import SyncScrubjay
    from scrubjay.wiring import open, open_async

__version__ = "0.1.0"

_ROOMS: Final = {
    "adapters.hybrid": ("AsyncHybridMemoryService", "HybridMemoryService"),
    "adapters.workflow": ("AsyncWorkflowMemory", "WorkflowMemory"),
    "errors": (
        "ChatUnavailable",
        "Closed",
        "Conflict",
        "EmbedderUnavailable",
        "IdTaken",
        "InvalidInput",
        "Misconfigured",
        "NotFound",
        "SchemaOutdated",
        "SchemaTooNew",
        "ScrubjayError",
        "StoreDamaged",
        "StoreUnavailable",
        "Unavailable",
        "Unsupported",
    ),
    "memories.workspace.capture": ("Job",),
    "model": (
        "AsOf",
        "BoostedFact",
        "Context",
        "ContextItem",
        "Fact",
        "FactConflict",
        "FactContext",
        "FactType",
        "ForgetReceipt",
        "Generation",
        "Health",
        "Hit",
        "Hits",
        "Identity",
        "Level",
        "Memory",
        "Remembered",
        "Scope",
        "Stats",
        "StoreHealth",
        "StoredFact",
        "Trust",
    ),
    "model.code": (
        "CheckedCitation",
        "Citation",
        "CodeHit",
        "CodeHits",
        "IngestReport",
        "Redaction",
        "RelevantFile",
        "RelevantFiles",
        "SecretScan",
        "Skipped",
        "StoredSecret",
    ),
    "model.context": ("ContextShape",),
    "model.episodes": ("Episode", "EpisodeHit", "EpisodeHits", "Negotiation", "RecentContext", "Turn"),
    "model.patterns": ("Family", "Indicator", "PatternMatch", "Prediction", "Recommendation", "TaskPattern"),
    "model.similar": ("Credit", "SimilarTask", "SimilarTasks", "TaskContext", "Used"),
    "model.tasks": ("Execution", "ImportReport", "RejectedLine"),
    "model.work": ("Consolidated", "Planned", "Policy", "Run", "StepDone", "Trouble", "WorkStatus"),
    "model.working": ("Message", "Recent", "Scratch", "Session"),
    "model.workspace": ("Completion", "CompletionFile"),
    "model.workspace_answers": (
        "Backfilled",
        "CompletionDetail",
        "Pruned",
        "StoredCompletion",
        "WorkspaceHit",
        "WorkspaceHits",
        "WorkspaceStats",
    ),
    "service": ("Scrubjay",),
    "settings": ("Settings",),
    "sync": ("SyncScrubjay",),
    "wiring": ("open", "open_async"),
}
_ROOM_OF: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AsOf",
    "AsyncHybridMemoryService",
    "AsyncWorkflowMemory",
    "Backfilled",
    "BoostedFact",
    "ChatUnavailable",
    "CheckedCitation",
    "Citation",
    "Closed",
    "CodeHit",
    "CodeHits",
    "Completion",
    "CompletionDetail",
    "CompletionFile",
    "Conflict",
    "Consolidated",
    "Context",
    "ContextItem",
    "ContextShape",
    "Credit",
    "EmbedderUnavailable",
    "Episode",
    "EpisodeHit",
    "EpisodeHits",
    "Execution",
    "Fact",
    "FactConflict",
    "FactContext",
    "FactType",
    "Family",
    "ForgetReceipt",
    "Generation",
    "Health",
    "Hit",
    "Hits",
    "HybridMemoryService",
    "IdTaken",
    "Identity",
    "ImportReport",
    "Indicator",
    "IngestReport",
    "InvalidInput",
    "Job",
    "Level",
    "Memory",
    "Message",
    "Misconfigured",
    "Negotiation",
    "NotFound",
    "PatternMatch",
    "Planned",
    "Policy",
    "Prediction",
    "Pruned",
    "Recent",
    "RecentContext",
    "Recommendation",
    "Redaction",
    "RejectedLine",
    "RelevantFile",
    "RelevantFiles",
    "Remembered",
    "Run",
    "SchemaOutdated",
    "SchemaTooNew",
    "Scope",
    "Scratch",
    "Scrubjay",
    "ScrubjayError",
    "SecretScan",
    "Session",
    "Settings",
    "SimilarTask",
    "SimilarTasks",
    "Skipped",
    "Stats",
    "StepDone",
    "StoreDamaged",
    "StoreHealth",
    "StoreUnavailable",
    "StoredCompletion",
    "StoredFact",
    "StoredSecret",
    "SyncScrubjay",
    "TaskContext",
    "TaskPattern",
    "Trouble",
    "Trust",
    "Turn",
    "Unavailable",
    "Unsupported",
    "Used",
    "WorkStatus",
    "WorkflowMemory",
    "WorkspaceHit",
    "WorkspaceHits",
    "WorkspaceStats",
    "__version__",
    "open",
    "open_async",
]


def __getattr__(name: str) -> object:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
