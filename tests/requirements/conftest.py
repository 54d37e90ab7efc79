"""A memory as anybody opens it: in one file, and on servers. These tests call what is public, and nothing else."""

import uuid
from urllib.parse import urlsplit

import pytest

import scrubjay


@pytest.fixture(params=["embedded", "servers"])
def opened(request, tmp_path, postgres_database, redis_url, server_url):
    """Opens the same memory whenever it is called, as another process would; settings may be given by name."""
    if request.param == "embedded":
        where = {"home": tmp_path / "home"}
    else:
        qdrant = urlsplit(server_url("qdrant")).netloc
        where = {
            "home": tmp_path / "home",
            "records": postgres_database(),
            "working": redis_url,
            "vectors": f"qdrant://{qdrant}?prefix=required-{uuid.uuid4().hex}",
        }
    tenant = f"required-{uuid.uuid4().hex}"
    return lambda **settings: scrubjay.open(**where, **{"tenant": tenant, "background": False, **settings})


@pytest.fixture
def memory(opened):
    """An empty memory."""
    with opened() as memory:
        yield memory
