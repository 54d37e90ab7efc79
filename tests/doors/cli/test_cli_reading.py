"""recall, context, get, list and history."""

import pytest


@pytest.fixture
def told(run):
    """A handful of memories of two users and a project."""
    run("remember", "Ada prefers tabs over spaces", "-u", "ada", "-k", "preference", "--key", "pref:indent")
    run("remember", "Bob prefers two spaces", "-u", "bob", "-k", "preference", "--key", "pref:indent")
    run("remember", "The shop runs on PostgreSQL", "-p", "shop", "-k", "fact", "--data", "port=5432")
    run("remember", "The shop is written in Python", "-p", "shop", "-k", "fact", "--data", "lang=python")
    run("remember", "Deploy on Fridays, never on Mondays", "-p", "shop", "-k", "rule", "--importance", "0.9")


def contents(done):
    return {row[3] for row in done.rows}


def test_recall_gives_score_id_kind_content_and_reason(run, told):
    [[score, known, kind, content, why]] = run("recall", "tabs", "-u", "ada").rows
    assert 0 < float(score) < 1
    assert (kind, content) == ("preference", "Ada prefers tabs over spaces")
    assert "tabs" in why
    assert run("get", known, "--json").json["user"] == "ada"


def test_recall_keeps_users_apart(run, told):
    assert contents(run("recall", "prefers spaces", "-u", "bob")) == {"Bob prefers two spaces"}


def test_an_empty_answer_is_no_failure(run, told):
    done = run("recall", "zebra")
    assert done.out == ""
    assert done.err.startswith("nothing found")
    assert run("recall", "zebra", "--json").json["hits"] == []


def test_recall_narrows(run, told):
    assert len(run("recall", "", "-p", "shop", "-k", "fact").rows) == 2
    assert len(run("recall", "", "-p", "shop", "-k", "fact", "-k", "rule").rows) == 3
    assert contents(run("recall", "", "--data", "lang=python")) == {"The shop is written in Python"}
    assert contents(run("recall", "", "--data", '{"port": {"gte": 5000}}')) == {"The shop runs on PostgreSQL"}
    assert len(run("recall", "", "--key-prefix", "pref:").rows) == 2
    assert contents(run("recall", "", "--least-importance", "0.8")) == {"Deploy on Fridays, never on Mondays"}
    assert len(run("recall", "", "--limit", "2").rows) == 2


def test_recall_in_time(run):
    for text, since in (("Production runs PostgreSQL 14", "400d"), ("Production runs PostgreSQL 17", "20d")):
        run("remember", text, "--key", "db", "--valid-from", since)
    assert contents(run("recall", "production")) == {"Production runs PostgreSQL 17"}
    assert contents(run("recall", "production", "--valid-at", "100d")) == {"Production runs PostgreSQL 14"}
    assert contents(run("recall", "production", "--since", "30d")) == {"Production runs PostgreSQL 17"}
    assert contents(run("recall", "production", "--until", "30d")) == set()
    assert contents(run("recall", "production", "--as-of", "1h")) == set(), "an hour ago we knew nothing"


def test_as_of_stands_alone(run):
    assert "--known-at" in run("recall", "x", "--as-of", "1d", "--valid-at", "2d", code=2).err


def test_an_explanation_that_a_pipe_cannot_show_is_said_to_be_in_the_json(run, told):
    assert "--json" in run("recall", "tabs", "-u", "ada", "--explain").err
    assert "--json" not in run("recall", "tabs", "-u", "ada").err


def test_recall_explains_as_json(run, told):
    [hit, *_] = run("recall", "tabs", "-u", "ada", "--explain", "--json").json["hits"]
    assert {"words", "relevance", "recency", "total"} <= hit["signals"].keys()
    assert "signals" not in run("recall", "tabs", "-u", "ada", "--json").json["hits"][0]


