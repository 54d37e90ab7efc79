"""Real English sentences that every Python carries: the language reference inside `pydoc`, cut into stretches."""

import random
import re
from pydoc_data import topics


def sentences(many: int, *, words: int = 26, seed: int = 0) -> list[str]:
    """That many different texts of so many words each, the same for the same seed."""
    pool = re.findall(r"[A-Za-z][A-Za-z'_.]*[A-Za-z]|[Aa]", " ".join(topics.topics.values()))
    chance = random.Random(seed)
    half = words // 2
    texts: dict[str, None] = {}
    while len(texts) < many:
        # Two stretches from different places: there are not enough places for so many different texts otherwise.
        starts = [chance.randrange(len(pool) - words) for _ in range(2)]
        texts[" ".join(pool[starts[0] : starts[0] + half] + pool[starts[1] : starts[1] + words - half])] = None
    return list(texts)


def questions(texts: list[str], many: int, *, words: int = 8, seed: int = 1) -> list[str]:
    """Questions that have an answer: a few words of a text each, in their order."""
    chance = random.Random(seed)
    asked = []
    for text in chance.sample(texts, many):
        pool = text.split()
        places = sorted(chance.sample(range(len(pool)), words))
        asked.append(" ".join(pool[place] for place in places))
    return asked
