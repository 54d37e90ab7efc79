"""A file is one room, failures are not swallowed, and nothing is left lying about."""

import ast
import re
from pathlib import Path

import pytest

MOST_LINES = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
MAY_CATCH_EVERYTHING = ("jobs/runner.py", "jobs/attempts.py", "doors/http/")
TEXT_SUFFIXES = {"", ".cfg", ".example", ".html", ".ini", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ".yaml", ".yml"}
UNWANTED = {
    "a note to oneself": re.compile(r"\b(?:TODO|FIXME)\b"),
    "a path of one machine": re.compile(r"(?<![\w.])/(?:root|work|home|Users)/\w"),
    "the host of a registry": re.compile(r"pypi\.org|pythonhosted|npmjs\.(?:org|com)"),
}
LOCK_FILES = re.compile(r"(?:\.lock|package-lock\.json|pnpm-lock\.yaml)$")


def test_no_file_is_longer_than_one_can_hold_in_mind(root, sources):
    lengths = {path.relative_to(root): len(path.read_text().splitlines()) for path in sources}
    long = [f"{path}: {lines} lines" for path, lines in lengths.items() if lines > MOST_LINES]
    assert not long, f"split by meaning, over {MOST_LINES} lines:\n" + "\n".join(long)


def test_no_room_is_called_after_nothing(root, tracked):
    vague = [str(path.relative_to(root)) for path in tracked if path.suffix == ".py" and path.stem in VAGUE_NAMES]
    vague += [str(path.relative_to(root)) for path in tracked if VAGUE_NAMES & set(path.relative_to(root).parts[:-1])]
    assert not vague, "name it after what it does:\n" + "\n".join(vague)


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """Whether it catches any error and does not raise it again as it was."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {kind.id if isinstance(kind, ast.Name) else "" if kind else "BaseException" for kind in kinds}
    ends_with_raise = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
    return "Exception" in names or ("BaseException" in names and not ends_with_raise)


def suppresses_everything(call: ast.Call) -> bool:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return called == "suppress" and any(
        isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException") for kind in call.args
    )


def test_everything_is_caught_in_two_places_only(root, sources):
    house = root / "src" / "scrubjay"
    wrong = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in sources
        if not path.relative_to(house).as_posix().startswith(MAY_CATCH_EVERYTHING)
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.ExceptHandler) and catches_everything(node))
        or (isinstance(node, ast.Call) and suppresses_everything(node))
    ]
    assert not wrong, "name the errors that are expected here:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("clause", "everything"),
    [
        ("except Exception: pass", True),
        ("except (OSError, Exception): raise", True),
        ("except: pass", True),
        ("except BaseException:\n    close()\n    raise", False),
        ("except OSError: pass", False),
    ],
)
def test_catching_everything_is_seen(clause, everything):
    [statement] = ast.parse(f"try: work()\n{clause}").body
    assert catches_everything(statement.handlers[0]) is everything


@pytest.mark.parametrize("what", UNWANTED)
def test_nothing_unwanted_is_written_anywhere(root, tracked, what):
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()[:100]}"
        for path in tracked
        if path.suffix in TEXT_SUFFIXES and path.resolve() != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNWANTED[what].search(line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


def test_no_lock_file_is_kept(root, tracked):
    kept = [str(path.relative_to(root)) for path in tracked if LOCK_FILES.search(path.name)]
    assert not kept, "constraints.txt is the one list of versions:\n" + "\n".join(kept)


def test_every_exception_from_a_rule_has_a_reason(root, tracked):
    bare = re.compile(r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[\w, -]+\])?)\s*$")
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()[:100]}"
        for path in tracked
        if path.suffix == ".py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert not found, "say why, behind it:\n" + "\n".join(found)


def test_every_test_that_may_be_run_again_has_a_reason(root):
    marks, found = 0, []
    for path in (root / "tests").rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number in (number for number, line in enumerate(lines) if "pytest.mark." + "flaky" in line):
            marks += 1
            if not lines[number - 1].startswith("# "):
                found.append(f"{path.relative_to(root)}:{number + 1}")
    assert marks, "they are found"
    assert not found, "say which real clock it depends on, in a comment above:\n" + "\n".join(found)


def test_no_two_test_files_have_one_name(root):
    """Test folders are not packages, so pytest tells their files apart by name alone."""
    names = [path.name for path in (root / "tests").rglob("test_*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_slowest_tests_begin_first(request):
    slow = [item.get_closest_marker("slow") is not None for item in request.session.items]
    assert slow == sorted(slow, reverse=True)
