"""What the service says about itself: metrics, a log without memories, and traces."""

import asyncio
import contextlib
import gzip
import io
import json
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from scrubjay.doors.http.app import application
from scrubjay.doors.http.logs import log_as_json
from scrubjay.doors.http.watched import REQUEST_ID
from scrubjay.settings import read_settings

CANARY = "zanzibarian-nightingale"


@pytest.fixture
def logged(monkeypatch) -> Iterator[Any]:
    """Logs as the server does, and gives what was logged so far, one object for each line."""
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    log_as_json("debug")
    [ours] = logging.root.handlers
    try:
        yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    finally:
        structlog.reset_defaults()
        logging.root.removeHandler(ours)
        logging.getLogger("scrubjay").setLevel(logging.NOTSET)


@contextlib.asynccontextmanager
async def serving(home, **settings) -> AsyncIterator[httpx.AsyncClient]:
    """The whole application, open, without a socket."""
    given = {"embedder": "static", "background": False, **settings}
    app = application(read_settings(home=home, **given))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost", timeout=60) as client,
    ):
        yield client


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (one.name, *(one.labels[name] for name in sorted(one.labels))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


# Metrics


async def test_requests_are_counted_by_template_and_verbs_by_name(tmp_path, collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    async with serving(tmp_path) as client:
        told = (await client.post("/v1/memory", json={"content": "A thing", "kind": "fact"})).json()
        await client.post("/api/v1/memory", json={"content": "Another thing", "kind": "fact"})
        await client.post("/v1/memory/recall", json={"query": "which thing?"})
        await client.get(f"/v1/memory/{told['memory']['id']}")
        await client.get(f"/v1/memory/{uuid.uuid4()}")
        await client.get("/nothing/here")
        await client.get("/v1/memory", headers={"host": "elsewhere.org"})
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(answer.text)
    requests = "scrubjay_http_requests_total"
    assert found[(requests, "POST", "/v1/memory", "201")] == 2
    assert found[(requests, "POST", "/v1/memory/recall", "200")] == 1
    assert found[(requests, "GET", "/v1/memory/{id}", "200")] == 1
    assert found[(requests, "GET", "/v1/memory/{id}", "404")] == 1
    assert found[(requests, "GET", "unmatched", "404")] == 1
    assert found[(requests, "GET", "unmatched", "421")] == 1
    assert found[("scrubjay_memories_written_total", "fact", "stored")] == 2
    assert found[("scrubjay_recall_hits_total", "fact")] == 2
    assert found[("scrubjay_operation_seconds_count", "recall", "done")] == 1
    assert found[("scrubjay_store_up", "records")] == 1
    assert found[("scrubjay_open",)] == 1
    assert "default" not in answer.text, "the tenant is no label unless asked for"
    assert not collector.taken, "no trace is sent unless asked for"


async def test_every_store_of_the_production_profile_is_timed(tmp_path, postgres_database, server_url, redis_url):
    vectors = f"qdrant://{urlsplit(server_url('qdrant')).netloc}?prefix={uuid.uuid4()}"
    async with serving(tmp_path, records=postgres_database(), vectors=vectors, working=redis_url) as client:
        await client.post("/v1/memory", json={"content": "A thing"})
        hits = (await client.post("/v1/memory/recall", json={"query": "which thing?"})).json()
        found = samples((await client.get("/metrics")).text)
    assert hits["degraded"] == []
    took = "scrubjay_store_seconds_count"
    assert found[(took, "search", "vectors")] == 1
    assert found[(took, "upsert", "vectors")] >= 1
    assert found[(took, "write", "records")] >= 1
    assert found[(took, "call", "redis")] >= 1
    assert (took, "listen", "redis") not in found, "waiting for events is no work"
    stores = {labels[0] for name, *labels in found if name == "scrubjay_store_up"}
    assert stores == {"records", "vectors", "embedder", "working"}


async def test_metrics_answer_while_the_database_is_away(tmp_path):
    nobody = "postgresql://127.0.0.1:1/nothing"
    async with serving(tmp_path, records=nobody) as client:
        answer = await client.get("/metrics")
        refused = await client.post("/v1/memory", json={"content": "A thing"})
        found = samples((await client.get("/metrics")).text)
    assert answer.status_code == 200
    assert refused.status_code == 503
    assert found[("scrubjay_open",)] == 0
    assert found[("scrubjay_store_up", "records")] == 0
    assert sum(value for (name, *labels), value in found.items() if name.endswith("requests_total") and "503" in labels)


# The log


async def test_a_request_can_be_followed_through_the_log(tmp_path, logged):
    async with serving(tmp_path) as client:
        chosen = await client.post("/v1/memory", json={"content": "A thing"}, headers={REQUEST_ID: "from-the-proxy.7"})
        given = await client.get("/version")
        odd = await client.get("/version", headers={REQUEST_ID: "two words\t"})
        await client.get("/healthz")
        await client.get("/metrics")
        key = (await client.post("/v1/keys", json={"name": "ci"})).json()
        await client.get("/v1/memory/count", headers={"authorization": f"Bearer {key['text']}"})
    assert chosen.headers[REQUEST_ID] == "from-the-proxy.7"
    uuid.UUID(given.headers[REQUEST_ID])
    uuid.UUID(odd.headers[REQUEST_ID])
    lines = [line for line in logged() if "request_id" in line]
    about = [line for line in lines if line["request_id"] == "from-the-proxy.7"]
    assert [line["event"] for line in about] == ["remember", "request"]
    remember, request = about
    assert remember["ids"] == [chosen.json()["memory"]["id"]]
    assert remember["records_ms"] > 0
    assert request.keys() >= {"timestamp", "level", "logger", "method", "route", "status", "ms"}
    assert (request["route"], request["status"], request["level"]) == ("/v1/memory", 201, "info")
    assert not [line for line in lines if line.get("route") in ("/healthz", "/metrics")], "probes are not logged"
    assert (lines[-1]["route"], lines[-1]["key"]) == ("/v1/memory/count", key["key"]["id"])
    assert key["text"] not in json.dumps(lines)


FORMATS = {"date-time": "2026-01-01T00:00:00Z", "uuid": "01970a3c-5e1f-7c3a-9f0e-2b7d5a1c4e88"}
LEAVES = {"integer": 1, "number": 1, "boolean": False}
DEPTH = 6


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The schema that is meant: what it refers to, or the first of several that is not null."""
    while True:
        several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        elif several:
            schema = next(one for one in several if one.get("type") != "null")
        else:
            return schema


def made(schema: dict[str, Any], document: dict[str, Any], depth: int = 0) -> Any:
    """A value of this schema in which every text that may be anything is the canary."""
    meant = resolved(schema, document)
    kind = meant.get("type")
    if "const" in meant or "enum" in meant:
        return meant.get("const", meant.get("enum", [None])[0])
    if kind == "array":
        return [made(meant.get("items", {}), document, depth + 1)] if depth < DEPTH else []
    if kind == "object":
        inside = meant.get("properties", {}) if depth < DEPTH else {}
        return {name: made(one, document, depth + 1) for name, one in inside.items()} or {CANARY: CANARY}
    if kind in LEAVES:
        return meant.get("minimum", LEAVES[kind])
    return FORMATS.get(meant.get("format", ""), CANARY)


def walk(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], Any, bool]]:
    """Every request of the OpenAPI document, full of canaries: method, path, query, body, and whether it ever ends."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            query: dict[str, Any] = {}
            there = path
            for parameter in operation.get("parameters", []):
                value = made(parameter["schema"], document)
                if parameter["in"] == "path":
                    there = there.replace(f"{{{parameter['name']}}}", str(value))
                elif parameter["in"] == "query":
                    query[parameter["name"]] = value
            contents = operation.get("requestBody", {}).get("content", {})
            body = made(contents["application/json"]["schema"], document) if "application/json" in contents else None
            yield method.upper(), there, query, body, "event-stream" not in json.dumps(operation["responses"])


async def test_no_request_puts_a_memory_into_the_log(tmp_path, logged):
    statuses: dict[int, int] = {}
    async with serving(tmp_path, log_level="debug") as client:
        said = {"content": f"The {CANARY} sings", "user": CANARY, "key": CANARY, "data": {CANARY: CANARY}}
        told = (await client.post("/v1/memory", json=said)).json()["memory"]
        for path in ("/v1/memory/recall", "/v1/memory/context"):
            assert (await client.post(path, json={"query": CANARY, "user": CANARY})).status_code == 200
        await client.patch(f"/v1/memory/{told['id']}", json={"content": f"The {CANARY} rests"})
        await client.post("/v1/memory", content=f'{{"content": "{CANARY}'.encode())
        await client.post("/v1/memory", json={"content": CANARY, "importance": CANARY})
        await client.get(f"/v1/memory/{CANARY}", params={"user": CANARY})
        await client.get(f"/{CANARY}?q={CANARY}", headers={REQUEST_ID: f"{CANARY} "})
        document = (await client.get("/openapi.json")).json()
        for method, path, query, body, ends in walk(document):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(30 if ends else 0.2):
                    for whole in ((body, query), (body, {})) if body is not None else ((None, query),):
                        answer = await client.request(method, path, params=whole[1], json=whole[0])
                        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    lines = logged()
    assert len([line for line in lines if line["event"] == "request"]) > len(document["paths"])
    assert statuses[200] > 5, f"too few requests were right: {statuses}"
    assert not [line for line in lines if CANARY in json.dumps(line)]
    assert not [line for line in lines if line["level"] not in ("debug", "info", "warning")]


# Traces


class Collector(ThreadingHTTPServer):
    """Takes traces as an OpenTelemetry collector does, over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[ExportTraceServiceRequest] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> dict[str, Any]:
        return {
            span.name: span
            for taken in self.taken
            for resource in taken.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        assert self.path == "/v1/traces"
        self.server.taken.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def test_traces_reach_a_collector_and_tenants_are_told_apart_when_asked(tmp_path, collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    caller = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    async with serving(tmp_path, tracing=True, metrics_tenant=True, tenant="acme") as client:
        await client.post("/v1/memory", json={"content": f"The {CANARY} sings"})
        await client.post("/v1/memory/recall", json={"query": CANARY}, headers=caller)
        found = samples((await client.get("/metrics")).text)
    assert found[("scrubjay_memories_written_total", "note", "stored", "acme")] == 1
    spans = collector.spans
    recall = spans["POST /v1/memory/recall"]
    assert recall.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert recall.parent_span_id.hex() == "b7ad6b7169203331"
    assert spans["scrubjay.recall"].parent_span_id == recall.span_id
    assert {"POST /v1/memory", "scrubjay.remember", "scrubjay.store", "scrubjay.meaning"} <= spans.keys()
    about = {one.key: one.value.string_value for one in collector.taken[0].resource_spans[0].resource.attributes}
    assert (about["service.name"], about["deployment.environment"]) == ("scrubjay", "test")
    assert CANARY not in "".join(map(str, collector.taken))
