"""What people see and type on a terminal."""


def test_what_memories_say_does_not_steer_the_terminal(run, terminal):
    run("remember", "[bold red]alarm[/] \x1b[2J\x1b]0;title\x07 \x9b31m \u202etxt :smile:", "-u", "ada", "--key", "[k]")
    for command in (["list"], ["recall", "alarm"], ["recall", "alarm", "-x"], ["history", "--key", "[k]", "-u", "ada"]):
        shown = terminal(*command).out
        assert "[bold red]alarm[/]" in shown
        assert ":smile:" in shown
        assert "\x1b[2J" not in shown
        assert "\x1b]0;" not in shown
        assert "\x07" not in shown
        assert "\x9b" not in shown
        assert "\u202e" not in shown
        assert "␛[2J" in shown
    assert "\x1b[2J" not in terminal("context", "alarm", "-u", "ada").out


def test_recall_explains_with_bars(run, terminal):
    run("remember", "Ada prefers tabs", "-u", "ada")
    shown = terminal("recall", "tabs", "-u", "ada", "--explain").out
    assert "by words" in shown
    assert "█" in shown or "·" in shown
    assert "total" in shown


def test_history_is_a_timeline(run, terminal):
    run("remember", "14", "--key", "db")
    run("remember", "17", "--key", "db")
    shown = terminal("history", "--key", "db").out
    assert "○" in shown
    assert "●" in shown
    assert "replaced →" in shown


def test_purging_asks_first(run, terminal):
    run("remember", "one", "-u", "ada")
    shown = terminal("forget", "--everything", "-u", "ada", "--purge", typed="n\n", code=1).out
    assert "Purge everything in user=ada (1 memory), for good?" in shown
    assert len(run("list").rows) == 1
    terminal("forget", "--everything", "-u", "ada", "--purge", typed="y\n")
    assert run("list", "--all").rows == []


def test_colours_are_for_terminals_that_want_them(run, terminal, monkeypatch):
    run("remember", "one")
    assert "\x1b[" in terminal("list").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in terminal("list").out


def test_json_is_indented_for_people(run, terminal):
    run("remember", "one")
    assert terminal("list", "--json").out.startswith("[\n  {\n")


def test_remember_without_a_text_is_a_usage_error(terminal):
    assert "give a text" in terminal("remember", code=2).out


def test_every_table_can_be_shown(run, terminal, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    known = run("remember", "one", "--data", "a=1", "--key", "k").rows[0][0]
    assert "stored" in terminal("remember", "two").out
    for command in (
        ["get", known],
        ["stats"],
        ["config"],
        ["doctor"],
        ["reindex", "--rebuild"],
        ["migrate"],
        ["context", "x"],
    ):
        terminal(*command)
    assert "1 memory forgotten" in terminal("forget", known).out
