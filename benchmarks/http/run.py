"""Measure the service on loopback: requests per second and how long they take, beside the same calls of the library.

python benchmarks/http/run.py                     both profiles, in under three minutes
python benchmarks/http/run.py --profiles embedded --seconds 10 --workers 2
"""

import argparse
import asyncio
import itertools
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import scrubjay
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.wiring import wire

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backends"))
from load import Load, in_process, over_http, step
from profiles import DurablePostgres

import services  # `profiles` has said where it is

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = (1, 16, 64)
VERBS = ("remember", "recall")
PATHS = {"remember": "/v1/memory", "recall": "/v1/memory/recall"}
TITLES = {"embedded": "embedded: SQLite", "production": "PostgreSQL, Redis, Qdrant"}
USERS = 100
TEXT = """
deploy staging invoice kernel parrot tuesday database index migrate customer refund latency budget release branch
review python rust cache token session planner robot garden coffee meeting deadline password rotation backup disk
network queue worker memory vector search ranking answer question summary project feature flag experiment metric
"""
WORDS = TEXT.split()


@dataclass(frozen=True)
class Measured:
    """One verb with so many clients: over HTTP, and as calls of the library."""

    profile: str
    verb: str
    http: Load
    library: Load


def sentences(seed: int) -> Iterator[str]:
    """Sentences of eight to twenty words, the same ones in every run."""
    chance = random.Random(seed)
    while True:
        yield " ".join(chance.choices(WORDS, k=chance.randint(8, 20))).capitalize()


def tellings(seed: int) -> Iterator[dict]:
    chance = random.Random(seed)
    for number, text in enumerate(sentences(seed)):
        yield {"content": f"{text} ({seed}.{number})", "user": f"u-{chance.randrange(USERS)}", "kind": "fact"}


def questions() -> Iterator[dict]:
    chance = random.Random(7)
    asked = [" ".join(chance.choices(WORDS, k=4)) for _ in range(200)]
    return itertools.cycle(
        {"query": f"what about {text}?", "user": f"u-{place % USERS}"} for place, text in enumerate(asked)
    )


@contextmanager
def profile(name: str, home: Path) -> Iterator[dict[str, str]]:
    """The settings of a profile, with its servers running."""
    with ExitStack() as closing:
        if name == "embedded":
            yield {"home": str(home)}
            return
        urls = {}
        for server in (DurablePostgres(), services.Redis(), services.Qdrant()):
            closing.callback(server.stop)
            urls[server.name] = server.start()
        yield {
            "home": str(home),
            "records": urls["postgres"],
            "working": f"{urls['redis']}/0",
            "vectors": f"qdrant://{urlsplit(urls['qdrant']).netloc}",
        }


@contextmanager
def serving(settings: dict[str, str], workers: int) -> Iterator[str]:
    """`scrubjay serve` in a process of its own, as anybody would run it; its address."""
    # A refusal is no result either, unless it is what is measured.
    mine = {"SCRUBJAY_LONGEST_WAIT": "0"} | {f"SCRUBJAY_{name.upper()}": value for name, value in settings.items()}
    # One client that asks as fast as it can is what a rate limit is there for.
    mine |= {f"SCRUBJAY_LIMIT_{name}": "0" for name in ("READ", "WRITE")}
    others = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    command = [sys.executable, "-m", "scrubjay", "serve", "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(
        command, env=others | mine, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=settings["home"]
    )
    try:
        greeting = process.stdout.readline()
        if "listening on" not in greeting:
            raise SystemExit(f"the server did not start: {' '.join(command)}")
        yield greeting.rpartition(" ")[2].strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def in_the_library(settings, *, size: int, seconds: float, progress: Progress) -> dict[tuple[str, int], Load]:
    """Fill the store, then measure the calls."""
    found = {}
    async with wire(read_settings(**settings)) as jay:
        await jay.remember_many(list(itertools.islice(tellings(0), size)))
        asks = {"remember": _remembering(jay), "recall": _recalling(jay)}
        for verb, clients in itertools.product(VERBS, CLIENTS):
            bodies = tellings(clients) if verb == "remember" else questions()
            found[verb, clients] = await in_process(asks[verb], bodies, clients=clients, seconds=seconds)
            step(progress, f"library: {verb}, {clients} at once")
    return found


def _remembering(jay: Scrubjay):
    async def remember(body: dict) -> None:
        await jay.remember(**body)

    return remember


