"""Consolidation without `await`, for whoever looks after it. Forwards only."""

from scrubjay.jobs.work import Work
from scrubjay.sync.forward import Blocking, forward


class SyncWork(Blocking[Work]):
    """Consolidation, without `await`. See `Work`: the verbs and their keywords are the same."""

    status = forward(Work.status)
    parked = forward(Work.parked)
    retry = forward(Work.retry)
    archives = forward(Work.archives)
    restore_archive = forward(Work.restore_archive)
    run = forward(Work.run)
