"""scrubjay episodes: add, recent, timeline and recall; and the shape of contexts."""

import json

import pytest


@pytest.fixture
def episodes(run):
    """Run `scrubjay episodes …` in one session."""

    def command(*arguments, **options):
        return run("episodes", *arguments, "-u", "ada", "-s", "s-1", **options)

    return command


def test_what_is_added_is_in_the_timeline(episodes):
    first = episodes("add", "The build is red", "-k", "observation", "--author", "ci", "--at", "2026-03-01T12:00Z")
    assert first.out.split("\t")[:2] == ["stored", "0"]
    episodes("add", "why?", "--data", "lang=python")
    assert [line.split("\t")[1:] for line in episodes("timeline").out.splitlines()] == [
        ["ci", "The build is red"],
        ["user", "why?"],
    ]
    newest = episodes("timeline", "--order", "newest", "--limit", "1", "--json").json
    assert [(one["content"], one["data"]) for one in newest] == [("why?", {"lang": "python", "role": "user"})]
    assert episodes("timeline", "--until", "2026-03-02", "--json").json[0]["author"] == "ci"
    assert "nothing happened" in episodes("timeline", "-k", "plan").err


def test_a_negotiation_is_added_turn_by_turn(episodes):
    turns = ("--turn", "buyer: 100 EUR?", "--turn", "seller: 120 EUR")
    done = episodes("add", "--party", "buyer", "--party", "seller", *turns, "--outcome", "agreed at 110", "--json").json
    assert done[0]["memory"]["data"] == {
        "parties": ["buyer", "seller"],
        "turns": [{"by": "buyer", "said": "100 EUR?"}, {"by": "seller", "said": "120 EUR"}],
        "outcome": "agreed at 110",
    }
    assert "PARTY" in episodes("add", "--party", "a", "--party", "b", "--turn", "no colon", code=2).err


def test_many_come_through_a_pipe(episodes):
    lines = [{"content": f"turn {place}", "at": f"2026-03-01T12:0{place}:00Z"} for place in range(3)]
    given = "\n".join(json.dumps(line) for line in lines)
    assert len(episodes("add", "--lines", input=given).out.splitlines()) == 3
    found = episodes("timeline", "--json").json
    assert [(one["content"], one["position"]) for one in found] == [(f"turn {place}", place) for place in range(3)]
    assert found[1]["valid_from"].startswith("2026-03-01T12:01")
    assert "line 1" in episodes("add", "--lines", input='{"content": "x", "at": "soon"}', code=1).err
    assert "line 2" in episodes("add", "--lines", input='{"content": "x"}\nnonsense', code=1).err
    assert "leave out" in episodes("add", "x", "--lines", input="", code=2).err


def test_recent_keeps_to_its_budget(run, episodes):
    episodes("add", "The build is red", "-k", "observation")
    run("working", "append", "why?", "-u", "ada", "-s", "s-1")
    done = episodes("recent")
    assert [line.split("\t")[1:] for line in done.out.splitlines()] == [
        ["observation", "The build is red"],
        ["user", "why?"],
    ]
    assert "of 1,000 tokens" in done.err
    found = episodes("recent", "--budget", "5", "--json").json
    assert [(one["stored"], one["content"]) for one in found["episodes"]] == [(False, "why?")]
    assert found["tokens"] <= 5
    assert "--session" in run("episodes", "recent", "-u", "ada", code=2).err


def test_recall_shows_what_happened_around(episodes):
    for said in ("before it", "the zebra escaped", "after it"):
        episodes("add", said)
    [hit] = episodes("recall", "zebra", "--around", "1", "--limit", "1", "--json").json["hits"]
    assert hit["episode"]["content"] == "the zebra escaped"
    assert [one["content"] for one in (*hit["before"], *hit["after"])] == ["before it", "after it"]
    shown = episodes("recall", "zebra", "--around", "1", "--limit", "1").out.splitlines()
    assert [line.split("\t")[2] for line in shown] == ["before it", "the zebra escaped", "after it"]


def test_a_context_has_the_shape_that_is_kept_for_its_agent(run):
    run("remember", "Use tabs & spaces", "-k", "rule", "-u", "ada")
    run("remember", "The zebra escaped", "-u", "ada")
    done = run("shape", "--budget", "90", "--section", "facts", "--as", "xml", "-a", "writer")
    assert done.out == "A context has at most 90 tokens of facts, as xml.\n"
    context = run("context", "zebra", "-u", "ada", "-a", "writer", "--json").json
    assert (context["budget"], context["as"]) == (90, "xml")
    assert "<memory>Use tabs &amp; spaces</memory>" in context["text"]
    assert "zebra" not in context["text"]
    notes = run("context", "zebra", "-u", "ada", "-a", "writer", "--section", "notes", "--as", "markdown").out
    assert notes == "## Relevant memories\n- The zebra escaped\n"
    assert run("shape", "--budget", "7", "--json").json == {"budget": 7}
    assert "moods" in run("context", "x", "--section", "moods", code=1).err
