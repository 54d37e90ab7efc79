"""The rows of the original design of a persistence schema, in its words: what an agent did stays on record."""

import pytest

import scrubjay
from scrubjay import NotFound


@pytest.fixture
def folder(tmp_path):
    """Three hundred files in six folders."""
    folder = tmp_path / "work"
    for number in range(300):
        place = folder / f"package{number % 6}" / f"module_{number:03}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {number}\nprint({number})\n" * 5)
    return folder


def contents_of(folder):
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_an_unchanged_snapshot_of_300_files_takes_less_than_1_kb(tmp_path, folder):
    home, many = tmp_path / "home", 60

    def grown_by(change):
        before = size_of(home)
        with scrubjay.open(home, background=False) as memory:
            for number in range(many):
                change(number)
                memory.agents.snapshot("builder", folder)
        return (size_of(home) - before) / many

    with scrubjay.open(home, background=False) as memory:
        memory.agents.create("builder")
        memory.agents.snapshot("builder", folder)
    assert grown_by(lambda number: None) <= 1_000, "none of the files is another one"
    one = folder / "package1" / "module_001.py"
    assert grown_by(lambda number: one.write_text(f"# changed {number}\n")) <= 8_000, "one is"
    with scrubjay.open(home, background=False) as memory:
        assert [len(taken.files) for taken in memory.agents.snapshots("builder")] == [300] * 100
        assert memory.agents.files("builder")[50].version == many + 1


def size_of(home):
    """Bytes that a closed memory takes."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def test_a_snapshot_outlives_those_before_it(memory, folder, tmp_path):
    memory.agents.create("builder")
    first = memory.agents.snapshot("builder", folder)
    same = memory.agents.snapshot("builder", folder)
    (folder / "package0" / "module_000.py").write_text("changed")
    (folder / "package0" / "module_006.py").unlink()
    last = memory.agents.snapshot("builder", folder)
    for gone in (first, same):
        memory.forget(gone.id, purge=True)
    assert [one.number for one in memory.agents.snapshots("builder")] == [3]
    memory.agents.restore("builder", tmp_path / "again")
    assert contents_of(tmp_path / "again") == contents_of(folder)
    assert memory.agents.files("builder") == last.files
    assert memory.check() == []


def test_a_fork_keeps_the_files_of_an_agent_that_is_deleted(opened, folder, tmp_path):
    with opened() as memory:
        memory.agents.create("builder")
        memory.agents.snapshot("builder", folder)
        fork = memory.agents.fork("builder", "twin")
        memory.agents.snapshot(fork, folder)
        memory.forget(everything=True, purge=True, agent="builder")
        with pytest.raises(NotFound):
            memory.agents.files("builder")
    with opened() as memory:
        memory.agents.restore("twin", tmp_path / "again")
    assert contents_of(tmp_path / "again") == contents_of(folder)


def test_a_symbolic_link_is_kept_as_a_link(memory, tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    (folder / "src").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("of somebody else")
    (folder / "src" / "main.py").write_text("print(1)\n")
    links = {"latest.py": "src/main.py", "src/up.py": "../latest.py", "nothing": "not/there", "leads": "src"}
    for path, target in links.items():
        (folder / path).symlink_to(target)
    (folder / "away").symlink_to(outside)
    memory.agents.create("builder")
    taken = memory.agents.snapshot("builder", folder)
    assert {file.path: file.link for file in taken if file.link} == links | {"away": str(outside)}
    done = memory.agents.restore("builder", tmp_path / "again")
    assert [file.path for file in done.left_out] == ["away"]
    assert contents_of(tmp_path / "again") == {"src/main.py": "print(1)\n", **links}
    assert "of somebody else" not in str(list(memory.export()))
