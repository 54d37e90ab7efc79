"""Feedback on a pattern that was closed while it was given."""

import pytest

from scrubjay.errors import NotFound
from scrubjay.memories.patterns.keeping import judged
from scrubjay.ports import Known
from scrubjay.testing import a_memory


def test_a_pattern_that_is_gone_cannot_be_judged():
    draft = a_memory("Deployments on Friday fail", kind="pattern", key="pattern:ab12")
    with pytest.raises(NotFound, match=r"there is no pattern ab12 in .* any more"):
        judged(draft, Known(), helpful=True, weight=1.0)
