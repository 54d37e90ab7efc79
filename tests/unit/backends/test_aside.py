"""What is done aside: who shuts it waits for all that was begun, and nothing begins afterwards."""

import time
from threading import Thread

import pytest

from scrubjay.backends import aside
from scrubjay.backends.aside import Aside
from scrubjay.errors import Closed


def test_who_shuts_it_waits_for_what_is_just_being_begun(monkeypatch):
    done, begun = [], Aside()

    def shut():
        begun.shut()
        done.append("shut")

    shutting = Thread(target=shut)

    class Slow(Thread):
        def start(self):
            shutting.start()
            time.sleep(0.05)
            super().start()

    def work():
        time.sleep(0.05)
        done.append("worked")

    monkeypatch.setattr(aside, "Thread", Slow)
    begun.begin(work, name="slow")
    shutting.join()
    assert done == ["worked", "shut"]


def test_nothing_begins_once_it_is_shut():
    begun = Aside()
    begun.shut()
    with pytest.raises(Closed):
        begun.begin(lambda: None, name="late")
