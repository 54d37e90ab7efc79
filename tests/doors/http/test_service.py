"""Starting, stopping, and what a person or a supervisor sees of the service."""

import asyncio
import json
import logging
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import structlog

from scrubjay import __version__, wiring
from scrubjay.doors.http import answers, is_loopback, serve
from scrubjay.doors.http.app import application
from scrubjay.doors.http.server import greeting, log_as_json
from scrubjay.errors import Misconfigured, SchemaTooNew, ScrubjayError
from scrubjay.settings import read_settings

README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.mark.parametrize(
    ("host", "listens", "opens"),
    [
        ("0.0.0.0", "http://0.0.0.0:80", "http://127.0.0.1:80"),
        ("::", "http://[::]:80", "http://[::1]:80"),
        ("192.0.2.7", "http://192.0.2.7:80", "http://192.0.2.7:80"),
    ],
)
def test_the_greeting_names_a_place_that_can_be_opened(host, listens, opens):
    lines = greeting(read_settings(), host, 80, wants_keys=True).splitlines()
    assert lines[0] == f"Scrubjay is listening on {listens}"
    assert [line for line in lines if line.startswith("  look ") and line.endswith(f" {opens}/")]
    assert [line for line in lines if f"curl {opens}/v1/memory" in line]


def test_the_greeting_says_where_to_look(server):
    assert re.match(r"Scrubjay is listening on http://127\.0\.0\.1:\d+\n", server.greeting)
    assert f"{server.url}/docs" in server.greeting
    [data] = re.findall(r"data +(.+)", server.greeting)
    assert Path(data).is_file()
    [line] = re.findall(r"try +(curl .+)", server.greeting)
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["memory"]["content"] == "Prefers tabs over spaces"


