"""What is free again goes back to the system, where it can."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scrubjay.backends import freed
from scrubjay.backends.aside import Aside
from scrubjay.backends.sql import shelf
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.readership import Tenant
from scrubjay.backends.vectors import unloaded
from scrubjay.backends.vectors.partition import Partition

GROWN = """
from scrubjay.backends.freed import give_back

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

# Too small to be mapped one by one, and the last one keeps the others from being cut off the end.
some = [b"x" * (60_000 + at % 7) for at in range(2_000)]
last = some[-1]
del some
before = held()
give_back()
print(before - held())
"""


@pytest.mark.skipif(
    not hasattr(os, "confstr") or "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""), reason="glibc's"
)
def test_what_was_needed_for_a_while_is_given_back():
    source = Path(freed.__file__).parents[2]
    told = subprocess.run(
        [sys.executable, "-c", GROWN], env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, check=True
    )
    assert float(told.stdout) > 80


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_the_system_sees_to_it(monkeypatch, system):
    monkeypatch.setattr(freed.sys, "platform", system)
    freed._trim.cache_clear()
    freed.give_back()
    assert freed._trim() is None
    freed._trim.cache_clear()


def test_it_is_done_the_more_seldom_the_longer_it_takes(monkeypatch):
    done = []

    def slowly(_pad):
        done.append(time.monotonic())
        time.sleep(0.02)
        return 1

    monkeypatch.setattr(freed, "_trim", lambda: slowly)
    monkeypatch.setattr(freed, "_next", [0.0])
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        freed.give_back()
        time.sleep(0.001)
    assert len(done) == 1


@pytest.fixture
async def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/given.db")
    await migrate(database)
    yield database
    await database.shut()


async def test_whoever_read_a_book_gives_it_back_and_not_who_reads_on(database, monkeypatch):
    given = []
    monkeypatch.setattr(shelf, "give_back", lambda: given.append(True))
    kept, tenant = shelf.Shelf(database), Tenant("default")
    for _ in range(3):
        await asyncio.to_thread(kept._read, tenant)
    assert (given, tenant.book is not None) == ([True], True)


async def test_whoever_loaded_vectors_gives_it_back(database, monkeypatch):
    given, aside = [], Aside()
    monkeypatch.setattr(unloaded, "give_back", lambda: given.append(True))
    unloaded.Loader(database, aside, lambda _: None).start(Partition(1, "default"), 2).result(60)
    aside.shut()
    assert given == [True]
