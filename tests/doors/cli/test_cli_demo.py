"""The demo shows what is so, touches nothing but its own store, and is over soon."""


def test_the_demo_tells_its_story(process, home, monkeypatch):
    monkeypatch.delenv("SCRUBJAY_EMBEDDER")
    monkeypatch.setenv("SCRUBJAY_RECORDS", "postgresql://nobody@127.0.0.1:1/nothing")
    monkeypatch.setenv("SCRUBJAY_REDACT", "false")
    monkeypatch.setenv("COLUMNS", "100")
    shown = process("demo", "--fast").out
    assert not home.exists(), "nothing but its own store"
    after_recall = shown.partition("2  Recall")[2]
    assert "Refunds above 500 EUR" in after_recall.splitlines()[3], "the best answer comes first"
    change = shown.partition("3  Change")[2].partition("4  Prepare")[0]
    assert change.index("# superseded") < change.rindex("PostgreSQL 17") < change.rindex("PostgreSQL 14")
    assert "of 60 tokens" in shown
    talk = shown.partition("5  Consolidate")[2].partition("6  Keep apart")[0]
    before, _, after = talk.partition("before consolidation")
    assert "- Prefers tabs over spaces" in before
    assert "## Instructions" not in before
    assert "distill: 1 summary, 2 facts" in after
    assert "## Instructions and rules" in after
    assert "- From now on always run the linter before a release" in after
    assert "- I prefer short answers, with the command first" in after
    assert "We decided to release the new checkout behind a flag." in after
    apart = shown.partition("6  Keep apart")[2].partition("7  Redact")[0]
    assert "Two spaces, never tabs" in apart
    assert "Prefers tabs" not in apart
    assert "[redacted:aws-access-key]" in shown
    assert "records 0, vectors 0" in shown


def test_the_recorded_picture_is_the_demo(pytestconfig):
    picture = (pytestconfig.rootpath / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")
    plain = picture.replace("&#160;", " ")
    for act in ("Remember", "Recall", "Change", "Prepare", "Consolidate", "Keep apart", "Redact", "Forget"):
        assert act in plain
    assert "http" not in plain.partition("<style>")[2], "it asks no server for anything"
