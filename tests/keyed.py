"""A service in this process, on a new store each time, and keys for it."""

import atexit
import shutil
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path

import httpx
from fastapi.testclient import TestClient

from scrubjay import wiring
from scrubjay.doors.http.access import NOTICED
from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings


@cache
def built(**settings):
    """The application for these settings, and its home. Building one takes longer than most tests, so they share it."""
    home = Path(tempfile.mkdtemp(prefix="scrubjay-keyed-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    # A machine that is slow refuses requests, unless it is told not to.
    given = {"embedder": "none", "background": False, "longest_wait": 0, **settings}
    return application(read_settings(home=home, **given)), home


class Service:
    """A service that is open, on a store that was empty."""

    def __init__(self, app, client, home):
        self.app = app
        self.client = client
        self.home = home

    def opened(self, tenant="default"):
        """The same store, as another process has it open."""
        return wiring.open(self.home, tenant=tenant, embedder="none", background=False)

    def key(self, name="test", *, tenant="default", **grants):
        """A key, made as whoever has the files makes one."""
        with self.opened(tenant) as jay:
            return jay.access.create_key(name, **grants)


@contextmanager
def service(**settings):
    """A service, with a client that waits for each answer."""
    app, home = built(**settings)
    shutil.rmtree(home, ignore_errors=True)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield Service(app, client, home)


@asynccontextmanager
async def served(**settings):
    """A service, with a client that sends several requests at once."""
    app, home = built(**settings)
    shutil.rmtree(home, ignore_errors=True)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        yield Service(app, client, home)


def noticed(ask):
    """The answer to a request without a key, once the server sees that another process has made one."""
    for _ in range(200):
        answer = ask()
        if answer.status_code != 200:
            return answer
        time.sleep(NOTICED.total_seconds() / 10)
    raise AssertionError("the server never notices that there is a key")


def bearing(key):
    """The header that carries this key."""
    return {"authorization": f"Bearer {key.text}"}
