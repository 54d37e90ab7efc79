"""The vector engine and its mirror without `await`, for whoever looks after them. Forwards only."""

from scrubjay.jobs.vectors import VectorUpkeep
from scrubjay.sync.forward import Blocking, forward


class SyncVectorUpkeep(Blocking[VectorUpkeep]):
    """The vector engine and its mirror, without `await`. See `VectorUpkeep`: the verbs are the same."""

    status = forward(VectorUpkeep.status)
    rebuild = forward(VectorUpkeep.rebuild)
    mirror = forward(VectorUpkeep.mirror)