def test_the_readme_works_as_it_stands(server):
    lines = [line.removeprefix("$ ") for line in README.read_text(encoding="utf-8").splitlines() if "$ curl" in line]
    assert len(lines) >= 3
    for line in lines:
        there = line.replace("localhost:7285", server.url.removeprefix("http://"))
        assert there != line
        command = ["bash", "-c", f"{there} --fail-with-body -sS"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        json.loads(done.stdout)


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/version", "/metrics", "/docs", "/lab", "/openapi.json"])
def test_a_probe_may_ask_without_wanting_the_body(client, path):
    answer = client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == client.get(path).headers["content-type"]


def test_head_is_for_probes_only(client):
    assert client.head("/v1/memory").status_code == 405


def test_operations(client):
    assert client.get("/healthz").json() == {"status": "alive"}
    ready = client.get("/readyz").json()
    assert (ready["status"], ready["pending"]) == ("ready", 0)
    assert {part: store["state"] for part, store in ready["stores"].items()} == {
        "records": "up",
        "vectors": "up",
        "embedder": "up",
    }
    assert client.get("/version").json() == {"version": __version__}


def test_an_answer_is_not_held_back(client):
    # One is enough: acknowledgements are delayed every time, and a busy machine is quick now and then.
    quick = any(client.get("/healthz").elapsed.total_seconds() < 0.03 for _ in range(200))
    assert quick, "a delayed acknowledgement takes 40 ms: is TCP_NODELAY on?"


def test_the_home_page_counts_and_loads_nothing_from_elsewhere(client, user, remember):
    remember("<script>alert(1)</script>", kind="counted")
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "1 counted" in page.text
    assert "<script>alert" not in page.text
    assert "curl http://127.0.0.1:" in page.text
    for path in ("/", "/docs", "/lab"):
        outside = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(https?://[^\s\"')]+)", client.get(path).text)
        assert not outside


def test_the_lab_asks_for_what_the_service_answers(client, user):
    page = client.get("/lab")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "script-src 'unsafe-inline'" in page.headers["content-security-policy"]
    assert 'href="/lab"' in client.get("/").text
    job = {
        "goal": "Keep <b>customers</b> logged in",
        "repo_path": "/srv/shop",
        "files": [{"path": "a.py", "content": "1"}],
    }
    stored = client.post("/v1/workspace/completions", json={**job, "language": "python", "user": user}).json()
    script = page.text.partition("<script>")[2]
    document = client.get("/openapi.json").json()
    taken = {one["name"] for one in document["paths"]["/v1/memory/search"]["get"]["parameters"]}
    assert set(re.findall(r'name="(\w+)"', page.text)) - {"viewport", "color-scheme"} <= taken
    query = {
        "q": "customers",
        "repo": "/srv/shop",
        "language": "python",
        "status": "succeeded",
        "limit": 50,
        "user": user,
    }
    found = client.get("/v1/memory/search", params=query).json()
    [hit] = found["hits"]
    detail = client.get(f"/v1/workspace/completions/{stored['id']}", params={"user": user}).json()
    read = {
        "found": found.keys() | detail.keys(),
        "hit": hit.keys(),
        "told": hit["completion"].keys() & detail["completion"].keys(),
        "one.file": detail["files"][0]["file"].keys(),
    }
    for name, fields in read.items():
        named = set(re.findall(rf"\b{re.escape(name)}\.(\w+)", script))
        assert named, name
        assert named <= fields, f"{name} has no {named - fields}"


def test_what_is_stored_gets_onto_a_page_as_text(client, user):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    job = {"goal": hostile, "summary": hostile, "repo_path": f"/srv/{hostile}", "user": user}
    assert client.post("/v1/workspace/completions", json=job).status_code == 201
    for path in ("/", "/docs", "/lab", f"/lab?q={hostile}", f"/lab?user={user}"):
        page = client.get(path).text
        assert "alert(" not in page
        # What a script of ours writes, it writes as text: none of these reads its words as a page.
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|\beval\b", page)
    answer = client.get("/v1/memory/search", params={"user": user}, headers={"accept": "text/html"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_reference_shows_every_route(client):
    document = client.get("/openapi.json").json()
    page = client.get("/docs").text
    routes = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    assert len(routes) > 100
    for method, path in routes:
        assert f"<b>{method}</b><code>{path}</code>" in page
    assert "&quot;content&quot;: &quot;Prefers tabs over spaces&quot;" in page


def test_the_document_describes_every_answer_and_every_error(client):
    document = client.get("/openapi.json").json()
    names = set(document["components"]["schemas"])
    referred = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert referred <= names
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"]
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert "422" not in operation["responses"], "bad input is a 400, everywhere"


def test_every_example_of_a_body_works(start, tmp_path):
    with start(tmp_path) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        document = client.get("/openapi.json").json()
        shapes = document["components"]["schemas"]
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                if body is None or "{" in path or path == "/v1/keys":
                    continue
                [example] = shapes[body.get("oneOf", [body])[0]["$ref"].rpartition("/")[2]]["examples"]
                answer = client.request(method, path, json=example)
                assert answer.status_code in EXAMPLES.get(path, (200, 201)), f"{path}: {answer.text}"
        [example] = shapes["Memory"]["examples"]
        answers.Memory.model_validate(example)


EXAMPLES = {
    "/v1/facts/restore": (404,),
    "/v1/facts/purge": (200, 404),
    "/v1/memory/forget": (200, 404),
    "/v1/memory/tasks/used": (400,),
    "/v1/workspace/cite": (400,),
    "/v1/workspace/ingest": (400,),
    "/v1/workspace/backfill": (400,),
    "/v1/upkeep/archives/restore": (400,),
}
"""What an example cannot do in a store that is new: there is nothing deleted, no receipt, and no such folder."""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_quietly_and_keeps_everything(start, tmp_path, how):
    with start(tmp_path) as first:
        stored = httpx.post(f"{first.url}/v1/memory", json={"content": "Still here"}, timeout=60).json()["memory"]
        httpx.post(f"{first.url}/v1/memory/recall", json={"query": "still here"}, timeout=60)
        logged = [json.loads(line) for line in first.stop(how).splitlines()]
        assert {line["level"] for line in logged} == {"info"}
        assert first.process.returncode in (0, -how)
    with start(tmp_path) as second:
        found = httpx.get(f"{second.url}/v1/memory/{stored['id']}", timeout=60).json()
        assert (found["content"], found["uses"]) == ("Still here", 1), "what was queued is stored before it ends"


def test_a_request_under_way_is_finished(start, tmp_path):
    with start(tmp_path) as server:
        told = [{"content": f"Thing number {number} of many"} for number in range(5_000)]

        async def write_and_stop() -> httpx.Response:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                writing = asyncio.create_task(client.post("/v1/memory", json=told))
                await asyncio.to_thread(server.wait_until_busy, writing.done)
                server.process.send_signal(signal.SIGTERM)
                return await writing

        answer = asyncio.run(write_and_stop())
        assert answer.status_code == 201
        assert len(answer.json()) == len(told)


def test_two_servers_on_one_file_see_each_other(start, tmp_path):
    with start(tmp_path) as one, start(tmp_path) as other:
        httpx.post(f"{one.url}/v1/memory", json={"content": "The parrot is blue", "user": "u"}, timeout=60)
        asked = {"query": "what colour is the parrot?", "user": "u"}
        [hit] = httpx.post(f"{other.url}/v1/memory/recall", json=asked, timeout=60).json()["hits"]
        assert hit["memory"]["content"] == "The parrot is blue"


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured, match=f"SCRUBJAY_PORT is {port}: cannot listen"):
            serve(read_settings(home=tmp_path, port=port))


@pytest.mark.parametrize("host", ["nohost.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here(tmp_path, host):
    with wiring.open(tmp_path, embedder="none") as jay:
        jay.access.create_key("any")
    with pytest.raises(Misconfigured, match=f"SCRUBJAY_HOST is '{host}': cannot listen there"):
        serve(read_settings(home=tmp_path, host=host))


def test_the_command_says_it_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "scrubjay", "serve", "--port", str(taken.getsockname()[1])]
        done = subprocess.run([*command, "--home", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    assert re.search(r"SCRUBJAY_PORT is \d+: cannot listen", done.stderr)
    assert "Traceback" not in done.stderr


def test_it_listens_on_the_newer_protocol_too(start, tmp_path):
    with start(tmp_path, SCRUBJAY_HOST="::1") as server:
        assert server.url.startswith("http://[::1]:")
        assert httpx.get(f"{server.url}/healthz", timeout=60).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_only_listens_on_this_machine(tmp_path, host):
    with pytest.raises(Misconfigured, match="there is no key yet"):
        serve(read_settings(home=tmp_path, host=host, port=0))


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("localhost.evil.org", False)],
)
def test_what_is_this_machine(host, own):
    assert is_loopback(host) is own


def test_a_store_that_cannot_be_opened_is_one_clear_error(tmp_path):
    (tmp_path / "scrubjay.db").write_bytes(b"this is not a database, and never was one" * 100)
    with pytest.raises(ScrubjayError):
        serve(read_settings(home=tmp_path, port=0))


def test_what_nobody_expected_is_a_problem_and_a_log_line_without_the_memory(tmp_path, capsys):
    async def ask() -> httpx.Response:
        app = application(read_settings(home=tmp_path, embedder="none"))

        @app.get("/broken")
        async def broken() -> None:
            secret = "the content of a memory"
            raise RuntimeError(len(secret))

        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await client.get("/broken")

    log_as_json()
    try:
        answer = asyncio.run(ask())
    finally:
        structlog.reset_defaults()
        logging.root.handlers.clear()
        logging.getLogger("scrubjay").setLevel(logging.NOTSET)
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:scrubjay:error:internal-server-error"
    assert "RuntimeError" not in answer.text
    lines = capsys.readouterr().err.splitlines()
    [logged] = [one for one in map(json.loads, lines) if one["event"] == "request failed"]
    assert logged["path"] == "/broken"
    assert logged["exception"].endswith("\nRuntimeError"), "where it happened and its kind, and not what it said"
    assert not [line for line in lines if "the content of a memory" in line]


def test_a_newer_schema_is_refused_before_it_listens(tmp_path):
    import sqlite3

    import scrubjay

    scrubjay.open(tmp_path, embedder="none").close()
    with sqlite3.connect(tmp_path / "scrubjay.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    with pytest.raises(SchemaTooNew):
        serve(read_settings(home=tmp_path, port=0))
