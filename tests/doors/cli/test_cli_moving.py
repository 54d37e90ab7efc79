"""export and import."""

import json

import pytest


@pytest.fixture
def told(run):
    run("remember", "14", "--key", "db", "-u", "ada")
    run("remember", "17", "--key", "db", "-u", "ada")
    run("remember", "other", "-u", "bob")


def test_there_and_back_is_exactly_the_same(run, told, tmp_path):
    file = tmp_path / "memories.ndjson"
    assert run("export", str(file)).rows == [["4", str(file)]]
    other = str(tmp_path / "other")
    assert run("import", str(file), "--home", other).rows == [["4", "0"]]
    assert run("import", str(file), "--home", other, "--json").json == {"new": 0, "known": 4}
    assert run("export", "--home", other).out == file.read_text()


def test_export_here_and_import_there_again_and_again(run, told, tmp_path):
    file, other = str(tmp_path / "memories.ndjson"), str(tmp_path / "other")
    run("export", file)
    run("import", file, "--home", other)
    run("remember", "18", "--key", "db", "-u", "ada")
    run("export", file)
    assert run("import", file, "--home", other).rows == [["2", "4"]]
    assert run("export", "--home", other).out == (tmp_path / "memories.ndjson").read_text()
    run("remember", "19", "--key", "db", "-u", "ada", "--home", other)
    run("remember", "20", "--key", "db", "-u", "ada")
    run("export", file)
    refused = run("import", file, "--home", other, code=1).err
    assert "key 'db' has two current values in user=ada" in refused
    assert "Forget" in refused
    assert "Nothing was imported" in refused
    assert run("import", file, "--home", other, "--mend").rows[0][0] != "0"
    assert [one["content"] for one in run("list", "-u", "ada", "--home", other, "--json").json] == ["20"]


def test_export_to_a_pipe_and_import_from_one(run, told, tmp_path):
    lines = run("export", "-u", "ada").out
    assert json.loads(lines.splitlines()[0])["format"] == "scrubjay-memories"
    assert run("import", "-", "--home", str(tmp_path / "other"), input=lines).rows == [["3", "0"]]


def test_an_export_needs_the_name_of_a_file(run, told):
    assert "file is empty: name one, or `-` for standard output" in run("export", "", code=1).err


def test_export_of_what_holds_now(run, told):
    assert len(run("export", "--current").out.splitlines()) == 3
    assert len(run("export", "--current", "-u", "bob").out.splitlines()) == 2


def test_an_export_is_whole_and_private(run, told, tmp_path):
    file = tmp_path / "memories.ndjson"
    file.write_text("what was there before")
    assert run("export", str(file), "--json").json == {"file": str(file), "memories": 4}
    assert file.stat().st_mode & 0o077 == 0
    assert not list(tmp_path.glob(".memories*"))


def test_an_export_that_fails_leaves_what_was_there(run, told, tmp_path):
    (tmp_path / "folder").mkdir()
    done = run("export", str(tmp_path / "folder"), code=1)
    assert done.err.startswith("error: ")
    assert not list(tmp_path.glob(".folder*"))
    assert "cannot be written" in run("export", str(tmp_path / "no" / "folder.ndjson"), code=1).err


@pytest.mark.parametrize("is_there", [True, False])
def test_an_export_to_a_link_goes_where_it_leads(run, told, tmp_path, is_there):
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real.ndjson", tmp_path / "link.ndjson"
    link.symlink_to(real)
    if is_there:
        real.write_text("what was there before")
    run("export", str(link))
    assert link.is_symlink()
    assert real.read_text() == run("export").out
    assert [path.name for path in real.parent.iterdir()] == ["real.ndjson"]


def test_an_export_to_a_link_that_leads_nowhere(run, told, tmp_path):
    link = tmp_path / "link.ndjson"
    link.symlink_to(link)
    assert "cannot be written" in run("export", str(link), code=1).err
    assert link.is_symlink()


def test_an_export_to_a_named_pipe_goes_through_it(run, told, through_a_pipe):
    assert through_a_pipe(lambda pipe: run("export", pipe)).decode() == run("export").out


def test_import_names_what_is_wrong(run, tmp_path):
    assert "cannot be read" in run("import", str(tmp_path / "nothing"), code=1).err
    assert "cannot be read" in run("import", str(tmp_path), code=1).err
    assert "empty" in run("import", "-", input="", code=1).err
    assert "header" in run("import", "-", input='{"a": 1}\n', code=1).err
    assert "UTF-8" in run("import", "-", input=b"\xff\xfe\n", code=1).err
    good = '{"format":"scrubjay-memories","version":1}\n'
    assert "line 2" in run("import", "-", input=good + '{"id": "x"}\n', code=1).err
