"""What looks after a server: consolidation, and what is done only where the server runs."""

from typing import Final

from scrubjay.client.verb import Remote, elsewhere, verb
from scrubjay.jobs.encryption import Encryption
from scrubjay.jobs.vectors import VectorUpkeep
from scrubjay.jobs.work import Work

THERE: Final = "where the server runs"

_AT: Final = "/upkeep"


class RemoteWork(Remote, memory="work"):
    """Consolidation, for whoever looks after it. See `Work`: the verbs and their keywords are the same."""

    status = verb(Work.status, "GET", _AT)
    parked = verb(Work.parked, "GET", f"{_AT}/parked")
    retry = verb(Work.retry, "POST", f"{_AT}/retry")
    archives = verb(Work.archives, "GET", f"{_AT}/archives")
    restore_archive = verb(Work.restore_archive, "POST", f"{_AT}/archives/restore", holds="episodes")
    run = elsewhere(Work.run, f"it works until it is stopped; run `scrubjay work` {THERE}")


class RemoteVectors(Remote, memory="vectors"):
    """The vector engine, which is looked after where the server runs."""

    status = elsewhere(VectorUpkeep.status, f"run `scrubjay vectors status` {THERE}")
    rebuild = elsewhere(VectorUpkeep.rebuild, f"run `scrubjay vectors rebuild` {THERE}")
    mirror = elsewhere(VectorUpkeep.mirror, f"run `scrubjay vectors mirror` {THERE}")


class RemoteEncryption(Remote, memory="encryption"):
    """Encryption at rest, which is looked after where the server runs."""

    status = elsewhere(Encryption.status, f"run `scrubjay keys status` {THERE}")
    rotate = elsewhere(Encryption.rotate, f"run `scrubjay keys rotate` {THERE}")
    destroy = elsewhere(Encryption.destroy, f"run `scrubjay keys destroy` {THERE}")
