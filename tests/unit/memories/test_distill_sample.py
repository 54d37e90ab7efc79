"""How often a candidate fact is one, and how many are found, on sentences that were labelled by hand.

The sample was written before the rules were run on it. On the first run, 40 of 42 candidates were right, and 40 of 42
statements were found; what is wrong now is listed here, so that nobody mistakes the sample for the world.
"""

import json
from collections import Counter
from datetime import UTC
from pathlib import Path

import pytest

from scrubjay.memories.distill.stated import stated
from scrubjay.testing import a_memory

SAMPLE = [
    json.loads(line)
    for line in Path(__file__).with_name("stated_sample.jsonl").read_text(encoding="utf-8").splitlines()
]
WRONG = {
    "I'd rather you didn't touch the lock file.",
    "Whenever I ask for code, give me Python.",
    "Our database is slow today.",
}


@pytest.mark.parametrize("line", SAMPLE, ids=lambda line: line["said"])
def test_each_sentence(line):
    memory = a_memory(line["said"], kind="message", data={"role": "user"})
    found = Counter(fact.type.value for fact in stated([memory], zone=UTC) if fact.confidence >= 0.5)
    assert (found == Counter(line["states"])) is (line["said"] not in WRONG)
