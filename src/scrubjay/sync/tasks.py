"""Task memory without `await`. Forwards only."""

from scrubjay.memories.tasks import Tasks
from scrubjay.sync.forward import Blocking, forward


class SyncTasks(Blocking[Tasks]):
    """Task memory, without `await`. See `Tasks`: the verbs and their keywords are the same."""

    store_execution = forward(Tasks.store_execution)
    store_many = forward(Tasks.store_many)
    import_lines = forward(Tasks.import_lines)
    used = forward(Tasks.used)
    search_similar = forward(Tasks.search_similar)
    get_task_context = forward(Tasks.get_task_context)
