"""Libraries are compared with what the package itself asks for."""

import importlib.metadata

import pytest

from scrubjay.jobs import versions as module
from scrubjay.jobs.versions import versions


def test_what_is_installed_here_is_new_enough():
    [found] = versions()
    assert found.remedy == ""
    assert "Scrubjay" in found.said
    assert "sqlalchemy" in found.said
    assert "psycopg" not in found.said


def test_an_extra_counts_when_it_is_asked_for():
    [found] = versions(("postgres", "qdrant"))
    assert "psycopg" in found.said
    assert "qdrant-client" in found.said


@pytest.fixture
def declared(monkeypatch):
    """Says what the package asks for, in the words of its metadata."""
    lines = []
    monkeypatch.setattr(module, "requires", lambda _: lines)
    return lines


def test_a_library_that_is_too_old_is_named_with_its_remedy(declared):
    declared += ["numpy>=999.1", 'psycopg[binary,pool]>=999; extra == "postgres"', 'redis>=999; extra == "redis"']
    _, numpy, psycopg = versions(("postgres",))
    here = importlib.metadata.version("numpy")
    assert (numpy.said, numpy.remedy) == (f"numpy {here} is older than 999.1", "pip install --upgrade 'numpy'")
    assert psycopg.remedy == "pip install --upgrade 'scrubjay[postgres]'"


def test_a_library_that_is_missing_is_named_with_its_remedy(declared):
    declared.append('no-such-library>=1; extra == "qdrant"')
    _, found = versions(("qdrant",))
    assert (found.said, found.remedy) == ("no-such-library is missing", "pip install 'scrubjay[qdrant]'")


@pytest.mark.parametrize(
    ("older", "newer"), [("1.9", "1.10"), ("2.0.30", "2.1"), ("3", "3.0.1"), ("1.0", "1.1rc1"), ("0.2.8", "0.3")]
)
def test_versions_are_compared_by_their_numbers(declared, monkeypatch, older, newer):
    declared.append(f"thing>={newer.removesuffix('rc1')}")
    monkeypatch.setattr(module, "version", lambda _: older)
    assert [one.remedy for one in versions()][1:] == ["pip install --upgrade 'thing'"]
    monkeypatch.setattr(module, "version", lambda _: newer)
    assert len(versions()) == 1
