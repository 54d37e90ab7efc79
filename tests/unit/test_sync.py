"""The blocking verbs: the same ones, from any thread, inside any event loop, and clearly closed when they are."""

import asyncio
import inspect
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrubjay.access import Access
from scrubjay.errors import Closed, InvalidInput, NotFound
from scrubjay.jobs.vectors import VectorUpkeep
from scrubjay.jobs.work import Work
from scrubjay.memories.agents import Agents
from scrubjay.memories.episodes import Episodes
from scrubjay.memories.facts import Facts
from scrubjay.memories.patterns import Patterns
from scrubjay.memories.tasks import Tasks
from scrubjay.memories.working import WorkingMemory
from scrubjay.memories.workspace.verbs import Workspace
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.sync.access import SyncAccess
from scrubjay.sync.agents import SyncAgents
from scrubjay.sync.episodes import SyncEpisodes
from scrubjay.sync.facts import SyncFacts
from scrubjay.sync.patterns import SyncPatterns
from scrubjay.sync.tasks import SyncTasks
from scrubjay.sync.vectors import SyncVectorUpkeep
from scrubjay.sync.work import SyncWork
from scrubjay.sync.working import SyncWorking
from scrubjay.sync.workspace import SyncWorkspace
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


@pytest.fixture
def jay(tmp_path):
    settings = read_settings(home=tmp_path, background=False)
    with SyncScrubjay(wire(settings, embedder=ToyEmbedder())).start() as jay:
        yield jay


MEMORIES = [
    (Scrubjay, SyncScrubjay),
    (Agents, SyncAgents),
    (Episodes, SyncEpisodes),
    (Facts, SyncFacts),
    (Patterns, SyncPatterns),
    (Tasks, SyncTasks),
    (WorkingMemory, SyncWorking),
    (Work, SyncWork),
    (VectorUpkeep, SyncVectorUpkeep),
    (Workspace, SyncWorkspace),
    (Access, SyncAccess),
]
"""Every object with verbs, beside the one that has the same verbs without `await`."""

FOR_MEMORIES = {"scoped", "filtered", "for_caller"}
"""What the memories that are made of the core use of it, and the doors, and callers do not."""


def verbs(of):
    return {name for name in dir(of) if not name.startswith("_") and callable(getattr(of, name))} - FOR_MEMORIES


@pytest.mark.parametrize(("awaited", "blocking"), MEMORIES)
def test_every_verb_is_there(awaited, blocking):
    assert verbs(blocking) == verbs(awaited)


@pytest.mark.parametrize(
    ("awaited", "blocking", "verb"), [(*pair, verb) for pair in MEMORIES for verb in sorted(verbs(pair[0]))]
)
def test_a_verb_has_the_same_signature_and_promise(awaited, blocking, verb):
    blocking, awaited = getattr(blocking, verb), getattr(awaited, verb)
    assert blocking.__doc__
    assert list(inspect.signature(blocking).parameters) == list(inspect.signature(awaited).parameters)
    assert not inspect.iscoroutinefunction(blocking)
    assert blocking.__name__ == verb


def test_the_verbs_work_without_awaiting(jay):
    told = jay.remember("Prefers tabs", user="anna", key="indent", session="s")
    jay.remember_many(["one", "two"], user="anna")
    assert jay.get(told.id).content == "Prefers tabs"
    assert jay.recall("tabs", user="anna")[0].memory.id == told.id
    assert "tabs" in jay.context("tabs", user="anna").text
    jay.update(told.id, importance=0.9)
    assert len(jay.history(key="indent")) == 1
    assert len(jay.around(told.id)) == 1
    assert (jay.count(), len(jay.list()), jay.stats().memories) == (3, 3, 3)
    assert jay.reindex() == 0
    assert jay.sweep() == []
    assert jay.check() == []
    assert jay.forget(told.id, purge=True).ids == (told.id,)
    lines = list(jay.export())
    assert jay.import_lines(lines) == (0, 2)


