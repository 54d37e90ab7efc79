"""The ports: small protocols whose docstrings are the contract. `scrubjay.testing` proves a backend against them.

Every port is async and takes many items per call. Every call that reads or changes memories takes a `Scope`, or a
`Filter` that carries one, and keeps to it: isolation is a property of the store. What a backend can do is which
protocols it satisfies. A backend wraps its driver's errors in `StoreUnavailable` (or a child of it), with `from`.
"""

from scrubjay.ports.events import Event, Events, Handler
from scrubjay.ports.indexes import Entry, Generations, Match, Texts, Vectors
from scrubjay.ports.models import Calibrated, Embedder, Matrix, Redactor, Tokens
from scrubjay.ports.portable import Outline, Portable, PortableVectors, Still
from scrubjay.ports.records import Counts, Decide, Decision, Known, Records
from scrubjay.ports.stores import Clock, Serving, Stores

__all__ = [
    "Calibrated",
    "Clock",
    "Counts",
    "Decide",
    "Decision",
    "Embedder",
    "Entry",
    "Event",
    "Events",
    "Generations",
    "Handler",
    "Known",
    "Match",
    "Matrix",
    "Outline",
    "Portable",
    "PortableVectors",
    "Records",
    "Redactor",
    "Serving",
    "Still",
    "Stores",
    "Texts",
    "Tokens",
    "Vectors",
]
