"""A memory as anybody opens it: in one file, and on servers. These tests call what is public, and nothing else."""

import uuid
from urllib.parse import urlsplit

import pytest

import scrubjay


@pytest.fixture(params=["embedded", "servers"])
def settings(request, tmp_path, postgres_database, redis_url, server_url):
    """The settings of an empty memory by name, as everything that opens one takes them."""
    named = {"home": tmp_path / "home", "tenant": f"required-{uuid.uuid4().hex}", "background": False}
    if request.param == "embedded":
        return named
    qdrant = urlsplit(server_url("qdrant")).netloc
    return {
        **named,
        "records": postgres_database(),
        "working": redis_url,
        "vectors": f"qdrant://{qdrant}?prefix=required-{uuid.uuid4().hex}",
    }


@pytest.fixture
def opened(settings):
    """Opens the same memory whenever it is called, as another process would; more settings may be given by name."""
    return lambda **more: scrubjay.open(**{**settings, **more})


@pytest.fixture
def memory(opened):
    """An empty memory."""
    with opened() as memory:
        yield memory