def test_errors_come_through(jay):
    with pytest.raises(NotFound):
        jay.get("unknown")
    with pytest.raises(InvalidInput, match="importance"):
        jay.remember("x", importance=7)
    with pytest.raises(InvalidInput):
        next(jay.export(colour="blue"))


def test_only_what_can_be_called_is_a_handler(jay):
    with pytest.raises(InvalidInput, match="handler is 5"):
        jay.subscribe("memory.stored", 5)


def test_many_threads_at_once(jay):
    def work(number):
        told = jay.remember(f"fact number {number}", user=f"u-{number % 4}")
        found = jay.recall(f"number {number}", user=f"u-{number % 4}", limit=50)
        return told.id in {hit.memory.id for hit in found}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(40)))
    assert jay.count() == 40


async def test_inside_a_running_event_loop(jay):
    jay.remember("told inside a loop")
    assert jay.count() == 1
    assert len(list(jay.export())) == 2
    assert await asyncio.to_thread(jay.count) == 1
    jay.agents.create("gardener")
    assert [one.what for one in jay.agents.replay("gardener")] == ["created"]


def test_an_export_is_made_line_by_line(jay):
    jay.remember_many([f"fact {place}" for place in range(1_200)])
    lines = jay.export()
    assert inspect.isgenerator(lines)
    assert '"format"' in next(lines)
    assert "fact 0" in next(lines)
    jay.forget(everything=True, purge=True)
    # The first page was read; what was purged since is not given away.
    assert len(list(lines)) == 499


def test_a_view_of_another_tenant_shares_everything_but_the_memories(jay):
    other = jay.for_tenant("acme")
    other.remember("theirs")
    assert (jay.count(), other.count()) == (0, 1)
    assert "acme" in repr(other)


def own_threads():
    """The loops that serve blocking callers. Those of other tests in this process may still be open."""
    return {thread for thread in threading.enumerate() if thread.name == "scrubjay"}


def test_closing_twice_is_fine_and_nothing_works_after(tmp_path, recwarn):
    before = own_threads()
    jay = SyncScrubjay(wire(read_settings(home=tmp_path), embedder=ToyEmbedder())).start()
    other = jay.for_tenant("acme")
    jay.close()
    jay.close()
    other.close()
    for closed in jay, other:
        for verb in lambda jay: jay.remember("x"), lambda jay: jay.recall("x"), lambda jay: next(jay.export()):
            with pytest.raises(Closed):
                verb(closed)
    assert [warning for warning in recwarn if "never awaited" in str(warning.message)] == []
    assert own_threads() == before


def test_closing_while_others_write_hangs_nobody(tmp_path):
    jay = SyncScrubjay(wire(read_settings(home=tmp_path), embedder=ToyEmbedder())).start()
    told = []

    def write(number):
        for step in range(1_000):
            try:
                told.append(jay.remember(f"fact {step} of {number}").id)
            except Closed:
                return

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    while len(told) < 10:
        time.sleep(0.001)
    jay.close()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    with SyncScrubjay(wire(read_settings(home=tmp_path), embedder=ToyEmbedder())).start() as again:
        assert {one.id for one in again.list(limit=10_000)} >= set(told)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_a_memory_says_so_and_hangs_nobody(jay):
    jay.remember("told before")
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            jay.remember("told by the child")
        except Closed as error:
            recorded = jay.workspace.record_completion(goal="Sort the imports", repo_path="/nowhere")
            jay.close()
            os._exit(0 if "forked" in str(error) and not recorded else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert jay.count() == 1


def test_what_cannot_be_opened_leaves_no_thread_behind(tmp_path):
    before = own_threads()
    (tmp_path / "scrubjay.db").write_bytes(b"this is no database, not at all" * 100)
    with pytest.raises(Exception, match="damaged"):
        SyncScrubjay(wire(read_settings(home=tmp_path), embedder=ToyEmbedder())).start()
    assert own_threads() == before
