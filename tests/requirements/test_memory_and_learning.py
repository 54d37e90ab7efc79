"""Memory and learning: executions are stored with their outcome, similar ones are found, and patterns are learned.

Each test is a row of the original design, on the embedded profile, by public verbs and routes only.
"""

import random

import httpx
import pytest

import scrubjay
from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings


@pytest.fixture
def jay(tmp_path):
    with scrubjay.open(home=tmp_path / "home", embedder="static", background=False) as memory:
        yield memory


@pytest.fixture
async def client(tmp_path):
    app = application(read_settings(home=tmp_path / "home", embedder="static", background=False))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


def deployments(jay, many=40, *, project="shop"):
    """Deployments that succeed when the migration runs first."""
    return [
        jay.tasks.store_execution(
            f"deploy-{number}",
            "Rolled the service out",
            success=bool(number % 2),
            task_description=f"Deploy the {('billing', 'search', 'mail')[number % 3]} service",
            task_type="deployment",
            tools=["migrate", "restart"] if number % 2 else ["restart", "migrate"],
            auto_extract_patterns=number == many - 1,
            project=project,
        )
        for number in range(many)
    ]


async def test_an_execution_is_stored_over_http_with_nulls_for_what_is_not_known(client):
    told = {
        "task_id": "task-123",
        "execution_summary": "Replaced the session cookie",
        "success": True,
        "error_patterns": None,
        "auto_extract_patterns": True,
    }
    answer = await client.post("/api/v1/memory/store", json=told)
    assert answer.status_code == 201, answer.text
    assert answer.json()["memory"]["data"]["task_id"] == "task-123"
    assert answer.json()["patterns"] == []


def test_patterns_are_extracted_when_an_execution_is_stored(jay):
    *_, last = deployments(jay)
    assert last.patterns
    pattern = last.patterns[0]
    assert (pattern.pattern_id, pattern.confidence_score) == (pattern.id, pattern.confidence)
    assert jay.tasks.store_execution("x", "Did it", success=True).patterns is None
    with pytest.raises(scrubjay.InvalidInput, match="auto_extract_patterns is 'yes'"):
        jay.tasks.store_execution("y", "Did it", success=True, auto_extract_patterns="yes")


def test_similar_tasks_have_a_similarity_score(jay):
    deployments(jay)
    first, *_ = jay.tasks.search_similar("Deploy the mail service", project="shop")
    assert first.similarity_score == first.similarity > 0


def test_the_context_of_a_task_is_an_object_and_says_how_such_tasks_ended(jay):
    deployments(jay)
    context = jay.tasks.get_task_context(task_description="Deploy the mail service", top_k=2, project="shop")
    assert context["similar_tasks"] == context.similar_tasks
    assert len(context.similar_tasks) == 2
    advice = context.recommended_context
    assert f"{advice.succeeded} of {advice.similar} similar tasks succeeded" in advice.success_rate
    assert advice.similar >= 20
    assert any("migrate" in one for one in advice.do)
    assert advice.success_rate in context.text
    with pytest.raises(KeyError, match="similar_tasks"):
        context["similar_task"]


def test_too_few_similar_tasks_say_so(jay):
    jay.tasks.store_execution("one", "Restarted it", success=False, task_description="Restart the queue")
    context = jay.tasks.get_task_context("Restart the queue")
    assert context.recommended_context.success_rate == "0 of 1 similar tasks succeeded: too few to say."
    assert jay.tasks.get_task_context("Paint the fence").recommended_context.success_rate == "No similar task is known."


def test_the_context_of_a_known_task_leaves_the_task_itself_out(jay):
    deployments(jay)
    context = jay.tasks.get_task_context(task_id="deploy-7", project="shop")
    assert context.similar_tasks
    assert all(one.task_id != "deploy-7" for one in context.similar_tasks)


def test_a_pattern_of_successes_alone_says_why_it_has_no_indicators(jay):
    for number in range(6):
        jay.tasks.store_execution(f"t-{number}", "Went well", success=True, task_type="deploy")
    pattern = jay.patterns.extract_pattern("deploy")
    assert pattern.indicators == ()
    assert pattern.recommended_context.startswith("No indicators: all 6 succeeded")


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_are_recorded_for_failures_only_are_no_advice(jay, seed):
    chance = random.Random(seed)
    for number in range(60):
        success = chance.random() < 0.5
        errors = [] if success else [chance.choice(("Timeout", "KeyError: id", "disk full"))]
        jay.tasks.store_execution(
            f"t-{number}", "Tried it", success=success, error_patterns=errors, task_description="Deploy the shop"
        )
    jay.patterns.learn()
    context = jay.tasks.get_task_context("Deploy the shop", error_patterns=["Timeout"])
    assert context.recommendations == ()
    assert "Watch for" not in context.text
    assert not context.prediction.has_basis


def test_families_are_not_found_by_stop_words(jay):
    deployments(jay)
    assert all(rf"\b{word}\b" not in family.regex for family in jay.patterns.families() for word in ("the", "a", "out"))


async def test_every_name_of_the_design_is_in_the_answers(client):
    await client.post("/api/v1/memory/store", json={"task_id": "a", "execution_summary": "Did it", "success": True})
    [found] = (await client.post("/api/v1/memory/search", json={"task_description": "Did it", "top_k": 1})).json()
    assert {"task_id", "similarity_score", "success"} <= found.keys()
    asked = {"task_description": "Do it again", "top_k": None, "task_id": None}
    context = (await client.post("/api/v1/memory/tasks/context", json=asked)).json()
    assert {"similar_tasks", "matching_patterns", "recommended_context"} <= context.keys()
    assert context["recommended_context"]["success_rate"]
