"""A writer is killed at random moments, hundreds of times, on one file. What it was promised is there afterwards."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest
from kill_writer import KEYS, opened

from lengths import sized

WRITER = Path(__file__).with_name("kill_writer.py")
KILLS = sized(short=40, long=200)
SEED = 20261115


class Promises:
    """What the writers said, line by line."""

    def __init__(self):
        self.said = defaultdict(dict)
        self.lines = 0

    def note(self, line):
        what, known, content = line.split(" ", 2)
        self.said[what][known] = content
        self.lines += 1

    def kept(self):
        """What has to be there and believed: it was told, and no attempt to undo that had begun."""
        undone = self.said["forgetting"] | self.said["purging"]
        return {known: content for known, content in self.said["told"].items() if known not in undone}


def killed(writer, round_number, promises, chance):
    """Let one writer run, kill it after a random number of promises and a moment more, and hear it out."""
    writer.stdin.write(f"{round_number}\n")
    writer.stdin.flush()
    patience = chance.choice([0, 0, *range(1, 16)])
    process, heard = None, 0
    while process is None or heard < patience:
        line = writer.stdout.readline().rstrip("\n")
        assert line, "the writer ended by itself"
        if line.startswith("started "):
            process = int(line.split()[1])
        else:
            promises.note(line)
            heard += 1
    time.sleep(chance.uniform(0, 0.03 if patience == 0 else 0.008))
    os.kill(process, signal.SIGKILL)
    while not (line := writer.stdout.readline()).startswith("ended "):
        assert line, "the writer ended by itself"
        promises.note(line.rstrip("\n"))


async def check_promises(url, promises, chance):
    async with opened(url) as jay:
        faults = [fault for fault in await jay.check() if "wait to be indexed" not in fault]
        assert faults == []
        rows = {str(one.id): one for one in await jay.list(history=True, limit=10_000, order="oldest")}
        now = {str(one.id): one for one in await jay.list(limit=10_000)}
        kept = promises.kept()
        assert {known: now[known].content for known in kept if known in now} == kept
        assert all(rows[known].content == content for known, content in promises.said["valued"].items())
        assert all(rows[known].closed_because == "forgotten" for known in promises.said["forgot"])
        assert not promises.said["purged"].keys() & rows.keys()
        for number in range(KEYS):
            of_key = [one for one in rows.values() if one.key == f"key{number}"]
            still = [one for one in of_key if one.superseded_at is None and one.valid_to is None]
            assert len(still) == (1 if of_key else 0)
            told = [rows[known] for known in promises.said["valued"] if rows[known].key == f"key{number}"]
            assert all(one.created_at <= still[0].created_at for one in told)
        said = [(str(one.id), one.content) for one in await jay.working.recent(10_000, session="s-1")]
        assert [one for one in said if one[0] in promises.said["said"]] == [*promises.said["said"].items()]
        for content in chance.sample(sorted(kept.values()), min(15, len(kept))):
            assert content in [hit.memory.content for hit in await jay.recall(content, mode="words", touch=False)]
        await jay.reindex()
        assert await jay.check() == []
        for content in chance.sample(sorted(kept.values()), min(15, len(kept))):
            hits = await jay.recall(content, mode="meaning", limit=3, touch=False)
            assert content in [hit.memory.content for hit in hits]


def leftovers(path):
    """Rows that only half of a write has left behind."""
    queries = {
        "memories without words": "SELECT count(*) FROM memories WHERE seq NOT IN (SELECT rowid FROM texts)",
        "words without a memory": "SELECT count(*) FROM texts WHERE rowid NOT IN (SELECT seq FROM memories)",
        "vectors without a memory": "SELECT count(*) FROM vectors WHERE vector IS NOT NULL "
        "AND memory_id NOT IN (SELECT id FROM memories)",
        "memories without vectors": "SELECT count(*) FROM memories WHERE id NOT IN "
        "(SELECT memory_id FROM vectors WHERE vector IS NOT NULL)",
    }
    with closing(sqlite3.connect(path)) as connection:
        found = {what: connection.execute(query).fetchone()[0] for what, query in queries.items()}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return {what: number for what, number in found.items() if number}


@pytest.fixture
def writer(tmp_path):
    command = [sys.executable, str(WRITER), f"sqlite:///{tmp_path}/scrubjay.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        yield writer
        writer.stdin.close()


@pytest.mark.slow
async def test_what_was_acknowledged_survives_kills(tmp_path, writer):
    chance = random.Random(SEED)
    promises = Promises()
    for round_number in range(KILLS):
        killed(writer, round_number, promises, chance)
        if round_number % 20 == 19:
            await check_promises(f"sqlite:///{tmp_path}/scrubjay.db", promises, chance)
            assert leftovers(tmp_path / "scrubjay.db") == {}
    assert promises.lines > 2 * KILLS
    assert promises.said["purged"]
    assert promises.said["forgot"]
