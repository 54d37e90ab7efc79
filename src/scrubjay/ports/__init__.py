"""The ports: small protocols whose docstrings are the contract. `scrubjay.testing` proves a backend against them.

Every port is async and takes many items per call. Every call that reads or changes memories takes a `Scope`, or a
`Filter` that carries one, and keeps to it: isolation is a property of the store. What a backend can do is which
protocols it satisfies. A backend wraps its driver's errors in `StoreUnavailable` (or a child of it), with `from`.
"""

from scrubjay.ports.blobs import Blob, Blobs, Room
from scrubjay.ports.events import Event, Events, Handler, Replayed
from scrubjay.ports.health import Guard, Guarded, Probe
from scrubjay.ports.indexes import (
    SILENT,
    UNSURE,
    WORDS_ONLY,
    Entry,
    Generations,
    Keeping,
    Leftover,
    Listed,
    Match,
    SharedLeftover,
    Sized,
    Texts,
    Vectors,
)
from scrubjay.ports.inspected import Inspected
from scrubjay.ports.joint import Ahead, Joint
from scrubjay.ports.leases import Lease, Leases
from scrubjay.ports.models import (
    Calibrated,
    Chat,
    Embedder,
    Matrix,
    Redactor,
    Remembering,
    Reranker,
    SharedVectors,
    Tokens,
)
from scrubjay.ports.portable import Outline, Piece, Portable, PortableVectors, Still, WholeBlob, WholeSession
from scrubjay.ports.purges import Purged, Sight
from scrubjay.ports.records import Counts, Decide, Decision, Forgotten, Kept, Known, Marked, Records
from scrubjay.ports.stores import Clock, Habit, Pace, Serving, Stores, Together
from scrubjay.ports.telemetry import Stage, Watcher, stage, watch
from scrubjay.ports.trees import Trees
from scrubjay.ports.upkeep import Stirred, Upkeep, Weight, Works
from scrubjay.ports.working import Working
from scrubjay.ports.worklog import Worklog

__all__ = [
    "SILENT",
    "UNSURE",
    "WORDS_ONLY",
    "Ahead",
    "Blob",
    "Blobs",
    "Calibrated",
    "Chat",
    "Clock",
    "Counts",
    "Decide",
    "Decision",
    "Embedder",
    "Entry",
    "Event",
    "Events",
    "Forgotten",
    "Generations",
    "Guard",
    "Guarded",
    "Habit",
    "Handler",
    "Inspected",
    "Joint",
    "Keeping",
    "Kept",
    "Known",
    "Lease",
    "Leases",
    "Leftover",
    "Listed",
    "Marked",
    "Match",
    "Matrix",
    "Outline",
    "Pace",
    "Piece",
    "Portable",
    "PortableVectors",
    "Probe",
    "Purged",
    "Records",
    "Redactor",
    "Remembering",
    "Replayed",
    "Reranker",
    "Room",
    "Serving",
    "SharedLeftover",
    "SharedVectors",
    "Sight",
    "Sized",
    "Stage",
    "Still",
    "Stirred",
    "Stores",
    "Texts",
    "Together",
    "Tokens",
    "Trees",
    "Upkeep",
    "Vectors",
    "Watcher",
    "Weight",
    "WholeBlob",
    "WholeSession",
    "Working",
    "Worklog",
    "Works",
    "stage",
    "watch",
]
