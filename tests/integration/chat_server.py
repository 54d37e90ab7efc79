"""A chat server that speaks OpenAI's protocol and says what a test tells it to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def chatting(answer: Callable[[dict], object | None]) -> Iterator[str]:
    """Gives its base URL. `answer` gets what the model is asked, as JSON; None is answered with 500."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = answer(json.loads(body["messages"][-1]["content"]))
            message = {"role": "assistant", "content": json.dumps(said)}
            payload = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
            self.send_response(500 if said is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_address[1]}/v1"
    http.shutdown()
    http.server_close()
