"""What can be set, raised or called is documented, and the documentation's links lead somewhere."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from make_reference import PAGES, error_classes, variable
from scrubjay import errors
from scrubjay.errors import ScrubjayError
from scrubjay.settings import Settings

FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
TREE_LINE = re.compile(r"^(?P<indent>[│├└─ ]*)(?P<name>[A-Z]\w+)(?:\s{2,}.*?(?P<status>\d{3}))?$")


@pytest.mark.parametrize("path", PAGES)
def test_generated_pages_are_in_step(root, path):
    assert (root / path).read_text(encoding="utf-8") == PAGES[path](), f"run `make reference` to write {path} again"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(root, name):
    assert Settings.model_fields[name].description, f"{name} has no description"
    assert f"`{variable(name)}`" in (root / "docs/reference/settings.md").read_text(encoding="utf-8")
    assert f"{variable(name)}=" in (root / ".env.example").read_text(encoding="utf-8")


def test_the_example_environment_is_the_default(root, tmp_path, monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    example = (root / ".env.example").read_text(encoding="utf-8")
    # With every line taken in, except the empty ones, which stand for a default that is made at run time.
    lines = [line.removeprefix("# ") for line in example.splitlines() if re.match(r"# SCRUBJAY_\w+=.", line)]
    (tmp_path / ".env").write_text("\n".join(lines))
    assert Settings(_env_file=tmp_path / ".env") == Settings(_env_file=None)


@pytest.mark.parametrize("error", list(error_classes()), ids=lambda error: error.__name__)
def test_every_error_is_documented(root, error):
    assert f"| `{error.__name__}` |" in (root / "docs/reference/errors.md").read_text(encoding="utf-8")
    message = inspect.getdoc(error)
    assert str(error()) == message
    assert message != inspect.getdoc(error.__base__), f"{error.__name__} has no message of its own"


def drawn_tree() -> Iterator[tuple[str, str, int]]:
    """Name, parent and status of each error in the docstring's drawing."""
    branch: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := TREE_LINE.match(line):
            depth = len(found["indent"])
            while branch and branch[-1][0] >= depth:
                branch.pop()
            yield found["name"], branch[-1][1] if branch else "Exception", int(found["status"] or 500)
            branch.append((depth, found["name"]))


def test_the_drawn_tree_is_the_tree():
    drawn = list(drawn_tree())
    assert sorted(drawn) == sorted((error.__name__, error.__base__.__name__, error.status) for error in error_classes())


def test_every_error_lives_in_one_file(sources):
    import importlib

    for path in sources:
        if "migrations" not in path.parts and path.parent.name == "scrubjay" and path.stem != "__main__":
            importlib.import_module(f"scrubjay.{path.stem}" if path.stem != "__init__" else "scrubjay")
    known = set(error_classes())
    strangers = [error.__qualname__ for error in _descendants(ScrubjayError) if error not in known]
    assert not strangers, f"move to errors.py: {', '.join(strangers)}"


def _descendants(parent: type) -> Iterator[type]:
    for child in parent.__subclasses__():
        if child.__module__.startswith("scrubjay"):
            yield child
            yield from _descendants(child)


def commands(command, path: str) -> Iterator[str]:
    """The full name of every command that is not hidden: `scrubjay remember`."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield path
    for name, one in inner.items():
        if not one.hidden:
            yield from commands(one, f"{path} {name}")


def test_every_command_is_documented(root):
    import typer

    from scrubjay.doors.cli import app

    page = (root / "docs/reference/cli.md").read_text(encoding="utf-8")
    named = list(commands(typer.main.get_command(app), "scrubjay"))
    missing = [name for name in named if not re.search(rf"{re.escape(name)}\b", page)]
    assert len(named) > 10
    assert not missing, f"describe in docs/reference/cli.md: {', '.join(missing)}"


def test_links_lead_somewhere(root, tracked):
    broken = [
        f"{path.relative_to(root)}: {target}"
        for path in tracked
        if path.suffix == ".md"
        for target in links_of(path.read_text(encoding="utf-8"))
        if not leads_somewhere(path, target)
    ]
    assert not broken, "broken links:\n" + "\n".join(broken)


def test_the_roadmap_says_of_every_part_how_it_stands_and_where_that_is_shown(root):
    page = root / "docs/roadmap.md"
    designs = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    names = ["Workspace memory", "Memory and learning", "Persistence schema", "Hybrid memory", "Semantic memory"]
    assert [design.partition("\n")[0] for design in designs] == names
    for design in designs:
        rows = [line.strip("| ").split(" | ") for line in design.splitlines() if line.startswith("| ")][1:]
        assert len(rows) > 4
        for part, status, *shown in rows:
            assert re.fullmatch(r"done|later|partly: .+", status.strip(" |")), part
            links = re.findall(r"\[([^\]]+)\]\(([^)#]+)[^)]*\)", " ".join(shown))
            assert links or status.startswith("later"), f"{part}: link what shows it"
            assert status != "done" or any(target.startswith("../") for _, target in links), f"{part}: link a test"
            for name, target in links:
                if name.startswith("`test_"):
                    there = (page.parent / target).read_text(encoding="utf-8")
                    assert f"def {name.strip('`')}(" in there, f"{target} has no {name}"


def links_of(text: str) -> Iterator[str]:
    for found in LINK.finditer(INLINE_CODE.sub("", FENCED.sub("", text))):
        target = found[1] or found[2]
        if not re.match(r"[a-z]+:", target):
            yield unquote(target)


def leads_somewhere(page: Path, target: str) -> bool:
    file, _, anchor = target.partition("#")
    there = (page.parent / file).resolve() if file else page
    if not there.exists():
        return False
    return not anchor or there.suffix != ".md" or anchor in anchors_of(there.read_text(encoding="utf-8"))


def anchors_of(text: str) -> set[str]:
    """The anchors that a heading gets: lower case, dashes for spaces, no punctuation."""
    headings = (found[1].lower() for found in HEADING.finditer(FENCED.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def test_a_broken_link_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# What it is\n[a](page.md#what-it-is) [b](#none) [c](gone.md) `[d](code.md)` [e](https://e.org)")
    broken = [target for target in links_of(page.read_text()) if not leads_somewhere(page, target)]
    assert broken == ["#none", "gone.md"]
