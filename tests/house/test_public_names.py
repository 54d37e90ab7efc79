"""What users may rely on. A change here is a change for them, and belongs in CHANGELOG.md."""

import importlib

import scrubjay

PUBLIC = []


def test_public_names_are_these():
    assert sorted(scrubjay.__all__) == sorted(PUBLIC)


def test_every_public_name_is_there():
    missing = [name for name in scrubjay.__all__ if not hasattr(scrubjay, name)]
    assert not missing


def test_nothing_else_looks_public():
    listed = {name for name in dir(scrubjay) if not name.startswith("_")}
    # A part of the package shows up here once something has imported it; that makes it no more public.
    modules = {name for name in listed if _is_module(name)}
    assert listed - modules == {name for name in PUBLIC if not name.startswith("_")}


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(f"scrubjay.{name}")
    except ModuleNotFoundError:
        return False
    return True
