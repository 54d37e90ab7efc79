"""The package is light to import and light to install, and its versions are pinned."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

HEAVY = set(
    """alembic fastapi httpx numpy onnxruntime psycopg pydantic pydantic_settings qdrant_client redis
    rich simsimd sqlalchemy structlog tokenizers typer wordllama""".split()  # noqa: SIM905 -- 18 strings read worse
)
UNUSED = set(
    """alembic http.client onnxruntime psycopg redis rich scrubjay.jobs.consolidate scrubjay.memories.agents
    scrubjay.memories.facts scrubjay.memories.patterns scrubjay.memories.tasks scrubjay.memories.workspace.verbs
    scrubjay.wiring.installation sqlalchemy.dialects.postgresql structlog tokenizers typer""".split()  # noqa: SIM905 -- read worse as strings
)
"""Of these, an embedded store that is opened and asked needs none."""
NEVER = {"torch", "tensorflow", "jax", "transformers", "sentence-transformers"}


def test_import_is_light():
    code = "import sys, scrubjay; print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = HEAVY & set(done.stdout.split())
    assert not loaded, f"`import scrubjay` loads {', '.join(sorted(loaded))}: import them where they are used"


def test_what_is_not_used_is_not_loaded(tmp_path):
    """A program that opens a file and asks it something waits for nothing else: every command of the command line."""
    code = """
import sys, scrubjay
with scrubjay.open(sys.argv[1], embedder="none", background=False) as jay:
    jay.recall("anything")
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code, tmp_path], capture_output=True, text=True, check=True)
    loaded = UNUSED & set(done.stdout.split())
    assert not loaded, f"opening a file loads {', '.join(sorted(loaded))}: import them where they are used"


def test_the_default_install_brings_no_framework(root):
    brought = _closure(_project(root)["dependencies"])
    assert "numpy" in brought
    assert not brought & NEVER


def test_every_dependency_is_pinned(root):
    project = _project(root)
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {_plain(line.partition("==")[0]): line for line in lines if not line.startswith("#")}
    malformed = [line for line in pins.values() if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)]
    assert not malformed, f"not an exact version: {malformed}"
    assert lines[1:] == sorted(lines[1:], key=lambda line: line.upper()), "run `make constraints`"
    missing = _closure([*project["dependencies"], *project["optional-dependencies"]["dev"]]) - set(pins) - {"scrubjay"}
    assert not missing, f"run `make constraints`: {', '.join(sorted(missing))} not pinned"


def _project(root) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _closure(wanted: list[str]) -> set[str]:
    """The names of all packages that these requirements bring, here, with the requirements of those installed."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(line) for line in wanted]
    while waiting:
        one = waiting.pop()
        for extra in {"", *one.extras}:
            if (_plain(one.name), extra) in found:
                continue
            found.add((_plain(one.name), extra))
            for line in _requirements(one.name):
                inner = Requirement(line)
                if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                    waiting.append(inner)
    return {name for name, _ in found}


def _requirements(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
