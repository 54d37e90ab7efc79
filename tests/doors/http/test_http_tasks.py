"""Task memory and pattern memory over HTTP: the bodies and answers that agents are written against."""

import pytest

DEPLOY = "deploy the shop"


@pytest.fixture
def executed(client, user):
    """Tell of an attempt."""

    def tell(task_id: str, *, success: bool = True, **details):
        told = {"task_id": task_id, "execution_summary": f"Did {task_id}", "success": success, "user": user, **details}
        return client.post("/v1/memory/store", json=told)

    return tell


@pytest.fixture
def family(client, user):
    """Twelve deployments: those that migrate first succeed."""
    told = [
        {
            "task_id": f"SHOP-{number}",
            "execution_summary": "Migrated, then deployed" if number % 2 else "Deployed and hoped",
            "success": bool(number % 2),
            "task_description": DEPLOY,
            "task_type": "deploy",
            "tools": ["migrate", "deploy"] if number % 2 else ["hope"],
            "error_patterns": [] if number % 2 else [{"type": "OperationalError", "message": "no such column"}],
            "user": user,
        }
        for number in range(12)
    ]
    assert client.post("/v1/memory/store", json=told).status_code == 201


def test_store_in_the_words_of_the_issue(client, user):
    told = {
        "task_id": "T-1",
        "execution_summary": "Kept the cookie on the redirect",
        "success": True,
        "error_patterns": ["KeyError: session"],
        "auto_extract_patterns": True,
        "user": user,
    }
    first = client.post("/v1/memory/store", json=told)
    assert first.status_code == 201
    assert first.json()["outcome"] == "stored"
    assert first.json()["patterns"] == []
    assert first.json()["memory"]["data"]["memory_type"] == "error_fix"
    assert client.post("/v1/memory/store", json=told).status_code == 200
    corrected = client.post("/v1/memory/store", json={**told, "success": False}).json()
    assert (corrected["outcome"], corrected["replaced"]) == ("superseded", first.json()["memory"]["id"])


def test_an_execution_may_teach_at_once(client, user, family, executed):
    taught = executed(
        "SHOP-99", task_description=DEPLOY, tools=["migrate", "deploy"], auto_extract_patterns=True
    ).json()
    known = {one["id"] for one in client.get("/v1/memory/patterns", params={"user": user}).json()}
    # The server learns by itself, too, and may have been faster.
    assert {one["id"] for one in taught["patterns"]} <= known
    assert known
    assert executed("SHOP-100", task_description=DEPLOY).json()["patterns"] is None


def test_search_in_the_words_of_the_issue(client, user, family):
    asked = {"task_description": DEPLOY, "top_k": 3, "similarity_threshold": 0.2, "success_only": True, "user": user}
    answer = client.post("/v1/memory/search", json=asked)
    assert answer.status_code == 200
    found = answer.json()
    assert 0 < len(found) <= 3
    wanted = {"task_id", "memory_id", "summary", "success", "similarity_score", "reused_count", "receipt"}
    assert all(wanted <= one.keys() for one in found)
    assert all(one["success"] and one["similarity_score"] >= 0.2 for one in found)
    assert "scrubjay-degraded" not in answer.headers
    keyword = client.post("/v1/memory/search", json={**asked, "mode": "keyword", "similarity_threshold": None}).json()
    assert keyword[0]["similarity_score"] is None


def test_a_receipt_is_credited_once(client, user, family):
    [found] = client.post("/v1/memory/search", json={"task_description": DEPLOY, "top_k": 1, "user": user}).json()
    report = {"receipt": found["receipt"], "outcome": "helped", "user": user}
    first = client.post("/v1/memory/tasks/used", json=report).json()
    assert first["counted"] is True
    assert first["memories"] == [found["memory_id"]]
    assert first["credits"] == [{"helped": 1, "hurt": 0, "neutral": 0, "reused_count": 1}]
    assert client.post("/v1/memory/tasks/used", json=report).json()["counted"] is False
    assert client.post("/v1/memory/tasks/used", json={**report, "outcome": "hurt"}).status_code == 409
    assert client.post("/v1/memory/tasks/used", json={**report, "receipt": "made up"}).status_code == 400


