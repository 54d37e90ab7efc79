"""What every record store has to do, sentence by sentence."""

from scrubjay.testing.records.fidelity import FidelitySuite
from scrubjay.testing.records.filtering import FilteringSuite
from scrubjay.testing.records.finding import FindingSuite
from scrubjay.testing.records.isolation import IsolationSuite
from scrubjay.testing.records.keeping import KeepingSuite
from scrubjay.testing.records.kinship import KinshipSuite
from scrubjay.testing.records.loading import LoadingSuite
from scrubjay.testing.records.purging import PurgingSuite
from scrubjay.testing.records.writing import WritingSuite


class RecordsSuite(
    WritingSuite,
    FindingSuite,
    FilteringSuite,
    KeepingSuite,
    KinshipSuite,
    PurgingSuite,
    FidelitySuite,
    LoadingSuite,
    IsolationSuite,
):
    """Derive from it, name the class `Test…`, and give it a fixture `store` that yields an empty record store."""