def _recalling(jay: Scrubjay):
    async def recall(body: dict) -> None:
        await jay.recall(**body)

    return recall


async def over_the_wire(url: str, *, seconds: float, progress: Progress) -> dict[tuple[str, int], Load]:
    found = {}
    for verb, clients in itertools.product(VERBS, CLIENTS):
        bodies = tellings(1_000 + clients) if verb == "remember" else questions()
        found[verb, clients] = await over_http(url, PATHS[verb], bodies, clients=clients, seconds=seconds)
        step(progress, f"HTTP: {verb}, {clients} clients")
    return found


def measure(name: str, given: argparse.Namespace, progress: Progress) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix=f"scrubjay-http-{name}-") as home, profile(name, Path(home)) as settings:
        settings |= {"embedder": given.embedder}
        library = asyncio.run(in_the_library(settings, size=given.size, seconds=given.seconds, progress=progress))
        with serving(settings, given.workers) as url:
            http = asyncio.run(over_the_wire(url, seconds=given.seconds, progress=progress))
    return [Measured(name, verb, http[verb, clients], library[verb, clients]) for verb, clients in http]


HEADINGS = (
    "profile",
    "verb",
    "clients",
    "requests/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "library/s",
    "p50 ms",
    "overhead ms",
)


def rows(found: list[Measured]) -> list[tuple[str, ...]]:
    return [
        (
            TITLES[one.profile],
            one.verb,
            str(one.http.clients),
            f"{one.http.rate:,.0f}",
            *(f"{one.http.percentile(percent):.1f}" for percent in (50, 95, 99)),
            f"{one.library.rate:,.0f}",
            f"{one.library.percentile(50):.1f}",
            f"{one.http.percentile(50) - one.library.percentile(50):.1f}",
        )
        for one in found
    ]


def table(found: list[Measured]) -> Table:
    shown = Table()
    for place, heading in enumerate(HEADINGS):
        shown.add_column(heading, justify="left" if place < 2 else "right")
    for row in rows(found):
        shown.add_row(*row)
    return shown


def page(found: list[Measured], given: argparse.Namespace) -> str:
    aligned = ["---" if place < 2 else "---:" for place in range(len(HEADINGS))]
    lines = "\n".join("| " + " | ".join(row) + " |" for row in (HEADINGS, aligned, *rows(found)))
    workers = "one process" if given.workers == 1 else f"{given.workers} processes"
    busy = f"{given.busy:.1f}"
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, Scrubjay {scrubjay.__version__}"
    return f"""# The service under load

`make bench-http` on a machine with {machine}. The load generator, the service
({workers}) and, on the second profile, three servers share it, so none has a core of its own. Before they
started, {busy} other programs on average wanted one.

- Each client sends its next request when the last was answered, for {given.seconds:g} seconds, over a connection of
  its own on loopback.
- `remember` stores one new sentence of 8 to 20 words; it is answered when it is on disk and indexed. `recall` asks by
  words and meaning for ten memories of one of {USERS} users. The store holds {given.size:,} memories at the start.
- The embedder is `{given.embedder}`, so that the service is measured rather than a model.
- `library` is the same verb with the same concurrency in one process, without HTTP. `overhead` is the difference of the
  medians: with one client it is what HTTP costs, and with many it is mostly waiting for one's turn.
- The log, the metrics and the checks before a route are on, as they are by default. Rate limits are off.

{lines}
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--profiles", default="embedded,production", help="which, by comma")
    asked.add_argument("--seconds", type=float, default=4.0, help="how long each measurement takes")
    asked.add_argument("--size", type=int, default=2_000, help="memories in the store at the start")
    asked.add_argument("--workers", type=int, default=1, help="processes of the service")
    asked.add_argument("--embedder", default="static", help="the embedding model")
    asked.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks/http.md", help="where to write the page")
    given = asked.parse_args()
    given.busy = os.getloadavg()[0]
    names = given.profiles.split(",")
    console = Console(width=130)
    with Progress(console=console, transient=True) as progress:
        progress.add_task("starting", total=2 * len(names) * len(VERBS) * len(CLIENTS))
        found = [one for name in names for one in measure(name, given, progress)]
    console.print(table(found))
    given.page.write_text(page(found, given), encoding="utf-8")
    console.print(f"wrote {given.page}")


if __name__ == "__main__":
    main()
