"""The search for garbage waits while many memories are stored, and is what it was after that."""

import gc
import os
import threading

import pytest

from scrubjay.write.garbage import MANY, garbage_later


@pytest.fixture(autouse=True)
def _searching():
    gc.enable()
    yield
    gc.enable()


def test_it_waits_for_many_and_for_few_it_does_not():
    with garbage_later(MANY):
        assert not gc.isenabled()
    assert gc.isenabled()
    with garbage_later(MANY - 1):
        assert gc.isenabled()


def test_it_goes_on_when_the_last_is_done_and_whatever_went_wrong():
    with garbage_later(MANY):
        with pytest.raises(KeyError), garbage_later(MANY):
            raise KeyError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_switched_it_off_finds_it_off():
    gc.disable()
    with garbage_later(MANY):
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_threads_that_overlap_leave_it_on():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with garbage_later(MANY):
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    with garbage_later(MANY):
        thread.start()
        inside.wait(60)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_is_forked_meanwhile_searches():
    with garbage_later(MANY):
        child = os.fork()
        if not child:
            with garbage_later(MANY):
                inside = gc.isenabled()
            os._exit(0 if gc.isenabled() and not inside else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
