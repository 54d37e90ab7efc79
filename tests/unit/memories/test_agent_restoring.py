"""Restoring hostile snapshots: whatever their paths say and whatever lies in the folder, nothing outside is touched."""

import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.errors import Conflict, InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.memories.agents.snapshots_restoring import ABANDONED_SECONDS, STAGED, Placing, check_distinct
from scrubjay.memories.agents.snapshots_taking import look
from scrubjay.model.agent_files import WorkspaceFile

CONTENT = b"restored"

NAMES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "A",
        "b",
        "link",
        "Link",
        "file-link",
        "deep",
        "dangling",
        "~",
        "C:",
        "a\\b",
        "..\\x",
        "é",
        "e\u0301",
    ]
) | st.text(max_size=8)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join) | st.sampled_from(
    [
        "/etc/passwd",
        "//x",
        "../../outside/victim",
        "link/victim",
        "a/../../outside/victim",
        "\x00",
        "a/" * 200 + "b",
        "a/" + "x" * 256,
    ]
)


def a_file(path, content=CONTENT, **fields):
    """A file as a record that somebody tampered with would have it: its path is not checked."""
    file = WorkspaceFile(path="fine", hash=sha256(content).hexdigest(), size=len(content), **fields)
    object.__setattr__(file, "path", path)
    return file


def a_link(path, target):
    return WorkspaceFile(path=path, hash=sha256(target.encode()).hexdigest(), size=len(target), link=target)


def restore(target, files, content=CONTENT):
    placing = Placing(target, files)
    try:
        placing.begin()
        for file in files:
            if file.link is None:
                placing.stage(file, content)
        return placing.place()
    finally:
        placing.end()