def test_by_meaning_with_static_vectors(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    run("remember", "The car is in the garage", "-u", "ada")
    run("remember", "Soup is best with fresh bread", "-u", "ada")
    done = run("recall", "where is my vehicle?", "-u", "ada", "--mode", "meaning", "--json").json
    assert done["hits"][0]["memory"]["content"] == "The car is in the garage"
    assert done["hits"][0]["similarity"] > done["hits"][1]["similarity"]
    least = str(done["hits"][0]["similarity"] - 0.01)
    assert len(run("recall", "where is my vehicle?", "--mode", "meaning", "--least-similarity", least).rows) == 1


def test_what_nothing_is_about_is_said(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    run("remember", "The car is in the garage")
    known, unknown = run("recall", "is the car in the garage?"), run("recall", "who won the election?")
    assert contents(known) == contents(unknown) == {"The car is in the garage"}
    assert (known.err, unknown.err.startswith("nothing here seems to be about this")) == ("", True)
    assert run("recall", "is the car in the garage?", "--json").json["confidence"] > 0.9
    assert run("recall", "who won the election?", "--json").json["confidence"] < 0.1
    assert run("recall", "car", "--mode", "words", "--json").json["confidence"] is None


@pytest.mark.parametrize("option", ["--since=tomorrow", "--limit=0", "--mode=magic", "--data=novalue", "--since=9e9d"])
def test_wrong_options_are_usage_errors(run, option):
    run("recall", "x", option, code=2)


def test_context_fits_its_budget_and_counts_on_the_side(run, told):
    done = run("context", "set up the formatter", "-u", "ada", "-p", "shop", "--budget", "60")
    assert "- Ada prefers tabs over spaces" in done.out
    assert "Bob" not in done.out
    assert "of 60 tokens" in done.err
    manifest = run("context", "set up the formatter", "-u", "ada", "--budget", "60", "--json").json
    assert manifest["tokens"] <= manifest["budget"] == 60
    assert manifest["items"][0]["why"] == "always holds"
    assert " of 15 tokens, 1 memory, 1 left out" in run("context", "tabs", "-u", "ada", "--budget", "15").err


def test_get_shows_all_and_the_content_last(run):
    known = run("remember", "two\nlines", "--data", "n=3", "--key", "k").rows[0][0]
    out = run("get", known).out
    assert 'data\t{"n": 3}' in out
    assert out.endswith("\n\ntwo\nlines\n")


def test_list_is_newest_first_and_goes_on(run, told):
    first = run("list", "-n", "2").rows
    rest = run("list", "--after", first[-1][0]).rows
    assert [row[3] for row in (*first, *rest)][::-1] == [row[3] for row in run("list", "--order", "oldest").rows]
    assert len(first) == 2
    assert len(rest) == 3


def test_list_all_has_what_is_past(run):
    known = run("remember", "gone").rows[0][0]
    run("forget", known)
    assert run("list").rows == []
    assert [row[4] for row in run("list", "--all").rows] == ["forgotten"]
    assert run("list", "--all", "--json").json[0]["id"] == known


def test_history_by_key_tells_why(run):
    run("remember", "14", "--key", "db", "-p", "shop")
    run("remember", "17", "--key", "db", "-p", "shop")
    rows = run("history", "--key", "db", "-p", "shop").rows
    assert [rows[0][2], rows[0][1], rows[0][3]] == ["14", "superseded", "replaced"]
    assert "17" in {row[2] for row in rows if row[1] == "current"}
    assert run("history", "--key", "db", "-p", "shop", "--json").json[0]["closed_because"] == "replaced"


def test_history_needs_to_know_of_what(run):
    assert "Give an id or a key" in run("history", code=1).err


def test_a_pipe_gets_one_line_for_each(run):
    run("remember", "one\twith a tab\nand a line [bold]and markup[/bold]")
    assert run("list").rows[0][3] == "one with a tab and a line [bold]and markup[/bold]"


def test_tenants_are_apart(run):
    run("remember", "for acme", "--tenant", "acme")
    assert run("list").rows == []
    assert len(run("list", "--tenant", "acme").rows) == 1


def test_another_home(run, tmp_path):
    run("remember", "elsewhere", "--home", str(tmp_path / "other"))
    assert run("list").rows == []
    assert len(run("list", "--home", str(tmp_path / "other")).rows) == 1
