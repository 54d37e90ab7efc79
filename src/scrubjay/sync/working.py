"""Working memory without `await`. Forwards only."""

from scrubjay.memories.working import WorkingMemory
from scrubjay.sync.forward import Blocking, forward


class SyncWorking(Blocking[WorkingMemory]):
    """Working memory, without `await`. See `WorkingMemory`: the verbs and their keywords are the same."""

    append = forward(WorkingMemory.append)
    recent = forward(WorkingMemory.recent)
    set = forward(WorkingMemory.set)
    get = forward(WorkingMemory.get)
    scratch = forward(WorkingMemory.scratch)
    delete = forward(WorkingMemory.delete)
    extend = forward(WorkingMemory.extend)
    end = forward(WorkingMemory.end)
    session = forward(WorkingMemory.session)
    sessions = forward(WorkingMemory.sessions)
