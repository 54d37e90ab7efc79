"""Workspace memory over HTTP, and what becomes of it when it is switched off."""

import subprocess

import httpx
import pytest


@pytest.fixture
def completion(user, tmp_path) -> dict:
    return {
        "goal": "Customers are logged out right after they log in",
        "repo_path": str(tmp_path),
        "task_id": "SHOP-17",
        "summary": "The session cookie was dropped by the redirect",
        "language": "python",
        "files": [{"path": "shop/session.py", "content": "def session_cookie():\n    return 'kept'\n"}],
        "artifact": "build/report.html",
        "tests": {"passed": 41},
        "user": user,
    }


def test_a_job_is_stored_found_and_read_in_full(client, user, completion, tmp_path):
    stored = client.post("/v1/workspace/completions", json=completion)
    assert stored.status_code == 201
    assert stored.json()["outcome"] == "stored"
    stored_id = stored.json()["id"]
    asked = {"repo": str(tmp_path), "language": "python", "q": "session cookie", "user": user}
    [hit] = client.get("/v1/memory/search", params=asked).json()["hits"]
    assert (hit["id"], hit["is_advice"]) == (stored_id, True)
    assert hit["completion"]["tests"] == {"passed": 41}
    assert client.get("/v1/memory/search", params={**asked, "language": "go"}).json()["hits"] == []
    in_full = client.get(f"/v1/workspace/completions/{stored_id}", params={"user": user}).json()
    assert in_full["files"][0]["text"] == completion["files"][0]["content"]
    assert in_full["artifact"]["location"] == str(tmp_path / "build/report.html")


def test_a_memory_that_is_a_job_has_its_artifacts(client, user, completion, tmp_path):
    stored_id = client.post("/v1/workspace/completions", json=completion).json()["id"]
    memory = client.get(f"/v1/memory/{stored_id}", params={"user": user}).json()
    assert memory["kind"] == "completion"
    assert memory["completion"]["artifact"]["location"] == str(tmp_path / "build/report.html")
    assert memory["completion"]["files"][0]["state"] == "missing"


def test_the_server_reads_no_file_by_its_name(client, completion):
    answer = client.post("/v1/workspace/completions", json={**completion, "files": ["/etc/passwd"]})
    assert answer.status_code == 400
    answer = client.post("/v1/workspace/completions", json={**completion, "files": [{"path": "passwd"}]})
    assert "content is missing" in answer.json()["detail"]


def test_what_is_kept_is_counted_and_pruned(client, user, completion):
    stored_id = client.post("/v1/workspace/completions", json=completion).json()["id"]
    assert client.get("/v1/workspace/stats", params={"user": user}).json()["completions"] == 1
    planned = client.post("/v1/workspace/prune", json={"user": user, "most_bytes": 1, "dry_run": True}).json()
    assert [one["id"] for one in planned["gone"]] == [stored_id]
    gone = client.post("/v1/workspace/prune", json={"user": user, "most_bytes": 1}).json()
    assert gone["bytes"] > 0
    assert client.get(f"/v1/workspace/completions/{stored_id}", params={"user": user}).status_code == 404


def test_samples_and_secrets(client, user):
    assert [one["outcome"] for one in client.post("/v1/workspace/seed", json={"user": user}).json()] == ["stored"] * 4
    found = client.get("/v1/workspace/secrets", params={"user": user}).json()
    assert (found["memories"], found["found"]) == (4, [])


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "session.py").write_text('def session_cookie():\n    """The cookie of a session."""\n    return "kept"\n')
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "go"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_a_repository_is_read_searched_and_cited(client, user, repository):
    where = {"project": f"p-{user}", "user": user}
    report = client.post("/v1/workspace/ingest", json={"path": str(repository), **where}).json()
    assert (report["files"], report["touched"], report["commits"]) == (1, 1, 1)
    asked = {"query": "session cookie", **where}
    [hit, *_] = client.post("/v1/workspace/code/search", json=asked).json()["hits"]
    assert hit["state"] == "fresh"
    assert hit["cited"][0]["citation"]["path"] == "session.py"
    files = client.get("/v1/workspace/files", params={"task_description": "the session cookie is lost", **where}).json()
    assert [one["path"] for one in files["files"]] == ["session.py"]
    told = {"content": "It is set here", "cites": ["session.py#session_cookie"], **where}
    stored_id = client.post("/v1/workspace/cite", json=told).json()["memory"]["id"]
    (repository / "session.py").write_text("# gone\n")
    [checked] = client.get(f"/v1/workspace/check/{stored_id}", params=where).json()
    assert checked["state"] == "orphaned"
    recalled = client.post(
        "/v1/workspace/recall", json={"query": "where is it set?", "kinds": ["note"], **where}
    ).json()
    assert "orphaned" in recalled["hits"][0]["warning"]


def test_artifacts_are_read_from_a_folder_of_the_server(client, user, tmp_path):
    job = tmp_path / "artifacts" / "fix-login"
    job.mkdir(parents=True)
    (job / "README.md").write_text("# Fix the login\n")
    done = client.post("/v1/workspace/backfill", json={"directory": str(job.parent), "user": user}).json()
    assert (done["stored"], done["found"]) == (1, 1)
    wrong = client.post("/v1/workspace/backfill", json={"directory": str(tmp_path / "none"), "user": user})
    assert wrong.status_code == 400


def test_switched_off_it_is_not_there_and_says_why(start, tmp_path, completion):
    with (
        start(tmp_path, SCRUBJAY_WORKSPACE_ENABLED="false") as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        routes = {
            "/v1/memory/search": "GET",
            "/v1/workspace/completions": "POST",
            "/v1/workspace/stats": "GET",
            "/v1/workspace/files?task_description=x": "GET",
        }
        for path, method in routes.items():
            answer = client.request(method, path, json=completion if method == "POST" else None)
            assert answer.status_code == 404, path
            assert "SCRUBJAY_WORKSPACE_ENABLED" in answer.json()["detail"]
