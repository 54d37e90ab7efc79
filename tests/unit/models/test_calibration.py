"""What a cosine means."""

import pytest

from scrubjay.models.minilm import MiniLM
from scrubjay.models.static import Static

EMBEDDERS = [MiniLM(), Static()]


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_it_maps_to_0_1_and_never_falls(embedder):
    found = [embedder.calibrate(step / 100) for step in range(-100, 101)]
    assert all(0 <= value <= 1 for value in found)
    assert found == sorted(found)
    assert found[-1] == 1


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_rounding_beyond_1_is_harmless(embedder):
    assert embedder.calibrate(1.0000002) == 1
    assert 0 <= embedder.calibrate(-1.0000002) < 0.01


@pytest.mark.parametrize("embedder", EMBEDDERS)
@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        ("A man is playing a guitar.", "A man plays the guitar.", 0.7, 1),
        ("A man is playing a guitar.", "A woman is slicing an onion.", 0, 0.2),
        ("The unit tests fail on Windows", "The unit tests fail on Windows", 0.999, 1.0001),
    ],
)
async def test_it_agrees_with_people(embedder, one, other, low, high):
    left, right = await embedder.embed([one, other])
    assert low <= embedder.calibrate(float(left @ right)) <= high
