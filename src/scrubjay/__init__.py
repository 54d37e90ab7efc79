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
        AnotherRequest,
        ChatUnavailable,
        Closed,
        Conflict,
        EmbedderUnavailable,
        Forbidden,
        IdTaken,
        InvalidInput,
        KeyMissing,
        Misconfigured,
        NotFound,
        PreconditionFailed,
        RerankerUnavailable,
        SchemaOutdated,
        SchemaTooNew,
        ScrubjayError,
        StoreDamaged,
        StoreUnavailable,
        TookTooLong,
        TooManyRequests,
        Unauthenticated,
        Unavailable,
        UnderWay,
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
    from scrubjay.model.access import ApiKey, AuditEntry, NewKey
    from scrubjay.model.agent_answers import ActionStep, CycleDiff, Happening, Resumption, StateChange
    from scrubjay.model.agent_files import FileChanges, RestoredFiles, Snapshot, WorkspaceFile
    from scrubjay.model.agents import ActionProposal, ActionResult, Agent, AgentOrigin, Cycle
    from scrubjay.model.citations import CheckedCitation, Citation
    from scrubjay.model.code import (
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
    from scrubjay.model.encryption import DataKey, EncryptionStatus, Rotated
    from scrubjay.model.episodes import Episode, EpisodeHit, EpisodeHits, Negotiation, RecentContext, Turn
    from scrubjay.model.patterns import Family, Indicator, PatternMatch, Prediction, Recommendation, TaskPattern
    from scrubjay.model.similar import Credit, SimilarTask, SimilarTasks, TaskContext, Used
    from scrubjay.model.tasks import Execution, ImportReport, RejectedLine
    from scrubjay.model.vectors import Coverage, Rebuilt, VectorsStatus
    from scrubjay.model.work import Consolidated, Fading, Planned, Policy, Run, StepDone, Trouble, WorkStatus
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
        "AnotherRequest",
        "ChatUnavailable",
        "Closed",
        "Conflict",
        "EmbedderUnavailable",
        "Forbidden",
        "IdTaken",
        "InvalidInput",
        "KeyMissing",
        "Misconfigured",
        "NotFound",
        "PreconditionFailed",
        "RerankerUnavailable",
        "SchemaOutdated",
        "SchemaTooNew",
        "ScrubjayError",
        "StoreDamaged",
        "StoreUnavailable",
        "TooManyRequests",
        "TookTooLong",
        "Unauthenticated",
        "Unavailable",
        "UnderWay",
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
    "model.access": ("ApiKey", "AuditEntry", "NewKey"),
    "model.agent_answers": ("ActionStep", "CycleDiff", "Happening", "Resumption", "StateChange"),
    "model.agent_files": ("FileChanges", "RestoredFiles", "Snapshot", "WorkspaceFile"),
    "model.agents": ("ActionProposal", "ActionResult", "Agent", "AgentOrigin", "Cycle"),
    "model.citations": ("CheckedCitation", "Citation"),
    "model.code": (
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
    "model.encryption": ("DataKey", "EncryptionStatus", "Rotated"),
    "model.episodes": ("Episode", "EpisodeHit", "EpisodeHits", "Negotiation", "RecentContext", "Turn"),
    "model.patterns": ("Family", "Indicator", "PatternMatch", "Prediction", "Recommendation", "TaskPattern"),
    "model.similar": ("Credit", "SimilarTask", "SimilarTasks", "TaskContext", "Used"),
    "model.tasks": ("Execution", "ImportReport", "RejectedLine"),
    "model.vectors": ("Coverage", "Rebuilt", "VectorsStatus"),
    "model.work": ("Consolidated", "Fading", "Planned", "Policy", "Run", "StepDone", "Trouble", "WorkStatus"),
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
    "ActionProposal",
    "ActionResult",
    "ActionStep",
    "Agent",
    "AgentOrigin",
    "AnotherRequest",
    "ApiKey",
    "AsOf",
    "AsyncHybridMemoryService",
    "AsyncWorkflowMemory",
    "AuditEntry",
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
    "Coverage",
    "Credit",
    "Cycle",
    "CycleDiff",
    "DataKey",
    "EmbedderUnavailable",
    "EncryptionStatus",
    "Episode",
    "EpisodeHit",
    "EpisodeHits",
    "Execution",
    "Fact",
    "FactConflict",
    "FactContext",
    "FactType",
    "Fading",
    "Family",
    "FileChanges",
    "Forbidden",
    "ForgetReceipt",
    "Generation",
    "Happening",
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
    "KeyMissing",
    "Level",
    "Memory",
    "Message",
    "Misconfigured",
    "Negotiation",
    "NewKey",
    "NotFound",
    "PatternMatch",
    "Planned",
    "Policy",
    "PreconditionFailed",
    "Prediction",
    "Pruned",
    "Rebuilt",
    "Recent",
    "RecentContext",
    "Recommendation",
    "Redaction",
    "RejectedLine",
    "RelevantFile",
    "RelevantFiles",
    "Remembered",
    "RerankerUnavailable",
    "RestoredFiles",
    "Resumption",
    "Rotated",
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
    "Snapshot",
    "StateChange",
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
    "TooManyRequests",
    "TookTooLong",
    "Trouble",
    "Trust",
    "Turn",
    "Unauthenticated",
    "Unavailable",
    "UnderWay",
    "Unsupported",
    "Used",
    "VectorsStatus",
    "WorkStatus",
    "WorkflowMemory",
    "WorkspaceFile",
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
