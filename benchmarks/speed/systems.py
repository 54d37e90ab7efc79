"""The systems that are compared, and the environment that each peer gets."""

import hashlib
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLOOR = "by-hand"
ALONE = "model-alone"


@dataclass(frozen=True, kw_only=True)
class System:
    """How it is called, which adapter speaks to it, which packages it lives with, and what its users should know."""

    title: str
    adapter: str
    packages: str | None = None
    """The name of a file in `peers/`; None for what lives in the development environment."""
    on_disk: bool = True
    quiet: tuple[str, ...] = ()
    """What switches its telemetry off, as its documentation says."""


SYSTEMS = {
    FLOOR: System(title="plain script", adapter="by_hand"),
    "scrubjay": System(title="Scrubjay", adapter="scrubjay"),
    "chroma": System(title="Chroma 1.5.9", adapter="chroma", packages="chroma", quiet=("ANONYMIZED_TELEMETRY=False",)),
    "langgraph-sqlite": System(title="LangGraph SqliteStore 3.1.2", adapter="langgraph_sqlite", packages="langgraph"),
    "langgraph-memory": System(
        title="LangGraph InMemoryStore", adapter="langgraph_memory", packages="langgraph", on_disk=False
    ),
    "mem0": System(title="mem0 2.2.1", adapter="mem0", packages="mem0", quiet=("MEM0_TELEMETRY=False",)),
    "mempalace": System(
        title="MemPalace 3.11.0", adapter="mempalace", packages="mempalace", quiet=("ANONYMIZED_TELEMETRY=False",)
    ),
    "mcp-memory-service": System(
        title="mcp-memory-service 12.4.0", adapter="mcp_memory_service", packages="mcp-memory-service"
    ),
    ALONE: System(title="the model alone", adapter="model_alone"),
}
STORES = tuple(name for name in SYSTEMS if name != ALONE)


class CannotInstall(Exception):
    """The environment of a peer could not be made. The message says why."""


def python_of(system: System, cache: Path) -> Path:
    """The Python that runs it; makes the environment of a peer when it is not there as its file of packages says."""
    if system.packages is None:
        return Path(sys.executable)
    wanted = HERE / "peers" / f"{system.packages}.txt"
    home = cache / "peers" / system.packages
    known = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()
    mark = home / "made-of"
    if not mark.exists() or mark.read_text("utf-8") != known:
        venv.create(home, with_pip=True, clear=True)
        # The file names every package with its version, so nothing is resolved, and nothing heavy slips in.
        command = [home / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", wanted]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise CannotInstall(f"{system.title} cannot be installed: {made.stderr.strip().splitlines()[-1]}")
        mark.write_text(known, encoding="utf-8")
    return home / "bin/python"
