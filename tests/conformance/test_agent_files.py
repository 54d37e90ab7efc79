"""The files of agents on every kind of store: taken once, put back exactly, and gone with their agent."""

import asyncio
import os
from hashlib import sha256

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound, StoreDamaged
from scrubjay.model import Scope
from scrubjay.model.agent_files import FileChanges


@pytest.fixture
async def agent(jay):
    return await jay.agents.create("writer", project="book")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "files"
    write(folder, {"a.txt": "one\n", "src/main.py": "print(1)\n", "image.bin": bytes(range(256))})
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def write(folder, contents):
    for path, content in contents.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def contents_of(folder):
    """Every file with what it holds, and whether it can be run."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def room(jay):
    return await jay.parts.stores.blobs.room(Scope(tenant=jay.tenant))


async def test_a_snapshot_says_what_was_there(jay, agent, folder):
    taken = await jay.agents.snapshot(agent, folder)
    assert (taken.agent, taken.number, taken.cycle, len(taken.files)) == ("writer", 1, None, 4)
    told = [(file.path, file.size, file.mime_type, file.version, file.executable) for file in taken]
    assert told == [
        ("a.txt", 4, "text/plain", 1, False),
        ("image.bin", 256, "application/octet-stream", 1, False),
        ("run.sh", 10, "application/x-sh", 1, True),
        ("src/main.py", 9, "text/x-python", 1, False),
    ]
    assert taken["a.txt"].hash == sha256(b"one\n").hexdigest()
    assert await jay.agents.files(agent) == taken.files
    assert await jay.agents.snapshots(agent) == [taken]


async def test_what_is_put_back_is_the_same(jay, agent, folder, tmp_path):
    taken = await jay.agents.snapshot(agent, folder)
    done = await jay.agents.restore(agent, tmp_path / "new" / "place")
    assert (done.snapshot, done.written, done.unchanged) == (taken, 4, 0)
    assert contents_of(tmp_path / "new" / "place") == contents_of(folder)
    again = await jay.agents.restore(agent, str(done.to))
    assert (again.written, again.unchanged) == (0, 4)
    write(done.to, {"a.txt": "changed", "mine.txt": "kept"})
    assert (await jay.agents.restore(agent, done.to)).written == 1
    assert contents_of(done.to) == contents_of(folder) | {"mine.txt": (b"kept", False)}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["place"], "nothing is left beside it"


async def test_only_what_is_new_is_stored(jay, agent, folder):
    long = "".join(f"line {number}\n" for number in range(5_000))
    write(folder, {"long.txt": long})
    await jay.agents.snapshot(agent, folder)
    before = await room(jay)
    same = await jay.agents.snapshot(agent, folder)
    assert (same.number, await room(jay)) == (2, before)
    write(folder, {"long.txt": long.replace("line 4000\n", "another line\n"), "copy.txt": "one\n"})
    changed = await jay.agents.snapshot(agent, folder)
    after = await room(jay)
    assert after.blobs == before.blobs + 2, "the file, and the list of files"
    if jay.parts.names["records"] != "memory":
        assert after.stored - before.stored < 500, "one line of five thousand is another one: the difference is kept"
    assert (changed["long.txt"].version, changed["copy.txt"].version, changed["a.txt"].version) == (2, 1, 1)


async def test_a_version_counts_the_contents_of_a_path(jay, agent, folder):
    for content in ("one", "two", None, "one", "one"):
        if content is None:
            (folder / "a.txt").unlink()
        else:
            write(folder, {"a.txt": content})
        taken = await jay.agents.snapshot(agent, folder)
    assert taken["a.txt"].version == 3
    versions = [
        [file.version for file in await jay.agents.files(agent, snapshot=number) if file.path == "a.txt"]
        for number in range(1, 6)
    ]
    assert versions == [[1], [2], [], [3], [3]]


async def test_changes_between_two_snapshots(jay, agent, folder, tmp_path):
    assert await jay.agents.changes(agent) == FileChanges()
    await jay.agents.snapshot(agent, folder)
    assert [file.path for file in (await jay.agents.changes(agent)).added] == [
        "a.txt",
        "image.bin",
        "run.sh",
        "src/main.py",
    ]
    write(folder, {"a.txt": "two\n", "b.txt": "new\n"})
    (folder / "image.bin").unlink()
    (folder / "run.sh").chmod(0o644)
    await jay.agents.snapshot(agent, folder)
    await jay.agents.snapshot(agent, folder)
    assert not await jay.agents.changes(agent)
    told = await jay.agents.changes(agent, before=1, after=3)
    assert [file.path for file in told.added] == ["b.txt"]
    assert [(was.path, was.version, now.version) for was, now in told.changed] == [("a.txt", 1, 2), ("run.sh", 1, 1)]
    assert [file.path for file in told.removed] == ["image.bin"]
    assert await jay.agents.changes(agent, after=2) == told
    await jay.agents.restore(agent, tmp_path / "first", snapshot=1)
    assert (tmp_path / "first" / "a.txt").read_text() == "one\n"
    assert os.access(tmp_path / "first" / "run.sh", os.X_OK)


async def test_a_snapshot_belongs_to_its_cycle(jay, agent, folder):
    await jay.agents.begin_cycle(agent, goal="write")
    taken = await jay.agents.snapshot(agent, folder)
    assert taken.cycle == 1
    resumed = await jay.agents.resume(agent)
    assert resumed.snapshot == taken


async def test_what_is_ignored_and_what_is_refused(jay, agent, folder, tmp_path):
    write(folder, {".git/HEAD": "ref", "node_modules/x/y.js": "1", "logs/a.log": "1", "src/__pycache__/m.pyc": "1"})
    write(folder, {".scrubjay-restore-12": "left by a restore"})
    taken = await jay.agents.snapshot(agent, folder, ignore=(".git", "node_modules", "*.log", "src/__pycache__"))
    assert [file.path for file in taken] == ["a.txt", "image.bin", "run.sh", "src/main.py"]
    assert [file.path for file in await jay.agents.snapshot(agent, folder)][1] == "image.bin", "as it is by default"
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidInput, match="pipe is neither a plain file nor a link"):
        await jay.agents.snapshot(agent, folder)
    without = await jay.agents.snapshot(agent, folder, ignore=("pipe", ".*", "*/__pycache__", "node_modules", "logs"))
    assert without.files == taken.files
    for wrong in (tmp_path / "nowhere", folder / "a.txt", "", 7, "a\x00b"):
        with pytest.raises(InvalidInput, match="path"):
            await jay.agents.snapshot(agent, wrong)
    with pytest.raises(InvalidInput, match="ignore"):
        await jay.agents.snapshot(agent, folder, ignore="*.log")
    with pytest.raises(NotFound):
        await jay.agents.snapshot("nobody", folder)


async def test_what_is_not_there_is_not_found(jay, agent, folder, tmp_path):
    assert await jay.agents.files(agent) == ()
    with pytest.raises(NotFound, match="no snapshot"):
        await jay.agents.restore(agent, tmp_path / "new")
    await jay.agents.snapshot(agent, folder)
    for verb in (
        jay.agents.files(agent, snapshot=2),
        jay.agents.restore(agent, tmp_path / "new", snapshot=2),
        jay.agents.changes(agent, before=2),
    ):
        with pytest.raises(NotFound, match="no snapshot 2"):
            await verb
    assert not (tmp_path / "new").exists()
    with pytest.raises(NotFound):
        await jay.for_tenant("another").agents.files(agent)


async def test_many_at_once_get_numbers_without_gaps(jay, agent, folder):
    taken = await asyncio.gather(*(jay.agents.snapshot(agent, folder) for _ in range(3)))
    assert sorted(one.number for one in taken) == [1, 2, 3]


async def test_a_content_that_is_gone_is_said_and_nothing_is_put_in_place(jay, agent, folder, tmp_path):
    taken = await jay.agents.snapshot(agent, folder)
    await jay.parts.stores.blobs.release(Scope(tenant=jay.tenant), [taken.id])
    with pytest.raises(StoreDamaged, match="files of a snapshot of agent writer"):
        await jay.agents.restore(agent, tmp_path / "new")
    assert not (tmp_path / "new").exists()


async def test_a_path_that_looks_like_a_secret_is_refused(jay, agent, folder):
    before = await room(jay)
    write(folder, {"key-AKIAIOSFODNN7EXAMPLQ.txt": "x"})
    with pytest.raises(InvalidInput, match="secret"):
        await jay.agents.snapshot(agent, folder)
    assert await room(jay) == before


async def test_a_link_is_kept_as_a_link_and_never_followed(jay, agent, folder, tmp_path):
    write(tmp_path, {"outside/secret.txt": "not yours"})
    for path, target in LINKS.items():
        (folder / path).symlink_to(target)
    (folder / "away").symlink_to(tmp_path / "outside")
    before = await room(jay)
    taken = await jay.agents.snapshot(agent, folder)
    assert {file.path: file.link for file in taken if file.link} == LINKS | {"away": str(tmp_path / "outside")}
    assert (await room(jay)).blobs == before.blobs + 5, "four files and their list: of a link there is nothing to keep"
    done = await jay.agents.restore(agent, tmp_path / "new")
    assert [file.path for file in done.left_out] == ["away", "up", "winding"], "they may lead out, so they are not made"
    assert (done.written, done.unchanged) == (8, 0)
    made = {name: str((tmp_path / "new" / name).readlink()) for name in ("latest", "pages", "src/top", "dangling")}
    assert made == {name: LINKS[name] for name in made}
    assert (tmp_path / "new" / "latest").read_text() == "one\n"
    assert (await jay.agents.restore(agent, tmp_path / "new")).unchanged == 8
    (folder / "latest").unlink()
    (folder / "latest").symlink_to("run.sh")
    again = await jay.agents.snapshot(agent, folder)
    [(was, now)] = (await jay.agents.changes(agent)).changed
    assert (was.link, now.link, now.version, again["pages"].version) == ("a.txt", "run.sh", 2, 1)
    await jay.agents.restore(agent, tmp_path / "new")
    assert str((tmp_path / "new" / "latest").readlink()) == "run.sh", "a link takes the place of a link"


LINKS = {
    "latest": "a.txt",
    "pages": "src",
    "src/top": "../a.txt",
    "dangling": "not/there",
    "up": "../outside/secret.txt",
    "winding": "pages/../../outside",
}


async def test_a_link_that_says_what_looks_like_a_secret_is_refused(jay, agent, folder):
    (folder / "link").symlink_to("key-AKIAIOSFODNN7EXAMPLQ.txt")
    with pytest.raises(InvalidInput, match="secret"):
        await jay.agents.snapshot(agent, folder)


async def test_many_files_of_which_few_change(jay, agent, tmp_path):
    many = tmp_path / "many"
    write(many, {f"part{number % 7}/page-{number}.txt": f"page {number}" for number in range(300)})
    first = await jay.agents.snapshot(agent, many)
    full = await room(jay)
    same = await jay.agents.snapshot(agent, many)
    assert await room(jay) == full
    held = await jay.parts.stores.blobs.held(Scope(tenant=jay.tenant), [first.id, same.id])
    assert held[first.id] == held[same.id], "both name the same list"
    assert len(held[same.id]) == 1
    write(many, {"part3/page-3.txt": "changed", "part1/new.txt": "new"})
    (many / "part0" / "page-7.txt").unlink()
    changed = await jay.agents.snapshot(agent, many)
    assert len(changed.files) == 300
    assert (await room(jay)).blobs - full.blobs <= 2 + 3 * 3, "two contents, and the lists from the files to the top"
    for one in (first, same):
        await jay.forget([one.id], purge=True)
    await jay.agents.restore(agent, tmp_path / "new")
    assert contents_of(tmp_path / "new") == contents_of(many), "it needs none of those before it"
    (many / "part0" / "page-7.txt").write_text("back")
    assert (await jay.agents.snapshot(agent, many))["part0/page-7.txt"].version == 2
    await jay.forget(everything=True, purge=True, project="book", agent="writer")
    assert (await room(jay)).blobs == 0


async def test_deleting_an_agent_releases_its_files(jay, agent, folder, tmp_path):
    before = await room(jay)
    other = await jay.agents.create("reader", project="book")
    await jay.agents.snapshot(agent, folder)
    write(folder, {"a.txt": "mine"})
    await jay.agents.snapshot(agent, folder)
    (folder / "a.txt").unlink()
    await jay.agents.snapshot(other, folder)
    receipt = await jay.forget(everything=True, purge=True, project="book", agent="writer")
    assert set(receipt.remaining.values()) == {0}
    assert (await room(jay)).blobs == before.blobs + 4, "what the other one has stays: three files and their list"
    await jay.agents.restore(other, tmp_path / "new")
    assert contents_of(tmp_path / "new") == contents_of(folder)
    await jay.forget(everything=True, purge=True, project="book", agent="reader")
    assert await room(jay) == before


async def test_a_fork_has_the_files_and_keeps_them(jay, agent, folder, tmp_path):
    await jay.agents.begin_cycle(agent)
    await jay.agents.snapshot(agent, folder)
    await jay.agents.end_cycle(agent)
    fork = await jay.agents.fork(agent, "twin")
    await jay.forget(everything=True, purge=True, project="book", agent="writer")
    await jay.agents.restore(fork, tmp_path / "new")
    assert contents_of(tmp_path / "new") == contents_of(folder)
    assert (await jay.agents.snapshot(fork, folder)).number == 2


async def test_a_file_in_the_way_is_a_conflict(jay, agent, folder, tmp_path):
    await jay.agents.snapshot(agent, folder)
    write(tmp_path / "new", {"src": "a file"})
    with pytest.raises(Conflict, match="src is a file"):
        await jay.agents.restore(agent, tmp_path / "new")
    assert contents_of(tmp_path / "new") == {"src": (b"a file", False)}


async def test_many_at_once_restore_to_one_folder(jay, agent, folder, tmp_path):
    write(folder, {f"deep/{number}/inside/page.txt": str(number) for number in range(30)})
    await jay.agents.snapshot(agent, folder)
    (tmp_path / "new").mkdir()
    done = await asyncio.gather(*(jay.agents.restore(agent, tmp_path / "new") for _ in range(4)))
    assert all(one.written + one.unchanged == 34 for one in done)
    assert contents_of(tmp_path / "new") == contents_of(folder)
