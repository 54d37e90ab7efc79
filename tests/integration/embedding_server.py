"""An embedding server that speaks the protocols of OpenAI and Ollama, and can die and come back at its address."""

import asyncio
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from scrubjay.ports import Embedder


class MortalServer:
    """Serves the vectors of one model. While it has fallen, connections are refused."""

    def __init__(self, model: Embedder) -> None:
        self.asked: list[str] = []
        """Every text that was embedded."""
        self._model = model
        self._http: ThreadingHTTPServer | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def rise(self) -> "MortalServer":
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.asked += body["input"]
                rows = asyncio.run(server._model.embed(body["input"])).tolist()
                data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
                payload = json.dumps({"data": data, "embeddings": rows}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def fall(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None
