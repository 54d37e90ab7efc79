"""A repository is read in, read again, searched, cited and watched, on every store."""

import asyncio
from threading import Event

import pytest
from dulwich import porcelain

from scrubjay.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from scrubjay.memories.workspace.ingest import storing
from scrubjay.model import Trust
from scrubjay.testing.events import eventually

pytestmark = pytest.mark.memory_suite

WHO = b"Ann Example <ann@example.com>"
APP = '''"""Loads things for the shop."""

import os

PASSWORD = "hunter2-Xy99!"


def load_user_name(path):
    """Read the name of a user."""
    return open(path).read()


def save_basket(basket):
    return basket
'''


@pytest.fixture
def tree(tmp_path):
    """Writes files into a repository; None deletes one."""
    root = tmp_path / "shop"
    root.mkdir()
    porcelain.init(root).close()

    def write(**files):
        for path, text in files.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink() if text is None else place.write_text(text)
        return root

    def commit(message):
        files = [str(path) for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
        porcelain.add(root, files)
        return porcelain.commit(root, message=message, author=WHO, committer=WHO).decode()

    write.root, write.commit = root, commit
    write(**{"src/app.py": APP, "README.md": "# Shop\n\nSells.\n\n## Install\n\nRun it.\n"})
    return write


async def keys(jay, **narrow):
    return sorted(memory.key for memory in await jay.list(limit=200, project="shop", **narrow))


async def test_a_repository_becomes_pieces_files_and_a_project(jay, tree):
    done = await jay.workspace.ingest(tree.root)
    assert (done.project, done.files, done.added, done.pieces) == ("shop", 2, 2, 5)
    assert done.languages == {"python": 1, "markdown": 1}
    assert await keys(jay, kinds=["code"]) == [
        "README.md#Shop",
        "README.md#Shop > Install",
        "src/app.py#load_user_name",
        "src/app.py#save_basket",
        "src/app.py#~1",
    ]
    [piece] = [one for one in await jay.list(project="shop", kinds=["code"]) if one.key.endswith("load_user_name")]
    assert (
        piece.content == 'def load_user_name(path):\n    """Read the name of a user."""\n    return open(path).read()'
    )
    assert (piece.source, piece.trust) == ("src/app.py", Trust.OBSERVED)
    assert {name: piece.data[name] for name in ("path", "start", "stop", "symbol", "language")} == {
        "path": "src/app.py", "start": 8, "stop": 10, "symbol": "load_user_name", "language": "python",
    }  # fmt: skip
    assert len(piece.data["hash"]) == 64
    [repository] = await jay.list(project="shop", kinds=["repository"])
    assert (repository.data["files"], repository.data["complete"]) == (2, True)


async def test_the_second_run_writes_nothing(jay, tree, clock):
    await jay.workspace.ingest(tree.root)
    before = (await jay.stats()).versions
    done = await jay.workspace.ingest(tree.root)
    assert (done.unchanged, done.touched, done.pieces, done.closed) == (2, 0, 0, 0)
    assert (await jay.stats()).versions == before


async def test_only_what_changed_is_touched_and_what_is_gone_is_closed(jay, tree):
    await jay.workspace.ingest(tree.root)
    tree(**{"src/app.py": APP.replace("return basket", "return dict(basket)"), "README.md": None, "new.py": "x = 1\n"})
    done = await jay.workspace.ingest(tree.root)
    assert (done.added, done.changed, done.removed, done.unchanged) == (1, 1, 1, 0)
    # One piece was edited and one is new; two sections are gone with their page.
    assert (done.pieces, done.closed) == (2, 2)
    assert await keys(jay, kinds=["file"]) == ["file:new.py", "file:src/app.py"]
    old, new = await jay.history(key="src/app.py#save_basket", project="shop")
    assert (old.state(jay.parts.clock()), "dict(basket)" in new.content) == ("superseded", True)
    gone = (await jay.history(key="README.md#Shop", project="shop"))[-1]
    assert gone.closed_because == f"forgotten: {storing.GONE}"


async def test_a_function_that_is_deleted_or_renamed_is_closed(jay, tree):
    await jay.workspace.ingest(tree.root)
    tree(**{"src/app.py": APP.replace("save_basket", "store_basket")})
    done = await jay.workspace.ingest(tree.root)
    assert (done.changed, done.pieces, done.closed) == (1, 1, 1)
    assert "src/app.py#save_basket" not in await keys(jay, kinds=["code"])


async def test_a_file_that_is_ignored_from_now_on_goes(jay, tree):
    await jay.workspace.ingest(tree.root)
    tree(**{".gitignore": "src/\n"})
    assert (await jay.workspace.ingest(tree.root)).removed == 1
    assert await keys(jay, kinds=["file"]) == ["file:.gitignore", "file:README.md"]


async def test_a_folder_of_it_leaves_the_rest_alone(jay, tree):
    await jay.workspace.ingest(tree.root)
    tree(**{"README.md": None, "src/more.py": "y = 2\n"})
    done = await jay.workspace.ingest(tree.root / "src")
    assert (done.project, done.added, done.removed, done.unchanged) == ("shop", 1, 0, 1)
    assert "file:README.md" in await keys(jay, kinds=["file"])


async def test_whoever_is_stopped_half_way_goes_on(setup, tree, monkeypatch):
    jay = await setup.open()
    tree(**{f"part{number}.py": f"def part_{number}(): pass\n" for number in range(6)})
    monkeypatch.setattr(storing, "WRITTEN", 2)
    remember = type(jay).remember_many
    calls = []

    async def failing(self, items, **options):
        calls.append(items)
        if len(calls) > 3:
            raise StoreUnavailable("it was switched off")
        return await remember(self, items, **options)

    monkeypatch.setattr(type(jay), "remember_many", failing)
    with pytest.raises(StoreUnavailable):
        await jay.workspace.ingest(tree.root)
    monkeypatch.setattr(type(jay), "remember_many", remember)
    assert (await jay.list(project="shop", kinds=["repository"]))[0].data["complete"] is False
    done = await jay.workspace.ingest(tree.root)
    assert (done.files, done.unchanged > 0, done.added + done.unchanged) == (8, True, 8)
    assert (await jay.list(project="shop", kinds=["repository"]))[0].data["complete"] is True


async def test_no_secret_is_stored_and_the_report_names_each(jay, tree):
    done = await jay.workspace.ingest(tree.root)
    assert [str(one) for one in done.redactions] == ["src/app.py:5: password"]
    stored = [line async for line in jay.export()]
    assert stored
    assert not any("hunter2" in line for line in stored)
    assert any("[redacted:password]" in line for line in stored)
    assert (await jay.workspace.scan_secrets()).found == ()
    # A touched file with a secret is read again, and found to be the same.
    (tree.root / "src/app.py").touch()
    assert (await jay.workspace.ingest(tree.root)).unchanged == 2


async def test_secrets_that_were_stored_without_redaction_are_found(setup, tree):
    careless = await setup.open(redactor=False)
    await careless.workspace.ingest(tree.root)
    await careless.remember("nothing to see", data={"db_password": "hunter2-Xy99!"}, user="ann")
    jay = await setup.open()
    found = await jay.workspace.scan_secrets()
    assert {(one.memory_kind, one.place, one.kinds, one.current) for one in found.found} == {
        ("code", "content", ("password",), True),
        ("note", "data", ("credential",), True),
    }
    assert (await jay.workspace.scan_secrets(user="ann")).memories == 1


async def test_secrets_in_the_files_of_jobs_are_found(setup, tree):
    careless = await setup.open(redactor=False)
    files = {"deploy.env": "DB_PASSWORD=hunter2-Xy99!kk\n", "logo.bin": b"\0password=hunter2-Xy99!kk"}
    for goal in ("Deploy the shop", "Deploy the shop again"):
        await careless.workspace.store_completion(repo_path=tree.root, goal=goal, status="succeeded", files=files)
    jay = await setup.open()
    found = (await jay.workspace.scan_secrets()).found
    assert [(one.memory_kind, one.place, one.kinds) for one in found] == [("completion", "files", ("password",))] * 2


async def test_commits_are_told_once_and_only_new_ones_after_that(jay, tree):
    first = tree.commit("Add the loader")
    assert (await jay.workspace.ingest(tree.root)).commits == 1
    assert (await jay.workspace.ingest(tree.root)).commits == 0
    tree(**{"src/app.py": APP + "\n\nx = 1\n"})
    tree.commit("Fix the basket that loses things")
    assert (await jay.workspace.ingest(tree.root)).commits == 1
    hit = (await jay.recall("why was the basket fixed", project="shop", kinds=["commit"]))[0]
    assert (hit.memory.data["files"], hit.memory.author) == (["src/app.py"], "Ann Example")
    tree(**{"other.py": "y = 1\n", "README.md": "# Shop\n\nOther words.\n"})
    done = await jay.workspace.ingest(tree.root, since=first, history=0)
    assert (done.added, done.changed, done.unchanged, done.commits) == (1, 1, 1, 0)


async def test_since_leaves_what_did_not_change_alone(jay, tree):
    first = tree.commit("All of it")
    tree(**{"new.py": "z = 1\n"})
    done = await jay.workspace.ingest(tree.root, since=first)
    assert (done.files, done.added, done.commits) == (1, 1, 0)
    with pytest.raises(InvalidInput, match="since is 'nowhere'"):
        await jay.workspace.ingest(tree.root, since="nowhere")


async def test_one_project_holds_one_repository(jay, tree, tmp_path):
    await jay.workspace.ingest(tree.root)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.py").write_text("x = 1\n")
    with pytest.raises(Conflict, match="name another project"):
        await jay.workspace.ingest(tmp_path / "other", project="shop")
    tree.root.rename(tmp_path / "moved")
    done = await jay.workspace.ingest(tmp_path / "moved", project="shop")
    assert (done.unchanged, done.touched) == (2, 0)
    with pytest.raises(InvalidInput, match="there is no such folder"):
        await jay.workspace.ingest(tmp_path / "nowhere")


async def test_search_says_whether_the_code_is_still_so(jay, tree):
    await jay.workspace.ingest(tree.root)

    async def state():
        found = await jay.workspace.search_code("load user name", project="shop", language="python")
        [one] = [one for one in found if one.memory.key.endswith("load_user_name")]
        return one.state, [(checked.drift, checked.now.start) for checked in one.cited if checked.now]

    assert await state() == ("fresh", [])
    tree(**{"src/app.py": "# One more line.\n" + APP})
    assert await state() == ("drifted", [(("moved",), 9)])
    tree(**{"src/app.py": APP.replace("open(path)", "path.open()")})
    assert await state() == ("drifted", [(("edited",), 8)])
    tree(**{"src/app.py": None, "src/deep/app.py": APP})
    assert await state() == ("drifted", [(("moved",), 8)])
    tree(**{"src/deep/app.py": None})
    assert await state() == ("orphaned", [])


async def test_advice_that_cites_code_says_when_it_is_stale(jay, tree):
    await jay.workspace.ingest(tree.root)
    note = await jay.workspace.cite(
        "The loader never closes its file", ["src/app.py#load_user_name", "src/app.py:1-3"], project="shop", user="ann"
    )
    assert [one.state for one in await jay.workspace.check(note.id, project="shop")] == ["fresh", "fresh"]
    tree(**{"src/app.py": APP.replace("open(path)", "path.open()")})
    hit = (await jay.workspace.recall("does the loader close files", project="shop", kinds=["note"]))[0]
    assert hit.state == "drifted"
    assert hit.warning == "src/app.py:8-10 (load_user_name): edited, now src/app.py:8-10"
    [plain] = await jay.recall("does the loader close files", project="shop", kinds=["note"])
    assert (plain.warning, plain.cited) == (hit.warning, hit.cited)
    context = await jay.context("does the loader close files", project="shop")
    assert "The loader never closes its file\n  (stale: src/app.py:8-10 (load_user_name): edited" in context.text
    assert context.tokens <= context.budget
    with pytest.raises(InvalidInput, match=r"there is no nothing in src/app\.py, it has load_user_name"):
        await jay.workspace.cite("x", ["src/app.py#nothing"], project="shop")
    with pytest.raises(InvalidInput, match="has the lines 1 to"):
        await jay.workspace.cite("x", ["src/app.py:10-900"], project="shop")
    with pytest.raises(InvalidInput, match="is not inside"):
        await jay.workspace.cite("x", ["../../etc/passwd"], project="shop")


async def test_code_that_was_never_ingested_can_be_cited_and_is_compared(jay, tree):
    note = await jay.workspace.cite("The loader never closes its file", ["src/app.py:1-3"], repo_path=tree.root)
    assert [one.state for one in await jay.workspace.check(note.id)] == ["fresh"]
    tree(**{"src/app.py": None})
    [hit] = await jay.recall("does the loader close files")
    assert [one.state for one in hit.cited] == ["orphaned"]


@pytest.mark.parametrize("kind", ["rule", "message", "note"])
async def test_a_context_says_what_is_stale_in_every_section(jay, tree, kind):
    await jay.workspace.ingest(tree.root)
    await jay.workspace.cite("Close what load opens", ["src/app.py#load_user_name"], project="shop", kind=kind)
    before = await jay.context("closing files", project="shop", budget=2_000)
    assert "stale" not in before.text
    tree(**{"src/app.py": None})
    after = await jay.context("closing files", project="shop", budget=2_000)
    assert "Close what load opens\n  (stale: src/app.py:8-10 (load_user_name): orphaned" in after.text


async def test_a_lost_working_tree_leaves_citations_unchecked(jay, tree, tmp_path):
    await jay.workspace.ingest(tree.root)
    tree.root.rename(tmp_path / "away")
    found = await jay.workspace.search_code("load user name", project="shop")
    assert {one.state for one in found} == {None}


async def test_a_task_that_touched_very_many_files_is_in_nobodys_way(jay, tree):
    tree(**{"src/odd.py": "x = 1\n"})
    await jay.workspace.ingest(tree.root)
    files = [f"src/made/{number}.py" for number in range(1_200)]
    await jay.tasks.store_execution(
        "T-1",
        "moved everything",
        True,
        task_description="move the tax rate",
        files=[*files, "src/odd.py"],
        project="shop",
    )
    found = [one.path for one in await jay.workspace.relevant_files("move the tax rate", project="shop")]
    assert "src/odd.py" in found
    assert not set(found) & set(files)


async def test_relevant_files_come_from_words_names_paths_and_the_past(jay, tree):
    tree(
        **{
            "src/basket.py": "class BasketStore:\n    def flush(self):\n        return 1\n",
            "src/tax.py": "def vat_rate(country):\n    return 20\n",
            "src/odd.py": "x = 1\n",
        }
    )
    await jay.workspace.ingest(tree.root)
    by_words = await jay.workspace.relevant_files("the country has the wrong vat rate", project="shop")
    assert by_words[0].path == "src/tax.py"
    assert by_words[0].symbols == ("vat_rate",)
    by_name = await jay.workspace.relevant_files("BasketStore loses things", project="shop")
    assert (by_name[0].path, "defines BasketStore" in by_name[0].why) == ("src/basket.py", True)
    by_path = await jay.workspace.relevant_files("something is wrong in src/odd.py", project="shop")
    assert (by_path[0].path, "the task names it" in by_path[0].why) == ("src/odd.py", True)
    await jay.tasks.store_execution(
        "T-1",
        "done",
        True,
        task_description="invoices show a zero",
        files=["src/odd.py", "src/gone.py"],
        project="shop",
    )
    by_past = await jay.workspace.relevant_files("zero on invoices", project="shop")
    [odd] = [one for one in by_past if one.path == "src/odd.py"]
    assert "touched by 1 similar change" in odd.why
    assert len(odd.tasks) == 1
    assert "src/gone.py" not in [one.path for one in by_past]
    with pytest.raises(InvalidInput, match="say what is to be done"):
        await jay.workspace.relevant_files(" ", project="shop")


async def test_without_a_repository_the_past_alone_suggests(jay):
    await jay.tasks.store_execution("T-1", "done", True, task_description="zero invoices", files=["a.py"], project="p")
    assert [one.path for one in await jay.workspace.relevant_files("zero invoices", project="p")] == ["a.py"]
    assert list(await jay.workspace.relevant_files("zero invoices", project="empty")) == []


async def test_watching_hears_of_what_is_saved(jay, tree):
    reports, stop = [], Event()
    watching = asyncio.create_task(jay.workspace.watch(tree.root, every=0.02, report=reports.append, stop=stop))

    async def is_known():
        # It may look between the two, and hear of one after the other.
        changed, removed = (sum(getattr(one, what) for one in reports[1:]) for what in ("changed", "removed"))
        return changed >= 1 and removed == 1 and "src/app.py#later" in await keys(jay, kinds=["code"])

    try:
        await eventually(lambda: len(reports) >= 1)
        tree(**{"src/app.py": APP + "\n\ndef later():\n    return 1\n", "README.md": None})
        await eventually(is_known)
    finally:
        stop.set()
        await watching
    with pytest.raises(InvalidInput, match="every is 0"):
        await jay.workspace.watch(tree.root, every=0)


async def test_projects_do_not_see_each_other(jay, tree):
    await jay.workspace.ingest(tree.root, user="ann")
    assert len(await jay.workspace.search_code("load user name", project="shop", user="ann")) > 0
    assert len(await jay.workspace.search_code("load user name", project="shop", user="bob")) == 0
    assert len(await jay.workspace.search_code("load user name", project="other")) == 0
    assert list(await jay.workspace.relevant_files("load user name", project="other")) == []
    with pytest.raises(NotFound):
        await jay.for_tenant("other").workspace.check((await jay.list(project="shop"))[0].id)


async def test_source_comes_before_its_tests(setup, tmp_path):
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/retry.py").write_text('def again(call):\n    """Retry a call."""\n    return call() or call()\n')
    (root / "tests/test_retry.py").write_text('def test_it():\n    """Retry a call, retry."""\n    again(call)\n')
    for name in ("cart", "list", "page", "shop"):
        (root / f"src/{name}.py").write_text(f'def {name}(call):\n    """Make a call for the {name}."""\n')
    jay = await setup.open()
    await jay.workspace.ingest(root)
    files = await jay.workspace.relevant_files("retry a call", project="shop")
    assert [one.path for one in files][:2] == ["src/retry.py", "tests/test_retry.py"]
    assert files[1].why.endswith("stands back: test code")
    assert files[1].signals["supporting"] < 0
    hits = await jay.workspace.search_code("retry a call", project="shop")
    assert hits[0].memory.data["path"] == "src/retry.py"
    asked = await jay.workspace.relevant_files("the test of how to retry a call fails", project="shop")
    assert asked[0].path == "tests/test_retry.py"
