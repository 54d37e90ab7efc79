"""The rows of the original design of a hybrid memory service, in its words: one object for code that orchestrates."""

import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Header, WebSocket
from fastapi.testclient import TestClient

from scrubjay import AsyncHybridMemoryService, InvalidInput, Policy, StoreUnavailable
from scrubjay.adapters.fastapi import FastAPIMemory, answer_errors


def current_user(x_user: Annotated[str | None, Header()] = None) -> str | None:
    return x_user


def service(memory, lifespan=None):
    """An application of somebody who uses the memory."""
    app = FastAPI(lifespan=lifespan or memory.lifespan)
    answer_errors(app)
    mine = Annotated[AsyncHybridMemoryService, Depends(memory.of(user=current_user, project="shop"))]
    every = Annotated[AsyncHybridMemoryService, Depends(memory)]

    @app.put("/notes/{name}")
    async def put(name: str, text: str, memory: mine) -> str:
        return str((await memory.upsert_vector(name, text)).memory.scope)

    @app.get("/notes/{name}")
    async def get(name: str, memory: mine) -> str:
        return (await memory.get(name)).content

    @app.get("/ask")
    async def ask(question: str, memory: mine) -> list[str]:
        return [hit.memory.content for hit in await memory.search(question)]

    @app.get("/of-bob")
    async def of_bob(memory: mine) -> int:
        return await memory.count(user="bob")

    @app.get("/count")
    async def count(memory: every) -> int:
        return await memory.count()

    @app.websocket("/listen")
    async def listen(socket: WebSocket, memory: mine) -> None:
        await socket.accept()
        await socket.send_text(str(await memory.count()))

    return app


def test_the_memory_lives_as_long_as_the_application(opened, settings):
    memory = FastAPIMemory(**settings)
    app = service(memory)
    for expected in (0, 1):
        with TestClient(app) as client:
            assert client.get("/count").json() == expected
            assert client.put("/notes/n-1?text=Prefers tabs", headers={"x-user": "ann"}).status_code == 200
    client = TestClient(app, raise_server_exceptions=False)
    assert client.get("/count").json()["detail"].startswith("the memory is not open")
    with opened() as here:
        assert [one.content for one in here.list()] == ["Prefers tabs"]


def test_every_request_has_a_scope_of_its_own_and_cannot_leave_it(settings):
    with TestClient(service(FastAPIMemory(**settings))) as client:
        for user, text in (("ann", "Prefers tabs"), ("bob", "Prefers spaces")):
            assert (
                client.put(f"/notes/indent?text={text}", headers={"x-user": user}).json() == f"user={user} project=shop"
            )
        ann = {"x-user": "ann"}
        assert client.get("/ask?question=how to indent", headers=ann).json() == ["Prefers tabs"]
        assert client.get("/notes/indent", headers=ann).json() == "Prefers tabs"
        assert client.get("/of-bob", headers=ann).status_code == 403
        assert client.get("/notes/nothing", headers=ann).status_code == 404
        assert client.get("/count").json() == 2
        with client.websocket_connect("/listen", headers=ann) as socket:
            assert socket.receive_text() == "1"


@pytest.mark.parametrize("headers", [{}, {"x-user": ""}])
def test_a_request_of_nobody_sees_nothing(settings, headers):
    with TestClient(service(FastAPIMemory(**settings))) as client:
        client.put("/notes/n-1?text=Prefers tabs", headers={"x-user": "ann"})
        answer = client.get("/ask?question=indent", headers=headers)
        assert (answer.status_code, "user is" in answer.json()["detail"]) == (400, True)


def test_tenants_of_requests_are_apart(settings):
    memory = FastAPIMemory(**settings)
    app = FastAPI(lifespan=memory.lifespan)
    theirs = Annotated[AsyncHybridMemoryService, Depends(memory.of(tenant=current_user))]

    @app.get("/count")
    async def count(memory: theirs) -> int:
        await memory.store_episode("Somebody asked")
        return await memory.count()

    with TestClient(app) as client:
        for _ in range(2):
            assert [client.get("/count", headers={"x-user": one}).json() for one in ("acme", "zeta")] in (
                [1, 1],
                [2, 2],
            )


def test_it_has_a_place_in_a_lifespan_of_ones_own_and_in_mounted_applications(settings):
    memory, steps = FastAPIMemory(**settings), []

    @asynccontextmanager
    async def lifespan(app):
        steps.append("begins")
        async with memory.lifespan(app):
            yield
        steps.append("ends")

    outer = FastAPI(lifespan=lifespan)
    outer.mount("/inner", service(memory))
    with TestClient(outer) as client:
        assert client.get("/inner/count").json() == 0
    assert steps == ["begins", "ends"]


@pytest.mark.parametrize("wrong", [{"user": 7}, {"user": ""}, {"project": ["shop"]}])
def test_a_name_that_is_none_is_refused_when_the_route_is_made(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        FastAPIMemory().of(**wrong)


def test_a_failure_of_the_store_tells_nobody_where_it_is():
    app = FastAPI()
    answer_errors(app)

    @app.get("/count")
    async def count() -> int:
        raise StoreUnavailable("postgresql://db.internal does not answer")

    answer = TestClient(app).get("/count")
    assert (answer.status_code, answer.json()) == (
        503,
        {"detail": "the memory cannot answer now: try again in a moment"},
    )


def test_a_dry_run_of_consolidate_says_each_memory_once(memory):
    soon = datetime.now(UTC) + timedelta(milliseconds=200)
    for number in range(4):
        memory.remember(f"The build {number} is red", importance=0.1, expires_at=soon, user="ann")
    for number in range(6):
        memory.remember(f"Prefers the editor {number}", importance=number / 10, user="ann")
    time.sleep(0.3)
    policy = Policy(half_life=None, prune_after=timedelta(milliseconds=1), prune_below=0.35, most_memories=4)
    would = memory.consolidate(dry_run=True, policy=policy, user="ann")
    named = [one.id for one in would.planned if one.id is not None]
    assert len(named) == len(set(named))
    assert {one.step for one in would.planned if one.id is not None} == {"expire", "prune"}
    assert memory.count(user="ann") == 6, "nothing was changed"
    before = {one.id for one in memory.list(history=True, user="ann", limit=100) if one.superseded_at is None}
    done = memory.consolidate(policy=policy, user="ann")
    after = {one.id for one in memory.list(history=True, user="ann", limit=100) if one.superseded_at is None}
    assert before - after == set(named), "what it says is what happens"
    assert not done.errors
