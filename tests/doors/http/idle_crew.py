"""A crew whose processes do nothing but wait: for tests of how they begin and end, without a service to load."""

import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from scrubjay.doors.http.crew import Crew
from scrubjay.settings import Settings, read_settings


def wait(_settings: Settings, _listener: socket.socket, _folder: Path, tell: Callable[[], None]) -> None:
    tell()
    signal.pause()


def give_up(*_given: object) -> None:
    sys.exit(3)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        crew = Crew(read_settings(workers=2), listener, wait, grace=5)
        crew.run(lambda: print("ready", flush=True))  # noqa: T201 -- whoever started it waits for that
