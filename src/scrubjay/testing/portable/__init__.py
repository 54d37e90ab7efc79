"""What every store has to do that can be carried elsewhere as it is."""

from scrubjay.testing.portable.access import AccessSuite
from scrubjay.testing.portable.rows import RowsSuite
from scrubjay.testing.portable.vectors import ListedSuite, PortableVectorsSuite
from scrubjay.testing.portable.wholes import WholesSuite

__all__ = ["ListedSuite", "PortableSuite", "PortableVectorsSuite"]


class PortableSuite(RowsSuite, WholesSuite, AccessSuite):
    """Derive from it, name the class `Test…`, and give it fixtures `store` and `other` that yield two empty ones."""
