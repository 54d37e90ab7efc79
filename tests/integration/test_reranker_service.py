"""A reranker in a whole memory: it has a say in recall and in contexts, and is missed, not waited for, when away."""

import json
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from scrubjay import Settings
from scrubjay.doors.cli import app
from scrubjay.doors.cli.views import explained
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

OVERLAP = Path(__file__).parents[1] / "unit" / "models" / "overlap.onnx"
TOLD = ["Deploys happen on Friday", "Who deploys tells the others", "The port of staging is 8080"]


@contextmanager
def preferring(wanted, *, status=200):
    """A server with /rerank that prefers texts with this word."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            results = [
                {"index": place, "relevance_score": float(wanted in text)}
                for place, text in enumerate(body["documents"])
            ]
            payload = json.dumps({"results": results}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()


def settings(tmp_path, **more):
    return Settings(home=tmp_path / "home", background=False, **more)


async def test_what_the_server_prefers_comes_first_and_is_explained(tmp_path):
    with preferring("others") as url:
        asked = settings(tmp_path, reranker="server:some-model", reranker_url=url, reranker_weight=3)
        async with wire(asked, embedder=ToyEmbedder()) as jay:
            await jay.remember_many(TOLD)
            hits = await jay.recall("deploys happen on friday", limit=2, explain=True)
            context = await jay.context("deploys happen on friday", budget=400)
    assert [hit.memory.content for hit in hits] == [TOLD[1], TOLD[0]]
    assert hits[0].signals["reranker"] == 1.0
    assert hits[0].signals["reread"] > 0 > hits[1].signals["reread"]
    assert not hits.degraded
    assert hits.confidence is None  # the toy has no scale, with or without a reranker
    assert context.text.index(TOLD[1]) < context.text.index(TOLD[0])


async def test_a_server_that_fails_is_named_and_the_answer_is_the_usual_one(tmp_path):
    with preferring("others", status=400) as url:
        asked = settings(tmp_path, reranker="server:some-model", reranker_url=url)
        async with wire(asked, embedder=ToyEmbedder()) as jay:
            await jay.remember_many(TOLD)
            hits = await jay.recall("deploys happen on friday", limit=2, explain=True)
            empty = await jay.recall("", limit=2)
            health = await jay.health()
    assert hits[0].memory.content == TOLD[0]
    assert hits.degraded == ("reranker",)
    assert "reread" not in hits[0].signals
    assert empty.degraded == ()  # the newest need no judge
    assert health.state == "degraded"
    assert "without it" in health.stores["reranker"].remedy


@pytest.fixture
def folder(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    shutil.copy(OVERLAP, model / "model.onnx")
    tokenizer = files("scrubjay.models.minilm") / "tokenizer.json"
    (model / "tokenizer.json").write_text(tokenizer.read_text("utf-8"), "utf-8")
    return model


def test_the_command_line_draws_what_it_said(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCRUBJAY_RERANKER", f"onnx:{folder}")
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    run = CliRunner()
    for told in TOLD:
        assert run.invoke(app, ["remember", told]).exit_code == 0
    asked = run.invoke(app, ["recall", "on which port do deploys happen", "--explain", "--json"])
    assert asked.exit_code == 0, asked.output
    signals = json.loads(asked.stdout)["hits"][0]["signals"]
    assert signals["reranker_rank"] == 1
    console = Console(width=100)
    with console.capture() as drawn:
        console.print(explained(signals))
    assert "by reranker" in drawn.get()
    assert "reread" in drawn.get()
