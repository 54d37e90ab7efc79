"""Random lives of a store, in which every quick way is taken by a few rows: what is found is what is true.

A life that fails says its seed and all that happened; docs/howto/run-the-tests.md says how to live it again, or more.
"""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from life_places import Place
from random_life import Life

from lengths import sized

SEED = int(os.environ.get("SCRUBJAY_TEST_SEED", "0"))
LIVES = int(os.environ.get("SCRUBJAY_TEST_LIVES", sized(short="2", long="100")))
STEPS = int(os.environ.get("SCRUBJAY_TEST_STEPS", "24"))
"""Of a life on a file. A server takes its time, so half of it is led there."""
WRITER = Path(__file__).with_name("life_writer.py")


@pytest.fixture(scope="session")
def writer():
    """A process that forks others, which are killed."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(WRITER)], **pipes) as writer:
        yield writer
        writer.stdin.close()


@pytest.mark.parametrize("seed", range(SEED, SEED + LIVES))
async def test_what_is_found_is_what_is_true(seed, tmp_path, monkeypatch):
    async with Life(seed, tmp_path, monkeypatch.setattr) as life:
        await life.live(STEPS)


@pytest.mark.parametrize("seed", range(SEED, SEED + (LIVES + 1) // 2))
async def test_so_it_is_when_writers_are_killed(seed, tmp_path, monkeypatch, writer):
    async with Life(seed, tmp_path, monkeypatch.setattr, writer=writer) as life:
        await life.live(STEPS)


@pytest.mark.parametrize("engine", ["embedded", "pgvector"])
@pytest.mark.parametrize("seed", range(SEED, SEED + (LIVES + 2) // 3))
async def test_so_it_is_on_postgresql(seed, engine, tmp_path, monkeypatch, postgres_database):
    place = Place(postgres_database(), engine=engine)
    async with Life(seed, tmp_path, monkeypatch.setattr, place=place) as life:
        await life.live(STEPS // 2)


@pytest.mark.parametrize("seed", range(SEED, SEED + (LIVES + 2) // 3))
async def test_so_it_is_with_a_server_for_everything(
    seed, tmp_path, monkeypatch, postgres_database, qdrant_url, redis_url
):
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    prefix = f"life_{uuid4().hex}"
    engine = f"{qdrant_url.replace('http:', 'qdrant:')}?prefix={prefix}"
    place = Place(postgres_database(), engine=engine, redis=redis_url)
    async with Life(seed, tmp_path, monkeypatch.setattr, place=place) as life:
        await life.live(STEPS // 2)
