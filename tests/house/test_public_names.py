"""What users may rely on. A change here is a change for them, and belongs in CHANGELOG.md."""

import scrubjay

PUBLIC = [
    "AsOf",
    "Closed",
    "Conflict",
    "Context",
    "ContextItem",
    "EmbedderUnavailable",
    "ForgetReceipt",
    "Generation",
    "Hit",
    "Hits",
    "IdTaken",
    "Identity",
    "InvalidInput",
    "Memory",
    "Misconfigured",
    "NotFound",
    "Remembered",
    "SchemaOutdated",
    "SchemaTooNew",
    "Scope",
    "Scrubjay",
    "ScrubjayError",
    "Settings",
    "Stats",
    "StoreDamaged",
    "StoreUnavailable",
    "SyncScrubjay",
    "Trust",
    "Unavailable",
    "Unsupported",
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
