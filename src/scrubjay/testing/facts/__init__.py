"""What facts promise, sentence by sentence, over any stores."""

from scrubjay.testing.facts.keeping import KeepingFactsSuite
from scrubjay.testing.facts.reading import ReadingFactsSuite
from scrubjay.testing.facts.refusing import RefusingFactsSuite
from scrubjay.testing.facts.storing import StoringFactsSuite
from scrubjay.testing.facts.truth import TruthFactsSuite


class FactsSuite(StoringFactsSuite, ReadingFactsSuite, KeepingFactsSuite, TruthFactsSuite, RefusingFactsSuite):
    """Derive from it, name the class `Test…`, and give it two fixtures.

    `core` yields a `Core` on empty stores, with an embedder, whose clock is the `Ticking` that `clock` yields.
    """
