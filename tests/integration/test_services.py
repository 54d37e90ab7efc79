"""The servers that other tests rely on are real, and able to do what production needs of them."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import httpx
import psycopg
import pytest
import redis

import fetch
import services
from server import FOLDER_PREFIX, remove_leftovers

SCRIPT = Path(services.__file__)


def test_postgres_finds_the_nearest_vector(postgres_database):
    with psycopg.connect(postgres_database(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE places (name text, spot vector(3))")
        connection.execute("INSERT INTO places VALUES ('oak', '[1,0,0]'), ('pine', '[0,1,0]'), ('fern', '[0,0,1]')")
        nearest = connection.execute("SELECT name FROM places ORDER BY spot <=> '[0.1,0.9,0]' LIMIT 2").fetchall()
    assert nearest == [("pine",), ("oak",)]


def test_postgres_searches_text(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT to_tsvector('english', 'the jays cached acorns') @@ to_tsquery('english', 'acorn & cache')"
        ).fetchone()
    assert found == (True,)


def test_each_database_is_new_and_gone_after(fresh_postgres):
    with fresh_postgres() as first, fresh_postgres() as second:
        assert first != second
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute("CREATE TABLE mine (id int)")
        with psycopg.connect(second) as connection:
            assert connection.execute("SELECT to_regclass('mine')").fetchone() == (None,)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_redis_keeps_and_expires(redis_url):
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        key = f"test:{uuid.uuid4()}"
        client.set(key, "acorn", ex=60)
        assert client.get(key) == "acorn"
        client.pexpire(key, 1)
        deadline = time.monotonic() + 60
        while client.exists(key) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.get(key) is None


def test_qdrant_filters_before_it_ranks(qdrant_url):
    name = f"test-{uuid.uuid4()}"
    points = [
        {"id": 1, "vector": [1.0, 0.0], "payload": {"tenant": "a"}},
        {"id": 2, "vector": [0.9, 0.1], "payload": {"tenant": "b"}},
        {"id": 3, "vector": [0.0, 1.0], "payload": {"tenant": "b"}},
    ]
    with httpx.Client(base_url=f"{qdrant_url}/collections/{name}", timeout=60) as client:
        client.put("", json={"vectors": {"size": 2, "distance": "Cosine"}}).raise_for_status()
        try:
            client.put("/points", params={"wait": "true"}, json={"points": points}).raise_for_status()
            only_b = {"must": [{"key": "tenant", "match": {"value": "b"}}]}
            answer = client.post("/points/query", json={"query": [1.0, 0.0], "filter": only_b, "limit": 1})
            assert [point["id"] for point in answer.raise_for_status().json()["result"]["points"]] == [2]
        finally:
            client.delete("").raise_for_status()


def test_a_server_leaves_nothing_behind():
    server = services.Redis()
    url = server.start()
    folder = server.folder
    server.stop()
    server.stop()
    assert not folder.exists()
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()


def test_a_server_that_cannot_start_shows_its_log():
    class Confused(services.Redis):
        def command(self):
            return [*super().command(), "--no-such-option", "1"]

    server = Confused()
    with pytest.raises(fetch.ServerError, match="no-such-option"):
        server.start()
    with pytest.raises(fetch.ServerError, match="not started"):
        server.folder.exists()


def test_a_running_server_is_used_instead(monkeypatch):
    monkeypatch.setenv("SCRUBJAY_TEST_REDIS", "redis://elsewhere:1")
    with services.Services() as running:
        assert running.url("redis") == "redis://elsewhere:1"


def test_a_server_starts_again_once_its_port_is_free():
    server = services.Redis()
    server.start()
    try:
        server._process.kill()
        server._process.wait()
        with socket.create_server(("127.0.0.1", server.port)) as other:
            threading.Timer(0.5, other.close).start()
            server.start_again()
        assert redis.Redis(port=server.port).ping()
    finally:
        server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_servers_end_with_a_killed_parent():
    code = "import services, time; print(services.Redis().start(), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=SCRIPT.parent, stdout=subprocess.PIPE, text=True) as parent:
        url = parent.stdout.readline().strip()
        client = redis.Redis.from_url(url)
        assert client.ping()
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            client.ping()
        except redis.ConnectionError:
            break
        time.sleep(0.02)
    else:
        pytest.fail("the server outlived its parent")
    remove_leftovers()
    assert not list(Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}{parent.pid}-*"))


def test_a_download_with_another_checksum_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SCRUBJAY_TEST_CACHE", str(tmp_path))
    monkeypatch.delenv("QDRANT_BIN", raising=False)
    monkeypatch.setattr(fetch, "QDRANT_SHA256", "0" * 64)
    with pytest.raises(fetch.ServerError, match="expected 0000"):
        fetch.qdrant_program()
    assert not list(tmp_path.rglob("qdrant"))
