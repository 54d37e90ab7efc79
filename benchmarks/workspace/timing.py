"""How fast a repository of 5,000 files is read in, how fast it is read again, and what recording a job costs."""

import shutil
import statistics
import sysconfig
import tempfile
import time
from pathlib import Path

from scrubjay.settings import read_settings
from scrubjay.wiring import wire

FILES = 5_000


def copied(folder: Path, many: int) -> int:
    """Copy so many Python files of the installed packages, as a repository of somebody's own; return the bytes."""
    source = Path(sysconfig.get_paths()["purelib"])
    size = 0
    files = (file for file in sorted(source.rglob("*.py")) if 200 < file.stat().st_size < 200_000)
    for number, file in enumerate(files):
        if number == many:
            break
        # Not as site-packages, nor under names that say vendored: here they count as the project's own.
        place = folder / f"part{number // 500}" / f"{number:05d}_{file.name}"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
        size += place.stat().st_size
    return size


async def ingest(embedder: str, many: int = FILES) -> list[tuple]:
    """Rows: the run, files, pieces written, seconds by the clock and of the processor, files per second."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        size = copied(repository, many)
        home = Path(folder) / "home"
        async with wire(read_settings(home=home, embedder=embedder, background=False)) as jay:
            for run in ("first run", "second run, nothing changed", "third run, 50 files edited"):
                if run.startswith("third"):
                    for file in sorted(repository.rglob("*.py"))[:: many // 50]:
                        file.write_text(f"{file.read_text(encoding='utf-8', errors='replace')}\n\nEDITED = True\n")
                busy = time.process_time()
                done = await jay.workspace.ingest(repository, project="installed")
                busy = time.process_time() - busy
                speed = done.files / done.seconds
                rows.append((run, done.files, done.pieces, round(done.seconds, 2), round(busy, 2), round(speed)))
        stored = sum(file.stat().st_size for file in home.rglob("*") if file.is_file())
    rows.append((f"{size / 1e6:.1f} MB of source, {stored / 1e6:.1f} MB of store", "", "", "", "", ""))
    return rows


async def enqueue(many: int = 1_000) -> list[tuple]:
    """What `record_completion` costs the job that calls it, in microseconds: median, 99th percentile, most."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        (repository / "src").mkdir(parents=True)
        (repository / "src/app.py").write_text("def load():\n    return 1\n")
        settings = read_settings(home=Path(folder) / "home", embedder="none", background=False)
        async with wire(settings) as jay:
            costs = []
            for number in range(many):
                began = time.perf_counter()
                jay.workspace.record_completion(
                    goal=f"Job {number}",
                    repo_path=repository,
                    files=["src/app.py"],
                    summary="It was done.",
                    project="p",
                )
                costs.append((time.perf_counter() - began) * 1e6)
                if number % 50 == 49:
                    await jay.workspace.flush()
    costs.sort()
    return [("record_completion", many, statistics.median(costs), costs[int(many * 0.99)], costs[-1])]
