"""The HTTP service while its servers come and go: it starts without them, says so, and works again by itself."""

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from faulty_servers import FaultyPostgres, FaultyQdrant, Stopwatch, eventually, running

BOUND = 20
RECOVERY_SECONDS = 60


@pytest.fixture
def postgres():
    with running(FaultyPostgres) as server:
        yield server


@pytest.fixture
def qdrant():
    with running(FaultyQdrant) as server:
        yield server


@contextmanager
def serving(home, **settings):
    """`scrubjay serve` in a process of its own; gives its URL."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    environment |= {"SCRUBJAY_HOME": str(home), "SCRUBJAY_PORT": "0", "SCRUBJAY_EMBEDDER": "static", **settings}
    command = [sys.executable, "-m", "scrubjay", "serve"]
    process = subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip().rpartition(" ")[2]
        process.terminate()
        process.wait(60)  # Uvicorn ends by the signal that told it to.
    finally:
        process.kill()
        process.communicate()


async def refused(client, method, path, *, says="postgresql://", **options):
    """The request is answered with a problem that says what is wrong, and soon."""
    with Stopwatch() as watch:
        answer = await client.request(method, path, **options)
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "urn:scrubjay:error:store-unavailable"
    assert says in problem["detail"]
    assert watch.seconds < BOUND


# Servers have two seconds of the real clock to answer: a machine that stands still for longer makes any look away.
@pytest.mark.flaky(reruns=2)
async def test_a_service_outlives_its_servers(tmp_path, postgres, qdrant):
    postgres.fall()
    records = f"{postgres.url}?connect_timeout=2"
    vectors = f"qdrant://{qdrant.url.removeprefix('http://')}?timeout=2"
    with serving(tmp_path, SCRUBJAY_RECORDS=records, SCRUBJAY_VECTORS=vectors) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:

            async def status():
                answer = await client.get("/readyz")
                found = answer.json()["status"]
                assert answer.status_code == (503 if found == "down" else 200)
                return found

            async def is_ready():
                return await status() == "ready" and (await client.get("/readyz")).json().get("pending") == 0

            async def tell(content):
                answer = await client.post("/v1/memory", json={"content": content})
                assert answer.status_code == 201, answer.text

            async def found():
                answer = await client.post("/v1/memory/recall", json={"query": "deploy", "limit": 50})
                return len(answer.json()["hits"]), answer.json()["degraded"]

            # Down at the start.
            assert (await client.get("/healthz")).status_code == 200
            assert await status() == "down"
            # Nobody knows yet whether there are keys, so nobody is told where the database is.
            unknown = "Whoever runs the service finds the details in its log"
            await refused(client, "POST", "/v1/memory", json={"content": "deploy on Monday"}, says=unknown)
            await refused(client, "GET", "/v1/memory", says=unknown)
            postgres.rise()
            await eventually(is_ready, within=RECOVERY_SECONDS)
            await tell("deploy on Tuesday")

            # Frozen: the first to ask waits, and the others hardly at all.
            with postgres.frozen():
                await refused(client, "POST", "/v1/memory", json={"content": "deploy on Wednesday"})
                with Stopwatch() as watch:
                    await asyncio.gather(*(refused(client, "GET", "/v1/memory") for _ in range(50)))
                assert watch.seconds < BOUND
                assert await status() == "down"
                assert (await client.get("/healthz")).status_code == 200
            await eventually(is_ready, within=RECOVERY_SECONDS)
            await tell("deploy on Thursday")

            # Stopped, and started again.
            postgres.fall()
            await refused(client, "POST", "/v1/memory/recall", json={"query": "deploy"})
            postgres.rise()
            await eventually(is_ready, within=RECOVERY_SECONDS)
            assert await found() == (2, [])

            # Without the vector engine it serves on, and says what it lacks.
            qdrant.fall()
            await tell("deploy on Friday")
            assert await found() == (3, ["vectors"])
            body = (await client.get("/readyz")).json()
            assert (body["status"], body["stores"]["vectors"]["state"], body["pending"]) == ("degraded", "down", 1)
            assert "runbooks" in body["stores"]["vectors"]["remedy"]
            qdrant.rise()
            await eventually(is_ready, within=RECOVERY_SECONDS)
            assert await found() == (3, [])


def test_a_file_that_cannot_be_opened_is_an_error_at_once(tmp_path):
    (tmp_path / "scrubjay.db").write_bytes(b"this is no database" * 500)
    environment = {**os.environ, "SCRUBJAY_HOME": str(tmp_path), "SCRUBJAY_PORT": "0"}
    command = [sys.executable, "-m", "scrubjay", "serve"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "is damaged" in done.stderr
