"""A real server, and a library with a file of its own to compare it with."""

from collections.abc import Iterator

import pytest
from served import GIVEN, serving

import scrubjay
from scrubjay.client import connect
from scrubjay.sync import SyncScrubjay


@pytest.fixture(scope="session")
def url(tmp_path_factory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="session")
def remote(url) -> Iterator[SyncScrubjay]:
    """The memory of the server."""
    with connect(url) as jay:
        yield jay


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Iterator[SyncScrubjay]:
    """The same, in this process."""
    with scrubjay.open(home=tmp_path_factory.mktemp("library"), **GIVEN) as jay:
        yield jay