def tree(root):
    """All that is there, links as what they say."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            place = Path(folder, name)
            found[place.relative_to(root).as_posix()] = (
                place.readlink() if place.is_symlink() else place.read_bytes() if place.is_file() else None
            )
    return found


@settings(max_examples=150, deadline=None)
@given(paths=st.lists(PATHS, min_size=1, max_size=4), there=st.booleans())
def test_nothing_outside_of_the_folder_is_ever_touched(paths, there):
    with tempfile.TemporaryDirectory() as home:
        root = Path(home)
        (root / "outside").mkdir()
        (root / "outside" / "victim").write_text("untouched")
        target = root / "inside" / "target"
        (root / "inside").mkdir()
        if there:
            (target / "deep" / "a").mkdir(parents=True)
            (target / "link").symlink_to(root / "outside")
            (target / "file-link").symlink_to(root / "outside" / "victim")
            (target / "dangling").symlink_to(root / "outside" / "new")
            (target / "b").write_text("before")
        before = tree(root)
        files = [a_file(path) for path in paths]
        try:
            written, unchanged = restore(target, files)
        except (InvalidInput, Conflict, StoreUnavailable):
            assert tree(root) == before, "refused before the first byte was put in place"
            return
        assert (written, unchanged) == (len(files), 0)
        after = tree(root)
        assert {path: after[path] for path in before if not path.startswith("inside")} == {
            path: content for path, content in before.items() if not path.startswith("inside")
        }
        placed = {path for path, content in after.items() if content == CONTENT}
        assert placed == {f"inside/target/{path}" for path in paths}
        assert not any(STAGED in path for path in after)


@pytest.mark.parametrize(
    ("path", "error"),
    [("link/victim", "link is a link"), ("file-link", "file-link is a link"), ("folder", "folder is a folder")],
)
def test_links_and_folders_in_the_way_are_refused(tmp_path, path, error):
    outside, target = tmp_path / "outside", tmp_path / "target"
    (target / "folder").mkdir(parents=True)
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    (target / "link").symlink_to(outside)
    (target / "file-link").symlink_to(outside / "victim")
    with pytest.raises(Conflict, match=error):
        restore(target, [a_file("good"), a_file(path)])
    assert (outside / "victim").read_text() == "untouched"
    assert not (target / "good").exists(), "looked at before the first file was put in place"


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a//b", ".", "a\\b", "C:/x", "", "x" * 256])
def test_paths_that_lead_out_are_refused(tmp_path, path):
    with pytest.raises(InvalidInput, match="path"):
        restore(tmp_path / "target", [a_file("good"), a_file(path)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "target", "leads_out"),
    [
        ("link", "a.txt", False),
        ("link", "./deep//a.txt", False),
        ("link", ".", False),
        ("link", "not/there", False),
        ("deep/a/link", "../../b", False),
        ("link", "..", True),
        ("link", "../target/a.txt", True),
        ("deep/link", "../../outside", True),
        ("link", "/etc/passwd", True),
        ("link", "deep/../a.txt", True),
        ("link", "..\\x", True),
    ],
)
def test_a_link_is_made_when_it_points_into_the_folder_whatever_lies_there(tmp_path, path, target, leads_out):
    link = a_link(path, target)
    assert link.leads_out is leads_out
    assert restore(tmp_path / "target", [link]) == (int(not leads_out), 0)
    made = {path: str(content) for path, content in tree(tmp_path).items() if content is not None}
    assert made == ({} if leads_out else {f"target/{path}": str(Path(target))})


@settings(max_examples=100, deadline=None)
@given(
    links=st.dictionaries(
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map("/".join),
        st.lists(st.sampled_from(["..", ".", "", "a", "b", "c", "d"]), min_size=1, max_size=5).map("/".join),
        min_size=1,
        max_size=6,
    )
)
def test_no_way_through_the_links_that_are_made_leads_out(links):
    links = {path: to for path, to in links.items() if to and not any(f"{path}/" in other for other in links)}
    with tempfile.TemporaryDirectory() as home:
        target = Path(home).resolve() / "target"
        restore(target, [a_link(path, to) for path, to in sorted(links.items())])
        for path, content in tree(target).items():
            if isinstance(content, Path):
                with suppress(OSError, RuntimeError):  # It leads nowhere, or in a circle.
                    reached = (target / path).resolve(strict=True)
                    assert reached == target or target in reached.parents


def test_what_a_link_takes_the_place_of(tmp_path):
    target = tmp_path / "target"
    (target / "folder").mkdir(parents=True)
    (target / "file").write_text("x")
    (target / "link").symlink_to("elsewhere")
    assert restore(target, [a_link("file", "new"), a_link("link", "new")]) == (2, 0)
    assert restore(target, [a_link("file", "new"), a_link("link", "new")]) == (0, 2)
    with pytest.raises(Conflict, match="folder is a folder"):
        restore(target, [a_link("folder", "new")])
    with pytest.raises(Conflict, match="link is a link"):
        restore(target, [a_file("link")])


def test_a_link_that_comes_between_looking_and_placing_is_not_followed(tmp_path):
    outside, target = tmp_path / "outside", tmp_path / "target"
    outside.mkdir()
    target.mkdir()
    placing = Placing(target, [a_file("late/victim")])
    placing.begin()
    placing.stage(a_file("late/victim"), CONTENT)
    (target / "late").symlink_to(outside)
    with pytest.raises(Conflict, match="late is a link"):
        placing.place()
    placing.end()
    assert list(outside.iterdir()) == []


def test_a_content_that_is_not_what_was_taken_is_refused(tmp_path):
    target = tmp_path / "target"
    placing = Placing(target, [a_file("a.txt"), a_file("b.txt")])
    placing.begin()
    placing.stage(a_file("a.txt"), CONTENT)
    with pytest.raises(StoreDamaged, match=r"b\.txt is not what the snapshot took"):
        placing.stage(a_file("b.txt"), b"tampered")
    placing.end()
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_one_on_some_disks(tmp_path):
    check_distinct(["README", "readme", "src/a", "SRC/b"], folds=False)
    for paths in (["README", "readme"], ["a/é", "a/e\u0301"], ["src", "SRC/b"], ["straße/x", "STRASSE/X"]):
        with pytest.raises(InvalidInput, match=r"one file there|the folder of"):
            check_distinct(paths, folds=True)
    for paths in (["a", "a"], ["a", "a/b"], ["a/b/c", "a"]):
        with pytest.raises(InvalidInput):
            check_distinct(paths, folds=False)


def test_a_folder_that_somebody_else_made_meanwhile_is_left_alone(tmp_path):
    target = tmp_path / "target"
    placing = Placing(target, [a_file("a")])
    placing.begin()
    placing.stage(a_file("a"), CONTENT)
    target.mkdir()
    (target / "theirs").write_text("theirs")
    with pytest.raises(Conflict, match="somebody else"):
        placing.place()
    placing.end()
    assert tree(tmp_path) == {"target": None, "target/theirs": b"theirs"}


def test_what_a_killed_restore_left_behind_goes(tmp_path):
    old, new = tmp_path / f"{STAGED}old", tmp_path / f"{STAGED}new"
    for one in (old, new):
        one.mkdir()
        (one / "x").write_text("x")
    long_ago = old.stat().st_mtime - ABANDONED_SECONDS - 10
    os.utime(old, (long_ago, long_ago))
    restore(tmp_path, [a_file("a")])
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "a"], "another one may be at work"
    assert [file.path for file in look(tmp_path)] == ["a"]


def test_what_was_to_become_a_folder_goes_with_the_next_one(tmp_path):
    old, new = tmp_path / f"{STAGED}1-site", tmp_path / f"{STAGED}2-site"
    for one in (old, new):
        (one / "pages").mkdir(parents=True)
    long_ago = old.stat().st_mtime - ABANDONED_SECONDS - 10
    os.utime(old, (long_ago, long_ago))
    restore(tmp_path / "site", [a_file("a")])
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "site"], "another one may be at work"


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        restore("/proc/nothing/here", [a_file("a")])
    (tmp_path / "file").write_text("x")
    for wrong in ("", 7, tmp_path / "file"):
        with pytest.raises(InvalidInput, match="to is"):
            Placing(wrong, [])


@settings(max_examples=40, deadline=None)
@given(
    files=st.dictionaries(
        st.lists(st.text("abé x.-", min_size=1, max_size=6), min_size=1, max_size=3)
        .map("/".join)
        .filter(lambda path: not any(part in (".", "..") for part in path.split("/"))),
        st.binary(max_size=200),
        max_size=6,
    )
)
def test_what_is_taken_and_put_back_is_the_same(files):
    files = {path: content for path, content in files.items() if not any(f"{path}/" in other for other in files)}
    with tempfile.TemporaryDirectory() as home:
        source, target = Path(home, "source"), Path(home, "target")
        source.mkdir()
        kept = {}
        for path, content in files.items():
            try:
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                (source / path).write_bytes(content)
                kept[path] = content
            except OSError:
                continue
        found = look(source, ())
        placing = Placing(target, [_file(one) for one in found])
        placing.begin()
        for one in found:
            placing.stage(_file(one), kept[one.path])
        placing.place()
        placing.end()
        assert {path: what for path, what in tree(target).items() if what is not None} == kept


def _file(found):
    return WorkspaceFile(path=found.path, hash=found.hash, size=found.size, executable=found.executable)
