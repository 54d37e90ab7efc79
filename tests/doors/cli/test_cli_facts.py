"""scrubjay facts: set, get, list, history, search, context, importance, delete, restore, purge, expire, conflicts."""

import json

import pytest


@pytest.fixture
def facts(run):
    return lambda *args, **options: run("facts", *args, **options)


def test_set_stores_replaces_and_refreshes(facts):
    [[first, outcome]] = facts("set", "pref:indent", "Prefers tabs", "-u", "ada", "-t", "user_preference").rows
    assert outcome == "stored"
    [[second, outcome]] = facts("set", "pref:indent", "Prefers spaces", "-u", "ada", "-t", "preference").rows
    assert outcome == "superseded"
    assert facts("set", "pref:indent", "Prefers spaces", "-u", "ada", "-t", "preference").rows == [
        [second, "refreshed"]
    ]
    assert facts("get", "pref:indent", "-u", "ada").out == "Prefers spaces\n"
    assert facts("get", first, "-u", "ada").out == "Prefers tabs\n"


def test_set_takes_every_detail(facts):
    done = facts(
        *("set", "fact:db", "PostgreSQL 18", "-p", "shop", "--level", "project", "--importance", "0.9", "--json"),
        *("--data", "port=5432", "--execution", "run-7", "--author", "eve", "--reason", "kickoff"),
        *("--expires", "2099-01-01T00:00Z", "--valid-from", "2026-01-01T00:00Z", "--valid-to", "2098-01-01T00:00Z"),
    ).json
    fact = done["fact"]
    assert (done["outcome"], done["conflicts"], done["replaced"]) == ("stored", [], None)
    assert (fact["type"], fact["level"], fact["kind"], fact["project"]) == ("PROJECT_FACT", "PROJECT", "fact", "shop")
    assert (fact["data"], fact["importance"], fact["source"]) == ({"port": 5432}, 0.9, "execution:run-7")
    assert (fact["valid_from"], fact["valid_to"]) == ("2026-01-01T00:00:00Z", "2098-01-01T00:00:00Z")


