"""Real PostgreSQL with pgvector, Redis, Qdrant and Chroma on loopback, for tests. No container engine, no root needed.

    python scripts/services.py up      start all four, print their URLs, stop on Ctrl-C
    python scripts/services.py fetch   only download what is not here yet

A running server is used instead when its URL is in SCRUBJAY_TEST_POSTGRES, SCRUBJAY_TEST_REDIS, SCRUBJAY_TEST_QDRANT or
SCRUBJAY_TEST_CHROMA. QDRANT_URL is understood too, and QDRANT_BIN names another Qdrant program to start.
Started by root, the servers run as `nobody`: PostgreSQL refuses root, and the others need no more. Chroma is run by the
Python of the development install, which may lie in root's home; it stays with its user.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Self

from fetch import APART, ServerError, chroma_packages, packages_apart, postgres_home, qdrant_program, redis_program
from server import Server, free_port


class Postgres(Server):
    """PostgreSQL with pgvector. Trusts every connection from loopback, and forgets everything when it stops."""

    name = "postgres"
    goodbye = signal.SIGINT

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        home = postgres_home()
        package = home.parent
        # Its libraries are found relative to it, in the folder that the wheel puts beside the package.
        libraries = package.with_name(f"{package.name}.libs")
        self._programs = self.within_reach(home / "bin" / "postgres", tree=package, beside=(libraries,)).parent
        self.run([
            str(self._programs / "initdb"), "--pgdata", str(self.data), "--username", "postgres", "--auth", "trust",
            "--encoding", "UTF8", "--no-sync",
        ])  # fmt: skip

    def command(self) -> list[str]:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            # A socket's path has to be short, and that of a temporary folder is not always.
            "unix_socket_directories": "",
            "max_connections": "200",
            # Nothing here outlives the tests, so nothing has to reach the disk.
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
        }
        given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self.data), *given]

    def is_ready(self) -> bool:
        asked = [str(self._programs / "pg_isready"), "--quiet", "--host", "127.0.0.1", "--port", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0


class Redis(Server):
    """Redis, or Valkey, which speaks the same. Keeps nothing on disk."""

    name = "redis"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        self._program = self.within_reach(redis_program())

    def command(self) -> list[str]:
        # More databases than the usual 16: each worker of a parallel test run has its own.
        return [
            str(self._program), "--bind", "127.0.0.1", "--port", str(self.port), "--databases", "256",
            "--save", "", "--appendonly", "no", "--dir", str(self.data),
        ]  # fmt: skip

    def is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


class Qdrant(Server):
    """Qdrant, over REST. Every test makes collections under names of its own."""

    name = "qdrant"

    def __init__(self) -> None:
        super().__init__()
        self._grpc_port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        self._program = self.within_reach(qdrant_program())

    def command(self) -> list[str]:
        self._grpc_port = free_port()
        return [str(self._program)]

    def environment(self) -> dict[str, str]:
        return {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(self._grpc_port),
            "QDRANT__STORAGE__STORAGE_PATH": str(self.data / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self.data / "snapshots"),
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
        }

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class Chroma(Server):
    """Chroma, over REST. Every test makes collections under names of its own."""

    name = "chroma"
    goodbye = signal.SIGINT

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        self._packages = chroma_packages()

    def command(self) -> list[str]:
        # What the command `chroma` does, without the second that its imports take.
        run = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])"
        return [
            sys.executable, "-c", run, "run", "--path", str(self.data), "--host", "127.0.0.1", "--port", str(self.port)
        ]  # fmt: skip

    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self._packages)}

    def user(self) -> dict[str, Any]:
        return {}

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


SERVERS: dict[str, type[Server]] = {server.name: server for server in (Postgres, Redis, Qdrant, Chroma)}


class Services:
    """All servers, each started when it is first asked for and stopped together at the end.

    >>> with Services() as services:
    ...     services.url("postgres")
    'postgresql://postgres@127.0.0.1:40123/postgres'
    """

    def __init__(self) -> None:
        self._started: dict[str, Server] = {}

    def url(self, name: str) -> str:
        """The URL of a server that answers. Raises ServerError."""
        if given := os.environ.get(f"SCRUBJAY_TEST_{name.upper()}") or os.environ.get(f"{name.upper()}_URL"):
            return given
        if name not in self._started:
            server = SERVERS[name]()
            server.start()
            self._started[name] = server
        return self._started[name].url

    def stop(self) -> None:
        """Stop all that were started here."""
        while self._started:
            _, server = self._started.popitem()
            server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def fetch() -> None:
    """Fetch what is not here yet, two things at a time, and say where everything is."""
    places = [postgres_home, redis_program, qdrant_program, *(partial(packages_apart, name) for name in APART)]
    with ThreadPoolExecutor(2) as hands:
        for found in hands.map(lambda place: place(), places):
            print(found)


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    match arguments:
        case ["fetch"]:
            fetch()
        case ["up"]:
            with Services() as services:
                for name in SERVERS:
                    print(f"SCRUBJAY_TEST_{name.upper()}={services.url(name)}", flush=True)
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                with contextlib.suppress(KeyboardInterrupt):
                    signal.pause()
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ServerError as error:
        sys.exit(f"services: {error}")
