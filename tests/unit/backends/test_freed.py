"""What is free again goes back to the system, where it can."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.backends import freed
from scrubjay.backends.aside import Aside

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


def test_whoever_worked_aside_gives_it_back(monkeypatch):
    given = []
    monkeypatch.setattr("scrubjay.backends.aside.give_back", lambda: given.append(True))
    aside = Aside()
    aside.begin(lambda: None, name="some work")
    aside.shut()
    assert given == [True]
