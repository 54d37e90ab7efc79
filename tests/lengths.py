"""How much a run of the tests does: the short form of `make test`, or the full one of `make test-long`."""

import os

LONG = os.environ.get("SCRUBJAY_TEST_LONG") == "1"


def sized(*, short, long):
    """How many kills, lives, processes or memories a test takes, or how long a text."""
    return long if LONG else short


def is_left_out(item):
    """Whether a test waits for `make test-long`: by its mark, or as the suite of a memory on SQLite and PostgreSQL."""
    if LONG:
        return False
    if item.get_closest_marker("memory_suite") and hasattr(item, "callspec"):
        return item.callspec.params.get("setup", "memory") != "memory"
    return item.get_closest_marker("long") is not None
