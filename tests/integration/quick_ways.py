"""From how much on each quick way is taken. A life of a few rows draws small numbers, so that it takes them all."""

import numpy as np

from scrubjay.backends.sql import book, column, columns, narrowing, postings, readership, shelf
from scrubjay.backends.vectors import embedded, keeper, matrix, partition, rows, signs, unloaded, whereabouts
from scrubjay.write import leftovers

NEVER = 10**9
NOTHING = np.uint64(0)

SMALL = 30_000
"""Bytes in which there is hardly room for a book."""

SWITCHES = {
    readership: {"PATIENCE": [0, 0, 1, 3]},
    shelf: {
        "AT_ONCE": [3, 12, 500],
        "CHUNK": [1, 7, 64],
        "WALKED": [5, 60, 5_000],
        "LOOKED_AT": [2, 9, 1_500],
        "FURTHER": [2, 4],
        "NAMED": [0, 5, 10_000],
        "PAUSE": [0.0],
        "MEMORY": [1 << 30, 1 << 30, SMALL],
    },
    postings: {"TAIL": [2, 5, 256], "JOINED": [20, 120, 250_000], "LARGEST": [60, 150, 4_000_000]},
    book: {"SCATTERED": [2, 6, 12], "FEWEST_DEAD": [2, 10, 1_000], "LOOKED_UP": [0, 1, 8, 100]},
    columns: {
        "SMALL": [0, 0, 20, 5_000],
        "PATIENCE": [0, 1],
        "WALKED": [2, 2_000],
        "HEARD": [2, 500],
        "STRETCH": [3, 250],
        "PAUSE": [0.0],
        "MOST": [1, 64],
        "MEMORY": [SMALL, 128 << 20],
    },
    column: {"RECENT": [0, 3, 2_000], "GATHERED": [0, 5, 10_000]},
    narrowing: {"NAMED": [0, 5, 5_000, 5_000], "LIKELY": [1, 4], "_LEAST": [0, 2, 200]},
    leftovers: {"PAGE": [1, 1_000]},
    matrix: {
        "FEW": [0, 4, 48],
        "GATHERED": [0.0, 0.4, 1.1],
        "WIDENED": [2, 256],
        "ASKED_AGAIN": [0, 8, 256],
        "HELD": [1, 16],
    },
    embedded: {"NARROW": [0, 10, 40, 5_000], "NARROW_MEANWHILE": [5, 30, 50_000], "FEWEST_DEAD": [3, 20, 1_000]},
    unloaded: {"NARROW_MEANWHILE": [5, 30, 50_000], "READ": [1, 10], "READ_AT_LEAST": [3, 500]},
    signs: {
        "MANY": [10, 40],
        "LEAST_DIMENSIONS": [8],
        "LIKELY": [1, 3, 50],
        "ONE_IN": [5, 200],
        "SAMPLE": [5, 8_192],
        "SHARE": [2, 4],
        "STRETCH": [7, 64],
    },
    keeper: {"SECONDS": [0.0], "STALE": [0.0, 0.3]},
    partition: {"PATIENCE": [0, 0, 1, 3]},
    # With a factor of 0, ids that have half of their bits in common make the same number.
    whereabouts: {
        "SETTLED": [3, 20, 16_384],
        "_HIGH": [whereabouts._HIGH, NOTHING],
        "_LOW": [whereabouts._LOW, NOTHING],
    },
    rows: {"FEWEST_TOMBSTONES": [3, 20, 1_000]},
}
"""From how much on each quick way is taken, of which a life draws one: few, and as many as ever."""

FEW = {"RANKED": 3, "WALKED": 2, "WEIGHED": 20, "SMALL": 2, "READ": 5, "LETTERS": 50, "SCOPES_IN_MATCH": 2}
"""The same of the index on disk, for those who weigh rows before they rank some of them."""


def drawn(chance, *, is_exact):
    """Modules with names and values, drawn by chance. To be exact, signs are not looked at."""
    for module, choices in SWITCHES.items():
        for name, values in choices.items():
            is_never = is_exact and (module, name) == (signs, "MANY")
            yield module, name, NEVER if is_never else chance.choice(values)
