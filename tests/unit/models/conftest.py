"""A local embedding server that speaks the protocols of OpenAI and of Ollama, with real vectors."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scrubjay.models.static import Static

Answer = tuple[int, dict[str, str], str]


@dataclass
class EmbeddingServer:
    """What was asked of it, and what it will say before it begins to answer properly."""

    url: str = ""
    requests: list[tuple[str, dict[str, str], dict[str, object]]] = field(default_factory=list)
    troubles: list[Answer] = field(default_factory=list)
    always: Callable[[dict[str, object]], Answer] | None = None

    def bodies(self) -> list[dict[str, object]]:
        return [body for _, _, body in self.requests]


@pytest.fixture(scope="session")
def vectors() -> Static:
    return Static()


@pytest.fixture
def server(vectors: Static) -> Iterator[EmbeddingServer]:
    state = EmbeddingServer()

    def answer(path: str, body: dict[str, object]) -> Answer:
        if state.troubles:
            return state.troubles.pop(0)
        if state.always is not None:
            return state.always(body)
        rows = asyncio.run(vectors.embed(body["input"])) * 3
        if path == "/v1/embeddings":
            data = [
                {"object": "embedding", "index": place, "embedding": row.tolist()} for place, row in enumerate(rows)
            ]
            data.reverse()  # the protocol promises an index, not an order
            return 200, {}, json.dumps({"object": "list", "data": data, "model": body["model"], "usage": {}})
        if path == "/api/embed":
            return 200, {}, json.dumps({"model": body["model"], "embeddings": rows.tolist()})
        return 404, {}, json.dumps({"error": "no such page"})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.requests.append((self.path, headers, body))
            status, extra, text = answer(self.path, body)
            payload = text.encode()
            self.send_response(status)
            for name, value in {
                **extra,
                "content-type": "application/json",
                "content-length": str(len(payload)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    yield state
    http.shutdown()
    http.server_close()
    thread.join()
