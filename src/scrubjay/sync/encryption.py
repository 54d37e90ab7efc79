"""Encryption at rest without `await`, for whoever looks after it. Forwards only."""

from scrubjay.jobs.encryption import Encryption
from scrubjay.sync.forward import Blocking, forward


class SyncEncryption(Blocking[Encryption]):
    """Encryption at rest, without `await`. See `Encryption`: the verbs and their keywords are the same."""

    status = forward(Encryption.status)
    rotate = forward(Encryption.rotate)
    destroy = forward(Encryption.destroy)