def test_set_reads_standard_input_and_refuses_to_replace(facts):
    facts("set", "rule:deploy", "-t", "rule", input="Never on Fridays\n")
    refused = facts("set", "rule:deploy", "Always", "-t", "rule", "--insert-only", "--json", code=1)
    assert json.loads(refused.err)["error"] == "Conflict"
    assert facts("get", "rule:deploy").out == "Never on Fridays\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-t", "opinion"], "type is 'opinion'"),
        (["--importance", "7"], "importance is 7.0: use a number from 0 to 1"),
        (["--level", "user"], "level is USER, but no user is named"),
        (["--valid-from", "2026-02-01", "--valid-to", "2026-01-01"], "valid_to is"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(facts, args, message):
    done = facts("set", "k", "value", *args, code=1)
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert facts("list", "--json").json == []


def test_get_looks_at_another_moment(facts):
    facts("set", "lead", "Ann leads", "-p", "shop", "--valid-from", "2026-01-01T00:00Z")
    facts("set", "lead", "Bob leads", "-p", "shop", "--valid-from", "2026-03-01T00:00Z")
    assert facts("get", "lead", "-p", "shop", "--valid-at", "2026-02-01T00:00Z").out == "Ann leads\n"
    assert facts("get", "lead", "-p", "shop", "--json").json["content"] == "Bob leads"
    assert "no fact 'lead'" in facts("get", "lead", "-p", "shop", "--known-at", "2026-01-01", code=1).err


def test_list_narrows(facts):
    facts("set", "pref:a", "One", "-u", "ada", "-t", "preference")
    facts("set", "fact:b", "Two", "-u", "ada", "--importance", "0.9")
    facts("set", "fact:b", "Three", "-u", "ada", "--importance", "0.9")
    assert [row[2] for row in facts("list", "-u", "ada").rows] == ["Three", "One"]
    assert [row[2] for row in facts("list", "-t", "user_preference").rows] == ["One"]
    assert [row[2] for row in facts("list", "--least-importance", "0.8").rows] == ["Three"]
    assert "Two" in {row[2] for row in facts("list", "--all").rows}
    assert "nothing here yet" in facts("list", "-u", "bob").err


def test_history_tells_why(facts):
    facts("set", "fact:db", "14", "-p", "shop", "--author", "ann", "--reason", "kickoff")
    facts("set", "fact:db", "18", "-p", "shop", "--author", "bob")
    rows = facts("history", "fact:db", "-p", "shop").rows
    assert rows[0][1:3] == ["14", "superseded"]
    assert rows[0][7:10] == ["ann", "kickoff", "replaced"]
    versions = facts("history", rows[0][0], "--json").json
    assert {one["content"] for one in versions} == {"14", "18"}


def test_search_and_context(facts):
    facts("set", "fact:db", "The database is PostgreSQL", "-p", "shop")
    facts("set", "rule:a", "Never deploy on Fridays", "-p", "shop", "-t", "rule")
    assert [row[3] for row in facts("search", "database", "-p", "shop").rows] == ["The database is PostgreSQL"]
    explained = facts("search", "database", "-p", "shop", "--explain", "--no-touch", "--json").json
    assert {"importance", "recency", "use"} <= set(explained["hits"][0]["signals"])
    written = facts("context", "-p", "shop")
    assert written.out == "## Rules\n- Never deploy on Fridays\n\n## Facts\n- The database is PostgreSQL\n"
    document = facts("context", "which database?", "-p", "shop", "--budget", "12", "--json").json
    assert document["tokens"] <= 12
    assert len(document["categories"]) == 9
    assert facts("context", "-t", "rule", "-p", "shop").out.count("\n- ") == 1


def test_importance_is_set_and_changed(facts):
    facts("set", "k", "value")
    assert facts("importance", "k", "0.9").rows[0][1] == "0.9"
    changed = facts("importance", "k", "--by", "0.5").rows[0]
    assert changed[1] == "1"
    assert "kept within 0 and 1" in changed[2]
    assert facts("importance", "k", "--by", "-0.25", "--json").json["fact"]["importance"] == 0.75
    assert "just one of them" in facts("importance", "k", code=1).err


def test_delete_restore_and_purge(facts):
    facts("set", "k", "value", "-u", "ada")
    facts("delete", "k", "-u", "ada", "--reason", "wrong")
    facts("get", "k", "-u", "ada", code=1)
    assert facts("restore", "k", "-u", "ada").rows[0][2] == "value"
    assert facts("get", "k", "-u", "ada").out == "value\n"
    known = facts("list", "-u", "ada").rows[0][0]
    assert facts("delete", known, "--json").json["ids"] == [known]
    assert "restored" in facts("restore", known, "--reason", "right", "--json").json[0]["reason"]
    assert "Nobody can answer here" in facts("purge", "k", "-u", "ada", code=1).err
    assert set(facts("purge", "k", "-u", "ada", "--yes", "--json").json["remaining"].values()) == {0}
    assert facts("list", "--all", "--json").json == []


def test_expire(facts):
    facts("set", "k", "value", "--expires", "2026-01-01T00:00Z")
    facts("set", "l", "other", "--expires", "30d")
    assert facts("expire").rows == [["1"]]
    assert facts("expire", "--purge", "--json").json["ids"] == []


def test_conflicts_are_shown_and_resolved(facts):
    facts("set", "-", "The office is in Berlin", "-p", "shop")
    told = facts("set", "-", "The office is in Munich", "-p", "shop")
    assert "contradiction with 'The office is in Berlin'" in told.err
    [[conflict, relation, one, _, other, content]] = facts("conflicts", "-p", "shop").rows
    assert (relation, other, content) == ("contradiction", told.rows[0][0], "The office is in Munich")
    assert facts("conflicts", "--json").json[0]["one"]["id"] == one
    assert facts("resolve", conflict, "--keep", other, "--reason", "they moved").rows[0][0] == other
    assert "no open conflicts" in facts("conflicts").err
    facts("set", "-", "The office is in Hamburg", "-p", "shop")
    [[conflict, *_]] = facts("conflicts").rows
    assert len(facts("resolve", conflict, "--keep", "both", "--json").json) == 2


def test_on_a_terminal_it_is_laid_out(facts, terminal):
    facts("set", "pref:indent", "Prefers tabs", "-u", "ada", "-t", "preference", "--author", "eve")
    facts("set", "-", "The office is in Berlin")
    facts("set", "-", "The office is in Munich")
    listed = terminal("facts", "list").out
    assert "importance" in listed
    assert "USER_PREFERENCE" in listed
    assert "by eve" in terminal("facts", "history", "pref:indent", "-u", "ada").out
    assert "contradiction" in terminal("facts", "conflicts").out
    assert "state" in terminal("facts", "get", "pref:indent", "-u", "ada").out
