"""What holds of pattern memory, whatever store it is on."""

from scrubjay.testing.patterns.advising import Advising
from scrubjay.testing.patterns.keeping import Keeping
from scrubjay.testing.patterns.learning import Learning

__all__ = ["PatternsSuite"]


class PatternsSuite(Learning, Keeping, Advising):
    """Pattern memory on one store. Give it a fixture `jay`: an open, empty `Scrubjay` with a `ToyEmbedder`."""
