"""No request holds the event loop: the largest and oddest of some routes. `make loop-pauses` tries all of them."""

import sys
import time

import pytest

from lengths import LONG
from loop_pauses import HUGE, Case, lines, text, watched

pytestmark = pytest.mark.slow

BOUND = 0.05 if LONG else 0.15
"""Seconds. What these held the loop for before was a second and more."""

TOLD = "/v1/memory"
CASES = [
    Case("POST", TOLD, "one word in Chinese", {"content": text("han", 100_000)}),
    Case("POST", TOLD, "short words", {"content": text("digits", 100_000)}),
    Case("POST", TOLD, "emoji", {"content": text("emoji", 100_000)}),
    Case("POST", TOLD, "a name that is too long", {"content": "MARK", "source": text("secrets", HUGE)}),
    Case("POST", TOLD, "a content that is too long", {"content": text("secrets", HUGE)}),
    Case("POST", TOLD, "many values", {"content": "MARK", "data": {"a": [[one] for one in range(49_000)]}}),
    Case("POST", TOLD, "many memories", [{"content": f"MARK {one}"} for one in range(5_000)]),
    Case("GET", TOLD, "many memories", params={"limit": 10_000}),
    Case(
        "POST", "/v1/working/messages", "many", {"session": "s", "messages": [{"role": "user", "content": "x"}] * 5_000}
    ),
    Case(
        "POST",
        "/v1/working/messages",
        "a name that is too long",
        {"session": "s", "messages": [{"role": "user", "content": "x", "name": text("secrets", HUGE)}]},
    ),
    *(one for one in lines("POST", "/v1/memory/import") if one.name in ("empty lines", "refused lines")),
]


@pytest.fixture(scope="module")
def service():
    if sys.platform != "linux":
        pytest.skip("only Linux tells how long a thread waited for a processor")
    with watched() as service:
        service.send(Case("POST", TOLD, "warm", {"content": "MARK"}))
        yield service


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method} {case.path} {case.name}")
def test_no_request_holds_the_event_loop(service, case):
    found = service.measured(case)
    assert found.pause < BOUND, found.where


def test_the_watcher_sees_a_loop_that_is_held():
    with watched(hold=0.3) as held:
        time.sleep(1)
        assert held.pause()[0] > 0.2
