"""Agents over HTTP: an agent that is stopped goes on where it stopped, in another process and another language."""

import json

import pytest


@pytest.fixture
def tell(client, user):
    def say(method: str, path: str, /, **told):
        where = {"json": {"user": user, **told}} if method != "GET" else {"params": {"user": user, **told}}
        answer = client.request(method, f"/v1/agents{path}", **where)
        assert answer.is_success, answer.text
        return answer.json()

    return say


@pytest.fixture
def agent(tell):
    return tell("POST", "", agent="deployer", directives="Deploy what is merged", configuration={"model": "small"})


def test_an_agent_is_created_changed_and_listed(client, user, tell, agent):
    assert (agent["name"], agent["version"], agent["status"]) == ("deployer", 1, "active")
    assert agent["scope"] == {"user": user, "agent": "deployer"}
    assert (
        tell("POST", "", agent="deployer", directives="Deploy what is merged", configuration={"model": "small"})
        == agent
    )
    changed = tell("PATCH", "/deployer", directives="Deploy on Mondays", expected=1)
    assert (changed["version"], changed["configuration"]) == (2, {"model": "small"})
    late = client.patch("/v1/agents/deployer", json={"user": user, "directives": "Deploy now", "expected": 1})
    assert late.status_code == 409
    assert [one["name"] for one in tell("GET", "")["agents"]] == ["deployer"]
    assert tell("POST", "/deployer/archive")["status"] == "archived"
    assert tell("GET", "") == {"agents": [], "next": None}
    assert tell("GET", "", archived=True)["agents"][0]["status"] == "archived"
    assert client.get("/v1/agents/deployer", params={"user": "somebody-else"}).status_code == 404


def test_it_goes_on_exactly_where_it_stopped(client, user, tell, agent):
    assert tell("GET", "/deployer/resume")["next_index"] == 1
    assert tell("POST", "/deployer/cycles", goal="Release 7")["index"] == 1
    twice = client.post("/v1/agents/deployer/cycles", json={"user": user})
    assert twice.status_code == 409
    tell("POST", "/deployer/proposals", tool="migrate", arguments={"to": 7}, reasoning="the schema first")
    stopped = tell("GET", "/deployer/resume")
    assert stopped["proposal"]["tool"] == "migrate"
    assert [one["step"] for one in stopped["waiting"]] == [1]
    assert tell("POST", "/deployer/results", outcome="succeeded", output={"seconds": 3})["step"] == 1
    ended = tell("POST", "/deployer/cycles/end", state={"release": 7}, summary="Done")
    assert (ended["status"], ended["state"]) == ("completed", {"release": 7})
    [step] = tell("GET", "/deployer/cycles/1/steps")
    assert (step["proposal"]["tool"], step["result"]["output"]) == ("migrate", {"seconds": 3})
    assert tell("GET", "/deployer/resume")["state"] == {"release": 7}


def test_cycles_are_paged_compared_replayed_and_forked(client, user, tell, agent):
    for number in range(3):
        tell("POST", "/deployer/cycles", goal=f"Release {number}")
        tell("POST", "/deployer/records", kind="reflection", content=f"Mondays are calm, {number}", namespaces=["long"])
        tell("POST", "/deployer/cycles/end", state={"release": number})
    first = tell("GET", "/deployer/cycles", limit=2, order="oldest")
    assert ([one["index"] for one in first["cycles"]], first["next"]) == ([1, 2], 2)
    assert [one["index"] for one in tell("GET", "/deployer/cycles", after=2, order="oldest")["cycles"]] == [3]
    [change] = tell("GET", "/deployer/cycles/diff", before=1, after=3)["state"]
    assert (change["path"], change["before"], change["after"]) == ("release", 0, 2)
    lines = client.get("/v1/agents/deployer/replay", params={"user": user}).text.splitlines()
    happened = [json.loads(line) for line in lines]
    assert [one["what"] for one in happened][:4] == ["created", "began", "recorded", "ended"]
    assert happened[2]["value"]["content"] == "Mondays are calm, 0"
    recalled = tell("POST", "/deployer/recall", query="when is it calm?", namespaces=["long"], budget=200)
    assert "Mondays are calm" in recalled["text"]
    forked = tell("POST", "/deployer/forks", to="careful", at=1)
    assert forked["name"] == "careful"
    assert [one["index"] for one in tell("GET", "/careful/cycles")["cycles"]] == [1]


def test_files_are_kept_and_put_back(tell, agent, tmp_path):
    folder, other = tmp_path / "work", tmp_path / "other"
    folder.mkdir()
    (folder / "plan.md").write_text("first")
    assert tell("GET", "/deployer/files") == []
    assert tell("POST", "/deployer/snapshots", path=str(folder))["number"] == 1
    (folder / "plan.md").write_text("second")
    tell("POST", "/deployer/snapshots", path=str(folder))
    assert [one["number"] for one in tell("GET", "/deployer/snapshots")] == [2, 1]
    assert [one["path"] for one in tell("GET", "/deployer/files")] == ["plan.md"]
    [[before, after]] = tell("GET", "/deployer/changes", before=1, after=2)["changed"]
    assert before["hash"] != after["hash"]
    assert tell("POST", "/deployer/restore", to=str(other), snapshot=1)["written"] == 1
    assert (other / "plan.md").read_text() == "first"


@pytest.mark.parametrize(
    ("method", "path", "told", "status", "says"),
    [
        ("POST", "", {"agent": " "}, 400, "agent is ' '"),
        ("POST", "/nobody/cycles", {}, 404, "there is no agent 'nobody'"),
        ("GET", "/nobody/replay", None, 404, "there is no agent 'nobody'"),
        ("PATCH", "/nobody", {}, 400, "update got nothing"),
        ("POST", "/nobody/proposals", {}, 400, "tool is missing"),
        ("GET", "/nobody/cycles/zero/steps", None, 400, "cycle is 'zero'"),
    ],
)
def test_what_is_wrong_is_named(client, method, path, told, status, says):
    answer = client.request(method, f"/v1/agents{path}", json=told)
    assert answer.status_code == status
    assert says in answer.json()["detail"]
