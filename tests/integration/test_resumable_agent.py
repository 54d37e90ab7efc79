"""The example agent is killed, and started again: it ends with the same files and records as one that never was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.settings import read_settings
from scrubjay.wiring import wire

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resumable_agent.py"
AGENT = "handbook-writer"


def begun(folder):
    """The agent, at work in this folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    return subprocess.Popen(
        [sys.executable, str(EXAMPLE), str(folder)],
        cwd=folder,
        env=environment | {"SCRUBJAY_EMBEDDER": "none"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder):
    out, errors = begun(folder).communicate(timeout=180)
    assert "4 files, kept in 3 snapshots" in out, errors
    return out.splitlines()


def killed_after(folder, lines):
    """Let it say so many lines, and kill it."""
    with begun(folder) as agent:
        said = [agent.stdout.readline().rstrip("\n") for _ in range(lines)]
        agent.kill()
    return said


def files_in(folder):
    return {path.name: path.read_bytes() for path in (folder / "pages").iterdir()}


async def records_in(folder):
    """All that is on record, but for ids and times, which no two runs share."""
    times = {"began_at", "ended_at", "created_at"}
    async with wire(read_settings(home=folder / "memory", embedder="none", background=False)) as jay:
        rows = await jay.list(history=True, limit=1_000, order="oldest")
        kept = [
            (row.kind, row.key, row.content, {name: value for name, value in row.data.items() if name not in times})
            for row in rows
        ]
        return kept, await jay.agents.files(AGENT), [one.what async for one in jay.agents.replay(AGENT)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Where it was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    finished(folder)
    return folder


async def test_killed_and_started_again_it_ends_as_if_it_never_was(tmp_path, whole):
    first = killed_after(tmp_path, 3)
    again = killed_after(tmp_path, 4)
    last = finished(tmp_path)
    # It may be a few steps further than what it said last, but never back at a place that it has left.
    assert first[0] == f"{AGENT} is between cycles: cycle 1 is next"
    assert again[0] not in first[:2]
    assert last[0] not in {*first, *again[:3]}
    assert files_in(tmp_path) == files_in(whole)
    assert await records_in(tmp_path) == await records_in(whole)


async def test_a_lost_folder_is_put_back_from_the_last_snapshot(tmp_path, whole):
    async with wire(read_settings(home=whole / "memory", embedder="none", background=False)) as jay:
        await jay.agents.restore(AGENT, tmp_path / "pages")
    assert files_in(tmp_path) == files_in(whole)