def test_the_context_of_a_task(client, user, family):
    by_id = client.get("/v1/memory/tasks/SHOP-1/context", params={"top_k": 3, "user": user})
    assert by_id.status_code == 200
    told = by_id.json()
    assert {"similar_tasks", "matching_patterns", "recommendations"} <= told.keys()
    assert 0 < len(told["similar_tasks"]) <= 3
    assert told["tokens"] <= told["budget"]
    by_words = client.post("/v1/memory/tasks/context", json={"description": DEPLOY, "user": user}).json()
    assert by_words["description"] == DEPLOY
    missing = client.get("/v1/memory/tasks/NONE-1/context", params={"user": user})
    assert missing.status_code == 404
    assert "NONE-1" in missing.json()["detail"]


@pytest.mark.parametrize("errors", ["timed out", {"type": "OperationalError", "message": "no such column"}])
def test_one_error_needs_no_list(executed, errors):
    stored = executed("T-1", success=False, error_patterns=errors)
    assert stored.status_code == 201
    assert stored.json()["memory"]["data"]["error_patterns"] == [errors]


def test_a_task_id_may_hold_slashes(client, user, executed):
    executed("shop/17", task_description=DEPLOY)
    assert client.get("/v1/memory/tasks/shop/17/context", params={"user": user}).json()["description"] == DEPLOY


def test_patterns_are_extracted_found_and_judged(client, user, family):
    asked = {"task_type_pattern": "deploy", "pattern_type": "success", "min_samples": 3, "user": user}
    pattern = client.post("/v1/memory/patterns/extract", json=asked).json()
    assert (pattern["pattern_type"], pattern["samples"], pattern["successes"]) == ("success", 12, 6)
    assert pattern["success_rate"] == 0.5
    assert pattern["scope"] == {"user": user}
    assert pattern["success_indicators"][0]["evidence"]
    assert client.post("/v1/memory/patterns/extract", json={**asked, "min_samples": 100}).json() is None
    listed = client.get("/v1/memory/patterns", params={"pattern_type": "success", "limit": 5, "user": user}).json()
    assert pattern["id"] in [one["id"] for one in listed]
    assert {one["pattern_type"] for one in listed} == {"success"}
    path = f"/v1/memory/patterns/{pattern['id']}"
    assert client.get(path, params={"user": user}).json()["version"] == 1
    judged = client.post(
        f"{path}/feedback", params={"user": user}, json={"helpful": True, "confidence_adjustment": 0.5}
    ).json()
    assert judged["confidence"] > pattern["confidence"]
    assert judged["helpful"] == 5
    assert len(client.get(f"{path}/history", params={"user": user}).json()) == judged["version"]
    assert client.get(path, params={"user": "somebody-else"}).status_code == 404


def test_patterns_speak_about_a_task(client, user, family):
    # The server learns by itself, too, and may have been faster: what counts is what is known afterwards.
    assert client.post("/v1/memory/patterns/learn", json={"user": user}).status_code == 200
    assert client.get("/v1/memory/patterns", params={"user": user}).json()
    task = {"description": DEPLOY, "user": user, "min_confidence": 0.1}
    assert client.post("/v1/memory/patterns/match", json=task).json()[0]["why"]
    advice = client.post("/v1/memory/patterns/recommend", json=task).json()
    assert {one["advice"] for one in advice} <= {"do", "avoid"}
    assert advice
    predicted = client.post("/v1/memory/patterns/predict", json={"description": DEPLOY, "user": user}).json()
    assert predicted["has_basis"] is (predicted["probability"] is not None)
    families = client.get("/v1/memory/patterns/families", params={"user": user, "min_size": 12}).json()
    assert {(one["size"], one["success_rate"]) for one in families} == {(12, 0.5)}


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/memory/store", {"task_id": "T"}, "execution_summary is missing"),
        ("/v1/memory/store", {"task_id": "T", "execution_summary": "x", "success": "perhaps"}, "success is 'perhaps'"),
        ("/v1/memory/store", {"task_id": " ", "execution_summary": "x", "success": True}, "task_id is ' '"),
        ("/v1/memory/search", {"task_description": "x", "top_k": 0}, "top_k is 0"),
        ("/v1/memory/search", {"task_description": "x", "similarity_threshold": 7}, "similarity_threshold is 7"),
        ("/v1/memory/search", {"task_description": "x", "mode": "magic"}, "mode is 'magic'"),
        ("/v1/memory/tasks/context", {}, "Give a description"),
        ("/v1/memory/patterns/extract", {"task_type_pattern": "("}, "task_type_pattern is '('"),
        ("/v1/memory/patterns/extract", {"task_type_pattern": "x", "min_samples": 0}, "min_samples is 0"),
        ("/v1/memory/patterns/match", {"description": "x", "min_confidence": 2}, "min_confidence is 2"),
    ],
)
def test_what_is_wrong_is_named(client, path, body, says):
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
