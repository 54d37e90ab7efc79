"""A real server in a thread of this process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings

GIVEN = {"embedder": "static", "background": False, "workspace_rejected": True}


@contextmanager
def serving(home: Path, **settings) -> Iterator[str]:
    """The URL of a server for this folder. It stops when this ends."""
    # asyncio switches delayed sending off only where the protocol is named.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        app = application(read_settings(home=home, **GIVEN, **settings))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        started = threading.Event()
        begin = server.startup

        async def startup(sockets=None):
            await begin(sockets)
            started.set()

        server.startup = startup
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert started.wait(60)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            app.state.leaving.set()
            server.should_exit = True
            thread.join(60)
