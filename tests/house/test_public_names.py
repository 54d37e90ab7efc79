"""What users may rely on. A change here is a change for them, and belongs in CHANGELOG.md."""

import scrubjay

PUBLIC = [
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


def test_public_names_are_these():
    assert scrubjay.__all__ == PUBLIC


def test_nothing_else_looks_public():
    assert dir(scrubjay) == sorted(PUBLIC)


def test_every_public_name_is_there():
    missing = [name for name in PUBLIC if not hasattr(scrubjay, name)]
    assert not missing


def test_every_error_is_public():
    from make_reference import error_classes

    assert {error.__name__ for error in error_classes()} <= set(PUBLIC)
